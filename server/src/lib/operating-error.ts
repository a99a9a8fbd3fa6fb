// Something outside us is wrong and a person can fix it: the message names the problem and the fix. Shown without a
// stack.

export class OperatingError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'OperatingError'
  }
}

/** We were asked to stop while still starting: not an error, only the end of the start. */
export class StopRequested extends Error {}

// A dependency of ours does not answer now and may answer soon: the API answers 503, a loop tries again later. The
// outcome of a write that ended so is unknown, so the write must be safe to repeat.

export class Unavailable extends Error {
  constructor(what: string, options?: ErrorOptions) {
    super(`${what} does not answer`, options)
    this.name = 'Unavailable'
  }
}

/** PostgreSQL has no room left: reads may go on, and writes succeed again once there is room. */
export class DiskFull extends Unavailable {
  constructor(options?: ErrorOptions) {
    super('the database', options)
    this.name = 'DiskFull'
    this.message = 'the disk of the database is full'
  }
}

/**
 * A transaction found that it should have begun with something else. Nothing of it is written; its owner restarts it.
 */
export class RestartTransaction extends Unavailable {}

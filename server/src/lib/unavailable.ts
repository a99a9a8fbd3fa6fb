// What we depend on does not answer now and may answer soon: the API says 503, a loop tries again later. The
// outcome of a write that ended so is unknown; whoever repeats it must be able to.

export class Unavailable extends Error {
  constructor(what: string, options?: ErrorOptions) {
    super(`${what} does not answer`, options)
    this.name = 'Unavailable'
  }
}

/** A transaction found that it should have begun with something else. Nothing of it is written; who owns it begins anew. */
export class RestartTransaction extends Unavailable {}

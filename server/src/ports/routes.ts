// Routes of handlers that have something to claim.

export interface Routes {
  /** Routes that begin with any of the prefixes, at most `limit` of each. */
  findWaiting(prefixes: readonly string[], limit: number): Promise<string[]>
}

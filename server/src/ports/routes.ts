// Routes of handlers that have something to claim.

export interface Routes {
  /** Those that begin with one of the prefixes, at most `limit` of each. */
  findWaiting(prefixes: readonly string[], limit: number): Promise<string[]>
}

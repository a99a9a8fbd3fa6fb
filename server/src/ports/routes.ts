// Routes of handlers that have something to claim.

export interface Routes {
  /** Routes that begin with any of the prefixes, at most `limit` of each. */
  findWaiting(prefixes: readonly string[], limit: number): Promise<string[]>
  /** Executions that can be claimed now on these routes and wait for no host, counted up to `max`. */
  countWaiting(routes: readonly string[], max: number): Promise<number>
}

// How many executions a single claim of an SDK worker may take. Where several workers wait for the same, it is an equal
// share of the waiting executions, so that the loss of one worker does not hit all of them.
import { waitingCountMax } from '../../domain/queue/spread.ts'
import type { Routes } from '../../ports/routes.ts'

/** For a single look at all parked claims: the executions that wait on a set of routes are counted once. */
export class ClaimShares {
  readonly #routes: Pick<Routes, 'countWaiting'>
  /** By set of routes. */
  readonly #shares = new Map<string, Promise<number>>()

  constructor(routes: Pick<Routes, 'countWaiting'>) {
    this.#routes = routes
  }

  /** `countWorkers`: the workers that wait for these routes, the one that asks among them. */
  of(routes: readonly string[], countWorkers: () => number): Promise<number> {
    const key = routes.join('\n')
    const known = this.#shares.get(key)
    if (known !== undefined) return known
    const share = this.#measure(routes, countWorkers())
    this.#shares.set(key, share)
    return share
  }

  async #measure(routes: readonly string[], workers: number): Promise<number> {
    if (workers < 2) return Number.POSITIVE_INFINITY
    const waiting = await this.#routes.countWaiting(routes, waitingCountMax)
    // So many spread themselves.
    if (waiting >= waitingCountMax) return Number.POSITIVE_INFINITY
    return Math.max(1, Math.ceil(waiting / workers))
  }
}

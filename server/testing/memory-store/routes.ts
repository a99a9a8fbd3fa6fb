// Routes in memory that have something to claim.
import type { Routes } from '../../src/ports/routes.ts'
import type { MemoryStore } from './store.ts'

export class MemoryRoutes implements Routes {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async findWaiting(prefixes: readonly string[], limit: number): Promise<string[]> {
    const found = prefixes.flatMap((prefix) => this.#store.claimable.routesFrom(prefix).slice(0, limit))
    return [...new Set(found)]
  }

  async countWaiting(routes: readonly string[], max: number): Promise<number> {
    return countWaiting(this.#store, routes, max)
  }
}

export function countWaiting({ claimable }: MemoryStore, routes: readonly string[], max: number): number {
  const counts = claimable.lanes(routes).map((lane) => {
    const batched = claimable
      .batchesOf(routes, lane, max)
      .reduce((sum, { entries }) => sum + entries.length, 0)
    return batched + claimable.liveOf(routes, lane, max).length
  })
  return Math.min(
    max,
    counts.reduce((sum, count) => sum + count, 0),
  )
}

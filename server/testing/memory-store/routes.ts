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
}

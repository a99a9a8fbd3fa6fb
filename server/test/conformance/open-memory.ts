// The store in memory as the suites see it: its clock moves when a suite says so.
import { RollupFold } from '../../src/history/fold-rollups.ts'
import { StatsFold } from '../../src/history/fold-stats.ts'
import { ROLLUP_SOURCES } from '../../src/ports/rollups.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { createVirtualWorld } from '../virtual-world.ts'
import type { StoreBundle } from './stores.ts'

export function openMemory(): StoreBundle {
  // Not on a whole second: as little as a real clock is.
  const world = createVirtualWorld({ startAt: Date.UTC(2026, 0, 1) + 123 })
  const { store, ...ports } = openMemoryStore(world.clock)
  return {
    ...ports,
    ids: world.ids,
    now: async () => world.clock.databaseNow(),
    tick: () => world.advance(1),
    async addTenant(weight) {
      const tenantId = world.ids.next()
      store.weights.set(tenantId, weight)
      return tenantId
    },
    ageLeases: (ms) => world.advance(ms),
    ageHistory: (days) => world.advance(days * 86_400_000),
    async foldStats() {
      const fold = new StatsFold(ports.rollups)
      while ((await fold.step()) === 'more');
    },
    async foldRollups() {
      for (const source of ROLLUP_SOURCES) {
        const fold = new RollupFold(ports.rollups, source, { lagMs: 0 })
        while ((await fold.step()) === 'more');
      }
      while ((await ports.rollups.foldDays()) === 'more');
    },
    ageQueue: (ms) => world.advance(ms),
    ageSkips: () => world.advance(60_000),
    ageRequests: (ms) => world.advance(ms),
    ageOperations: (ms) => world.advance(ms),
    ageTenants: (ms) => world.advance(ms),
    ageBudgets: (ms) => world.advance(ms),
    async ageDeadlines(ms) {
      await world.advance(ms)
      for (const lease of store.leases.values()) lease.beatAt = store.now()
    },
    canUndo: false,
  }
}

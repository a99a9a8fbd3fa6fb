// Figures for /metrics, in memory.
import { quotaHost } from '../../src/domain/tenants/execution-budget.ts'
import { type Gauges, overdueJobMs, PRIORITY_BANDS } from '../../src/ports/gauges.ts'
import { isLeftBehind, type MemoryStore } from './store.ts'

export class MemoryGauges implements Gauges {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async queue(): ReturnType<Gauges['queue']> {
    const { live, batches } = this.#store
    const now = this.#store.now()
    const empty = PRIORITY_BANDS.map((band) => [band, { depth: 0, oldestSeconds: 0 }])
    const bands: Awaited<ReturnType<Gauges['queue']>> = Object.fromEntries(empty)
    const count = ({ priority, enqueuedAt }: { priority: number; enqueuedAt: number }, size: number) => {
      const band = bands[priority <= 3 ? 'p1-p3' : priority <= 7 ? 'p4-p7' : 'p8-p10']
      band.depth += size
      band.oldestSeconds = Math.max(band.oldestSeconds, (now - enqueuedAt) / 1_000)
    }
    for (const row of live.values()) if (row.state === 'ready' && row.host !== quotaHost) count(row, 1)
    for (const row of batches.values())
      if (row.workerId === null && !isLeftBehind(row)) count(row, row.entries.length)
    return bands
  }

  async overdueJobs(): Promise<number> {
    const dueBefore = this.#store.now() - overdueJobMs
    const isOverdue = ({ status, dueAt }: { status: string; dueAt: number | null }) =>
      status === 'ACTIVE' && dueAt !== null && dueAt < dueBefore
    return [...this.#store.jobs.values()].filter(({ cursor }) => isOverdue(cursor)).length
  }

  async unownedPartitions(): Promise<number> {
    return this.#store.holders.filter((holder) => holder === null).length
  }

  async oldestTransaction(): Promise<number> {
    return 0
  }

  async historyBytes(): Promise<number> {
    return 0
  }

  async connections(): ReturnType<Gauges['connections']> {
    return { most: 100, inUse: 1 }
  }
}

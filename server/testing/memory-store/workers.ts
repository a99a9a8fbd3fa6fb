// Worker leases in memory, for simulation: the same answers as PostgreSQL, held to it by one conformance suite.
import type { SettledAttempt } from '../../src/domain/queue/attempt.ts'
import type { Beat } from '../../src/domain/queue/lease-watch.ts'
import {
  type Worker,
  type WorkerStatus,
  type WorkerView,
  workerLeaseMs,
  workersMax,
} from '../../src/domain/queue/worker.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Leases } from '../../src/ports/leases.ts'
import type { Maintenance } from '../../src/ports/maintenance.ts'
import type { Workers } from '../../src/ports/workers.ts'
import { reclaim } from './reclaim.ts'
import type { LeaseRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import { MemoryStore } from './store.ts'

export class MemoryWorkers implements Leases, Workers, Pick<Maintenance, 'watch' | 'reclaim'> {
  readonly #store: MemoryStore

  /** Given only a clock, the leases stand alone: for callers that need nothing else of the store. */
  constructor(of: MemoryStore | Pick<Clock, 'databaseNow'>) {
    this.#store = of instanceof MemoryStore ? of : new MemoryStore(of)
  }

  async register(worker: Worker): Promise<void> {
    const { leases } = this.#store
    if (leases.has(worker.workerId)) return
    const now = this.#store.now()
    const fresh = { status: 'ACTIVE', currentLoad: 0, beats: 0, registeredAt: now, beatAt: now } as const
    leases.set(worker.workerId, { ...worker, ...fresh, batches: new Set(), live: new Set() })
  }

  async beat(
    workerId: string,
    load: { status: WorkerStatus; currentLoad: number },
  ): Promise<'held' | 'lost'> {
    const lease = this.#store.leases.get(workerId)
    if (lease === undefined) return 'lost'
    Object.assign(lease, load, { beats: lease.beats + 1, beatAt: this.#store.now() })
    return 'held'
  }

  async unregister(workerId: string): Promise<void> {
    const lease = this.#store.leases.get(workerId)
    if (lease === undefined) return
    // As PostgreSQL's foreign keys have it.
    if (lease.batches.size + lease.live.size > 0) throw new Error(`worker ${workerId} still holds executions`)
    this.#store.leases.delete(workerId)
  }

  async watch(): Promise<Beat[]> {
    const beats = [...this.#store.leases.values()].map(({ workerId, beats }) => ({ workerId, beats }))
    return beats.toSorted((a, b) => compareText(a.workerId, b.workerId)).slice(0, workersMax)
  }

  async reclaim(lease: Beat): Promise<SettledAttempt[] | 'alive'> {
    return reclaim(this.#store, lease)
  }

  async list({ tenantId }: { tenantId: string | null }): Promise<WorkerView[]> {
    return [...this.#store.leases.values()]
      .filter((lease) => tenantId === null || lease.tenantId === tenantId)
      .toSorted((a, b) => a.registeredAt - b.registeredAt || compareText(a.workerId, b.workerId))
      .slice(0, workersMax)
      .map((lease) => this.#viewOf(lease))
  }

  async find(tenantId: string, workerId: string): Promise<WorkerView | null> {
    const lease = this.#store.leases.get(workerId)
    return lease?.tenantId === tenantId ? this.#viewOf(lease) : null
  }

  #viewOf({ beats: _beats, batches: _batches, live: _live, ...lease }: LeaseRow): WorkerView {
    const deadBefore = this.#store.now() - workerLeaseMs
    return { ...lease, status: lease.beatAt < deadBefore ? 'DEAD' : lease.status }
  }
}

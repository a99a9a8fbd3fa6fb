// Worker leases in memory, for simulation: the same answers as PostgreSQL, held to it by one conformance suite.
import type { Beat } from '../../domain/lease-watch.ts'
import {
  type Worker,
  type WorkerStatus,
  type WorkerView,
  workerLeaseMs,
  workersMax,
} from '../../domain/worker.ts'
import type { EpochMs } from '../../lib/epoch.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Leases } from '../../ports/leases.ts'
import type { Upkeep } from '../../ports/upkeep.ts'
import type { Workers } from '../../ports/workers.ts'

interface Lease extends Worker {
  status: WorkerStatus
  currentLoad: number
  beats: number
  registeredAt: EpochMs
  beatAt: EpochMs
}

export class MemoryWorkers implements Leases, Upkeep, Workers {
  readonly #clock: Pick<Clock, 'databaseNow'>
  readonly #leases = new Map<string, Lease>()

  constructor(clock: Pick<Clock, 'databaseNow'>) {
    this.#clock = clock
  }

  async register(worker: Worker): Promise<void> {
    if (this.#leases.has(worker.workerId)) return
    const now = this.#clock.databaseNow()
    const fresh = { status: 'ACTIVE', currentLoad: 0, beats: 0, registeredAt: now, beatAt: now } as const
    this.#leases.set(worker.workerId, { ...worker, ...fresh })
  }

  async beat(
    workerId: string,
    load: { status: WorkerStatus; currentLoad: number },
  ): Promise<'held' | 'lost'> {
    const lease = this.#leases.get(workerId)
    if (lease === undefined) return 'lost'
    Object.assign(lease, load, { beats: lease.beats + 1, beatAt: this.#clock.databaseNow() })
    return 'held'
  }

  async unregister(workerId: string): Promise<void> {
    this.#leases.delete(workerId)
  }

  async watch(): Promise<Beat[]> {
    const beats = [...this.#leases.values()].map(({ workerId, beats }) => ({ workerId, beats }))
    return beats.toSorted((a, b) => (a.workerId < b.workerId ? -1 : 1)).slice(0, workersMax)
  }

  async reclaim({ workerId, beats }: Beat): Promise<'reclaimed' | 'alive'> {
    if (this.#leases.get(workerId)?.beats !== beats) return 'alive'
    this.#leases.delete(workerId)
    return 'reclaimed'
  }

  async list(): Promise<WorkerView[]> {
    const deadBefore = this.#clock.databaseNow() - workerLeaseMs
    return [...this.#leases.values()]
      .toSorted((a, b) => a.registeredAt - b.registeredAt || (a.workerId < b.workerId ? -1 : 1))
      .slice(0, workersMax)
      .map(({ beats: _, ...lease }) => ({
        ...lease,
        status: lease.beatAt < deadBefore ? 'DEAD' : lease.status,
      }))
  }
}

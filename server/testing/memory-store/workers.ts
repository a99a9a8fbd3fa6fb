// Worker leases in memory, for simulation: the same answers as PostgreSQL, held to it by one conformance suite.
import type { WantedRunner } from '../../src/domain/executors/kind.ts'
import type { SettledAttempt } from '../../src/domain/queue/attempt.ts'
import type { Beat } from '../../src/domain/queue/lease-watch.ts'
import {
  type Worker,
  type WorkerStatus,
  type WorkerView,
  workerLeaseMs,
  workersPerTenantMax,
} from '../../src/domain/queue/worker.ts'
import { longMs } from '../../src/domain/queue/worker-shares.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Leases } from '../../src/ports/leases.ts'
import type { Maintenance } from '../../src/ports/maintenance.ts'
import { pageItemsBytesMax } from '../../src/ports/pages.ts'
import {
  type HeldOfTenant,
  ownRunnersMax,
  type RegisteredWorker,
  type Runners,
  type WorkerCounts,
  type WorkerPage,
  type WorkerQuery,
  type Workers,
  workersPerPage,
} from '../../src/ports/workers.ts'
import { boundedPage } from './bounded-page.ts'
import { heldCount } from './claim.ts'
import { forgetWorker } from './forget-worker.ts'
import { reclaim } from './reclaim.ts'
import type { FormerWorkerRow, LeaseRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import { MemoryStore } from './store.ts'

export class MemoryWorkers implements Leases, Workers, Pick<Maintenance, 'watch' | 'reclaim'> {
  readonly #store: MemoryStore

  /** Given only a clock, the leases stand alone: for callers that need nothing else of the store. */
  constructor(of: MemoryStore | Pick<Clock, 'databaseNow'>) {
    this.#store = of instanceof MemoryStore ? of : new MemoryStore(of)
  }

  async register(worker: Worker, tenantMax = workersPerTenantMax): Promise<'registered' | 'too_many'> {
    const { leases } = this.#store
    if (leases.has(worker.workerId)) return 'registered'
    if (worker.tenantId !== null && this.#countOf(worker.tenantId) >= tenantMax) return 'too_many'
    const now = this.#store.now()
    const fresh = { status: 'ACTIVE', currentLoad: 0, beats: 0, registeredAt: now, beatAt: now } as const
    leases.set(worker.workerId, { ...worker, ...fresh, batches: new Set(), live: new Set() })
    return 'registered'
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
    forgetWorker(this.#store, lease, 'LEFT')
  }

  #countOf(tenantId: string): number {
    return [...this.#store.leases.values()].filter((one) => one.tenantId === tenantId).length
  }

  async watch(): Promise<Beat[]> {
    const beats = [...this.#store.leases.values()].map(({ workerId, beats }) => ({
      holderId: workerId,
      beats,
    }))
    return beats.toSorted((a, b) => compareText(a.holderId, b.holderId))
  }

  async reclaim(lease: Beat): Promise<SettledAttempt[] | 'alive'> {
    return reclaim(this.#store, lease)
  }

  async runners(wanted: WantedRunner): Promise<Runners> {
    const runners = this.#registered()
      .filter((one) => one.status === 'ACTIVE' && mayRun(one, wanted))
      .toSorted((a, b) => compareText(a.workerId, b.workerId))
    const own = runners.filter(({ tenantId }) => tenantId === null).slice(0, ownRunnersMax)
    return {
      count: runners.length,
      hasRoom: runners.some(({ capacity, currentLoad }) => currentLoad < capacity),
      own: own.map(({ workerId, capacity }) => ({ workerId, capacity })),
    }
  }

  async hasRunner(wanted: WantedRunner, { orShown = false } = {}): Promise<boolean> {
    const shown = orShown ? this.#shown() : []
    return [...this.#registered(), ...shown].some(
      (one) => (orShown || one.status === 'ACTIVE') && mayRun(one, wanted),
    )
  }

  async countHeld(workerIds: readonly string[]): Promise<HeldOfTenant[]> {
    const before = this.#store.now() - longMs
    return workerIds.flatMap((workerId) => {
      const rows = [...(this.#store.leases.get(workerId)?.live ?? [])]
      return [...Map.groupBy(rows, ({ tenantId }) => tenantId)].map(([tenantId, held]) => {
        const long = held.filter(({ startedAt }) => startedAt !== null && startedAt < before).length
        return { workerId, tenantId, held: held.length, long }
      })
    })
  }

  async page(query: WorkerQuery): Promise<WorkerPage> {
    const { limit = workersPerPage, bytesMax = pageItemsBytesMax } = query
    const bounds = { limit, bytesMax, payloads: false }
    const { page, more } = boundedPage(this.#matching(query), bounds, (lean) => ({ lean, payload: null }))
    return { workers: page.map(({ payload: _payload, ...worker }) => worker), more }
  }

  #matching({ tenantId, status, after = null }: WorkerQuery): WorkerView[] {
    return [...this.#registered(), ...this.#shown()]
      .filter((one) => tenantId === null || one.tenantId === tenantId)
      .filter((one) => status === undefined || one.status === status)
      .filter(({ workerId }) => after === null || workerId > after)
      .toSorted((a, b) => compareText(a.workerId, b.workerId))
  }

  async find(tenantId: string, workerId: string): Promise<RegisteredWorker | null> {
    const lease = this.#store.leases.get(workerId)
    if (lease?.tenantId !== tenantId) return null
    const { currentLoad: _load, endedAt: _ended, ...worker } = this.#viewOf(lease)
    return worker
  }

  async count({ tenantId }: { tenantId: string | null }): Promise<WorkerCounts> {
    const isOf = (one: WorkerView) => tenantId === null || one.tenantId === tenantId
    const registered = this.#registered().filter(isOf)
    const alive = registered.filter(({ status }) => status !== 'DEAD')
    const active = alive.filter(({ status }) => status === 'ACTIVE').length
    return {
      active,
      draining: alive.length - active,
      silent: registered.length - alive.length,
      deadLastHour: this.#shown().filter((one) => isOf(one) && one.status === 'DEAD').length,
      capacity: alive.reduce((sum, one) => sum + one.capacity, 0),
      running: alive.reduce((sum, one) => sum + one.currentLoad, 0),
    }
  }

  async prune(limit: number): Promise<number> {
    const { formerWorkers } = this.#store
    const old = [...formerWorkers.values()].filter(({ shownUntil }) => shownUntil <= this.#store.now())
    const pruned = old.slice(0, limit)
    for (const { workerId } of pruned) formerWorkers.delete(workerId)
    return pruned.length
  }

  #registered(): WorkerView[] {
    return [...this.#store.leases.values()].map((lease) => this.#viewOf(lease))
  }

  #shown(): WorkerView[] {
    const shown = [...this.#store.formerWorkers.values()].filter((one) => one.shownUntil > this.#store.now())
    return shown.map(({ shownUntil: _until, ...view }: FormerWorkerRow) => view)
  }

  #viewOf(lease: LeaseRow): WorkerView {
    const { beats: _beats, batches: _batches, live: _live, ...worker } = lease
    const deadBefore = this.#store.now() - workerLeaseMs
    const status = lease.beatAt < deadBefore ? 'DEAD' : lease.status
    return { ...worker, status, currentLoad: Math.min(lease.capacity, heldCount(lease)), endedAt: null }
  }
}

function mayRun(worker: WorkerView, { executor, tenantId, handler, labels }: WantedRunner): boolean {
  const isOf = worker.tenantId === null || worker.tenantId === tenantId
  const isEquipped = worker.executors.includes(executor) && labels.every((one) => worker.labels.includes(one))
  return isOf && isEquipped && (handler === null || worker.handlers.includes(handler))
}

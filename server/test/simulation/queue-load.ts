// Puts work straight into the queue, as fires would: for simulations of the order of claims.
import { planJob } from '../../src/api/jobs/plan-new-job.ts'
import { batchExecutionsMax, executionIdAt } from '../../src/domain/queue/execution.ts'
import { serverRoute } from '../../src/domain/queue/route.ts'
import type { UuidV7 } from '../../src/lib/id.ts'
import { unlimitedTier } from '../../testing/memory-store/first-tiers.ts'
import type { Simulation } from './world.ts'

export interface Enqueued {
  executionId: string
  atMs: number
}

export interface EnqueueOrder {
  tenantId: string
  priority: number
  count: number
  /** Of each execution. */
  lane: (index: number) => string
  /** Whether its hosts accept calls and never answer. They are then hosts of this tenant alone. Default false. */
  hangs?: boolean
}

/** Far beyond the end of any simulation. */
const neverMs = 1e12

export class QueueLoad {
  readonly #sim: Simulation
  readonly #ids: UuidV7
  readonly #jobs = new Map<string, string>()
  readonly #hosts: number
  #next = 0

  /** Executions go round as many hosts, so that none is full; each call takes `callMs`. */
  constructor(sim: Simulation, { hosts, callMs }: { hosts: number; callMs: number }) {
    this.#sim = sim
    this.#ids = sim.idsOf('load')
    this.#hosts = hosts
    for (let i = 0; i < hosts; i++) {
      sim.world.http.answer(`https://host-${i}.example`, () => ({ status: 200, afterMs: callMs }))
    }
  }

  enqueue({ tenantId, priority, count, lane, hangs = false }: EnqueueOrder): Enqueued[] {
    const { tables, nowMs } = this.#sim
    const open = new Map<string, { batchId: string; size: number }>()
    return Array.from({ length: count }, (_, index): Enqueued => {
      const place = { route: serverRoute, lane: lane(index), priority }
      let batch = open.get(place.lane)
      if (batch === undefined || batch.size === batchExecutionsMax) {
        batch = { batchId: this.#ids.nextBatch(), size: 0 }
        open.set(place.lane, batch)
      }
      const executionId = executionIdAt(batch.batchId, batch.size++)
      const jobId = this.#jobOf(tenantId, this.#next++ % this.#hosts, hangs)
      tables.store.enqueue({ executionId, jobId, version: 1, slot: tables.store.now() }, place)
      return { executionId, atMs: nowMs }
    })
  }

  /** The number of executions that workers hold at present, started or not. */
  get inFlight(): number {
    let count = 0
    for (const { batches, live } of this.#sim.tables.store.leases.values()) {
      count += live.size
      for (const { entries } of batches) count += entries.length
    }
    return count
  }

  /** When each execution was first called, and as which one in order. */
  starts(): Map<string, { atMs: number; order: number }> {
    const starts = new Map<string, { atMs: number; order: number }>()
    for (const { at, request } of this.#sim.world.http.sent) {
      const executionId = request.headers['x-execution-id']!
      if (!starts.has(executionId)) starts.set(executionId, { atMs: at, order: starts.size })
    }
    return starts
  }

  #jobOf(tenantId: string, host: number, hangs: boolean): string {
    const key = `${tenantId} ${host}${hangs ? ' hangs' : ''}`
    const url = hangs ? `https://${tenantId}-${host}.example` : `https://host-${host}.example`
    let jobId = this.#jobs.get(key)
    if (jobId === undefined) {
      jobId = this.#ids.next()
      this.#jobs.set(key, jobId)
      if (hangs) this.#sim.world.http.answer(url, () => ({ status: 200, afterMs: neverMs }))
      const request = {
        name: key,
        schedule: { type: 'ONE_TIME', scheduled_time: '2100-01-01T00:00:00Z' } as const,
        execution: { callback_url: `${url}/`, timeout_seconds: 604_800 },
        overlap_policy: 'ALLOW' as const,
      }
      const enqueue = () => ({ executionId: '', lane: '' })
      const now = this.#sim.world.clock.databaseNow()
      const [tier, by] = [unlimitedTier, 'tester']
      void this.#sim.tables.jobs.create(planJob(request, { jobId, tenantId, tier, by, now, enqueue }))
    }
    return jobId
  }
}

// Requests by hand to the API, all day: to trigger a job, to run an execution again, to redrive dead letters, to run
// past slots. Each request has a key; some are sent twice at once, and an unanswered request is sent again. The answers
// are recorded for the checker.

import type { Charge } from '../../src/api/access/execution-charge.ts'
import { ApiError } from '../../src/api/http/api-error.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { toTriggerBatches } from '../../src/domain/queue/trigger-batches.ts'
import { compileStored } from '../../src/domain/schedule/compile-schedule.ts'
import { isExcluded, previousSlot } from '../../src/domain/schedule/next-run.ts'
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import { Unavailable } from '../../src/lib/unavailable.ts'
import type { Ids } from '../../src/ports/ids.ts'
import type { TriggerOutcome } from '../../src/ports/jobs.ts'
import type { Random } from '../../src/ports/random.ts'
import type { WriteStores } from '../../src/ports/requests.ts'
import type { JobRow } from '../../testing/memory-store/rows.ts'
import { insist } from './async-targets.ts'
import { msToSlot } from './changes.ts'
import { drawMs, drawWaitMs } from './faults.ts'
import type { Simulation } from './world.ts'

export interface OrderOptions {
  /** Nothing is asked for later. */
  untilMs: number
  /** Mean time between two orders. */
  everyMs: number
}

export const ORDER_KINDS = ['trigger', 'retry', 'redrive', 'backfill'] as const
export type OrderKind = (typeof ORDER_KINDS)[number]

/** One request, however often it was sent. */
export interface Order {
  kind: OrderKind
  jobId: string
  /** Of a retry: the execution that is to run again. */
  original: string | null
  /** Of a backfill: the slots that are to run. */
  slots: readonly EpochMs[]
  /** Of many triggers by one request: how many; else 1. */
  count: number
  /** The answers to its senders: the resulting execution or operation; for many triggers their batch. */
  answers: string[]
  /** Somebody heard that nothing came of it: the job was gone, or there were too many. */
  refused: boolean
}

const backfillSlotsMax = 6
const twiceShare = 0.3
/** For want of budget now, or ever: it is more than a burst. */
const quotaRefusals: readonly string[] = ['QUOTA_EXCEEDED', 'TIER_LIMIT']
/** Older executions are not run again. */
const recentMax = 30

export function startOrders(sim: Simulation, options: OrderOptions): void {
  const random = sim.randomOf('orders')
  const customer = new Customer(sim, random)
  const next = () => {
    sim.world.timers.schedule(drawWaitMs(random, options.everyMs), () => {
      if (sim.nowMs >= options.untilMs) return
      customer.orderOne()
      next()
    })
  }
  next()
}

class Customer {
  readonly #sim: Simulation
  readonly #random: Random
  readonly #ids: Ids
  readonly #backfilled = new Set<string>()
  #keys = 0

  constructor(sim: Simulation, random: Random) {
    this.#sim = sim
    this.#random = random
    this.#ids = sim.idsOf('orders')
  }

  orderOne(): void {
    const { tables, graphs, world } = this.#sim
    const jobs = [...tables.store.jobs.values()].filter(
      ({ jobId, cursor }) => !graphs.has(jobId) && cursor.status !== 'DELETED',
    )
    const job = jobs[Math.floor(this.#random.next() * jobs.length)]
    if (job === undefined) return
    const luck = this.#random.next()
    if (luck < 0.08) world.timers.schedule(this.#waitMs(job), () => this.#triggerBeside(job))
    else if (luck < 0.16) world.timers.schedule(this.#waitMs(job), () => this.#triggerMany(job))
    else if (luck < 0.45) world.timers.schedule(this.#waitMs(job), () => this.#trigger(job))
    else if (luck < 0.65) this.#retry(job)
    else if (luck < 0.85) this.#redrive(job)
    else this.#backfill(job)
  }

  /** To one of its slots, if one comes soon. */
  #waitMs(job: JobRow): number {
    const waitMs = msToSlot(this.#sim, job)
    return waitMs === null || waitMs > 20_000 ? 0 : Math.max(0, waitMs + drawMs(this.#random, -1, 1))
  }

  #trigger({ tenantId, jobId }: JobRow): void {
    const order = this.#open('trigger', jobId)
    this.#send(tenantId, order, async ({ jobs }) => {
      const executionId = this.#ids.next()
      const { kind } = await jobs.trigger({ tenantId, jobId, executionId, lane: sharedLane })
      return kind === 'triggered' ? executionId : null
    })
  }

  /** Without a key, through a server with a worker: one that is not answered may have been done. */
  #triggerBeside({ tenantId, jobId }: JobRow): void {
    const server = this.#sim.anyServer(this.#random)
    if (server === null) return
    const order = this.#open('trigger', jobId)
    const executionId = this.#ids.next()
    const trigger = () => server.trigger({ tenantId, jobId, executionId, lane: sharedLane })
    const charging = this.#sim.api.charge(tenantId, 1)
    const triggering = charging === null ? trigger() : triggerCharged(charging, trigger)
    void triggering.then(
      (outcome) => {
        if (outcome.kind !== 'triggered') order.refused = true
        else {
          order.answers.push(executionId)
          if (outcome.claimed !== null) this.#sim.meet('trigger taken with its commit')
        }
      },
      (error: unknown) => this.#giveUp(error),
    )
  }

  #triggerMany({ tenantId, jobId }: JobRow): void {
    const count = drawMs(this.#random, 2, 12)
    const order = this.#open('trigger', jobId, { count })
    this.#send(tenantId, order, async ({ jobs }) => {
      const payloads = Array.from({ length: count }, (_, n) => String(n))
      const batches = toTriggerBatches({ count, payloads }, () => this.#ids.nextBatch())
      const { kind } = await jobs.triggerMany({ tenantId, jobId, lane: sharedLane, batches })
      return kind === 'triggered' ? batches[0]!.batchId : null
    })
  }

  #retry({ tenantId, jobId, ended }: JobRow): void {
    const recent = [...ended].slice(-recentMax)
    const executionId = recent[Math.floor(this.#random.next() * recent.length)]
    if (executionId === undefined) return
    const order = this.#open('retry', jobId, { original: executionId })
    this.#send(tenantId, order, async ({ control }) => {
      const newExecutionId = this.#ids.next()
      const { kind } = await control.retry({ tenantId, executionId, newExecutionId, lane: sharedLane })
      return kind === 'retried' ? newExecutionId : null
    })
  }

  #redrive({ tenantId, jobId }: JobRow): void {
    const filter = { jobId, reason: null, errorType: null, from: null, to: null }
    this.#operate(tenantId, this.#open('redrive', jobId), (common) => {
      return { ...common, kind: 'redrive', filter, options: { ratePerSecond: drawMs(this.#random, 1, 50) } }
    })
  }

  #backfill({ tenantId, jobId, versions, version, createdAt }: JobRow): void {
    const { schedule, anchorAt } = versions.get(version)!
    const compiled = compileStored({ schedule, anchorAt, jobId })
    if (compiled === null || this.#backfilled.has(jobId)) return
    const slots: EpochMs[] = []
    let at: EpochMs | null = createdAt
    while (slots.length < backfillSlotsMax) {
      at = previousSlot(compiled, at)
      if (at === null) break
      slots.unshift(at)
    }
    if (slots.length === 0) return
    this.#backfilled.add(jobId)
    const runs = slots.filter((slot) => !isExcluded(compiled, slot))
    const order = this.#open('backfill', jobId, { slots: runs })
    const filter = { jobId, from: slots[0]!, to: slots.at(-1)! }
    const isForward = this.#random.next() < 0.5
    const how = { order: isForward ? 'asc' : 'desc', maxConcurrent: drawMs(this.#random, 1, 3) } as const
    this.#operate(tenantId, order, (common) => {
      return { ...common, kind: 'backfill', filter, options: { backfill: { ...how, schedule, anchorAt } } }
    })
  }

  #operate(tenantId: string, order: Order, toOperation: (common: Common) => NewOperation): void {
    this.#send(tenantId, order, async ({ operations }) => {
      const operationId = this.#ids.next()
      const createdAt = this.#sim.world.clock.databaseNow()
      const counts = { total: 0, totalCapped: false }
      const common = { operationId, tenantId, createdBy: 'somebody', createdAt, ...counts }
      return (await operations.create(toOperation(common))) === 'created' ? operationId : null
    })
  }

  #open(
    kind: OrderKind,
    jobId: string,
    facts: Partial<Pick<Order, 'original' | 'slots' | 'count'>> = {},
  ): Order {
    const order: Order = {
      kind,
      jobId,
      original: null,
      slots: [],
      count: 1,
      answers: [],
      refused: false,
      ...facts,
    }
    this.#sim.orders.push(order)
    return order
  }

  /** Until it is answered; some are sent twice at once. */
  #send(tenantId: string, order: Order, work: (stores: WriteStores) => Promise<string | null>): void {
    const key = `order ${this.#keys++}`
    const executions = order.kind === 'trigger' || order.kind === 'retry' ? order.count : 0
    const times = this.#random.next() < twiceShare ? 2 : 1
    if (times === 2) this.#sim.meet('request sent twice')
    for (let i = 0; i < times; i++) {
      void insist(this.#sim, this.#random, async () => {
        const answer = await this.#sim.api.ask({ tenantId, key, executions }, work)
        if (answer === null) order.refused = true
        else order.answers.push(answer)
      }).catch((error: unknown) => this.#giveUp(error))
    }
  }

  /** A request without an answer. */
  #giveUp(error: unknown): void {
    if (error instanceof Unavailable) return
    if (!(error instanceof ApiError && quotaRefusals.includes(error.code))) throw error
    this.#sim.meet('request refused for quota')
  }
}

async function triggerCharged(
  charging: Promise<Charge>,
  trigger: () => Promise<TriggerOutcome>,
): Promise<TriggerOutcome> {
  const { refusal, settle } = await charging
  if (refusal !== null) throw refusal
  const outcome = await trigger()
  await settle(outcome.kind === 'triggered' ? 1 : 0)
  return outcome
}

type NewOperation = Parameters<WriteStores['operations']['create']>[0]
type Common = Pick<
  NewOperation,
  'operationId' | 'tenantId' | 'createdBy' | 'createdAt' | 'total' | 'totalCapped'
>

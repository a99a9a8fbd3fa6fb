// A worker: lease, hand, claimer and finisher put together. Its steps are called by loops, or by a simulator.
import type { Ids } from '../ports/ids.ts'
import type { Leases } from '../ports/leases.ts'
import type { Queue } from '../ports/queue.ts'
import { Claimer } from './claim.ts'
import { Definitions } from './definitions.ts'
import { createSpanIds, type HttpExecutorDeps, runHttp } from './executors/http.ts'
import { type FinishDeps, Finisher } from './finish.ts'
import { batchMsMax, Hand } from './hand.ts'
import { WorkerLease } from './hold-lease.ts'

export interface WorkerDeps extends Omit<HttpExecutorDeps, 'spanId'> {
  ids: Ids
  queue: Queue
  /** On a connection of its own: a pool that is all in use must not cost the lease. */
  leases: Leases
  /** Called when there is something to record. */
  onEnded: () => void
  /** Called when there is something in hand to look after. */
  onTaken: () => void
  onFinished: FinishDeps['onFinished']
}

export interface WorkerOptions {
  labels: readonly string[]
  capacity: number
  /** How long attempts may go on without a renewed lease. */
  outageMs: number
  cancelGraceMs?: number
}

/** The floor: a cancelled call whose hint was lost goes on for at most this much longer. */
export const lookForCancelsEveryMs = 3_000

/** At the end: results of a full worker in as many pieces as they can come in. */
const lastWritesMax = 10
const tendEveryMs = batchMsMax / 4

export class Worker {
  readonly lease: WorkerLease
  readonly hand: Hand
  readonly #claimer: Claimer
  readonly #finisher: Finisher
  readonly #deps: WorkerDeps
  readonly #outageMs: number
  #draining = false

  constructor(deps: WorkerDeps, { labels, capacity, outageMs, ...options }: WorkerOptions) {
    this.#deps = deps
    this.#outageMs = outageMs
    this.lease = new WorkerLease(
      {
        clock: deps.clock,
        leases: deps.leases,
        ids: deps.ids,
        currentLoad: () => this.hand.size,
        onLost: () => this.#abandon(),
      },
      { version: deps.version, labels, capacity },
    )
    const executor = { ...deps, spanId: createSpanIds(deps.random) }
    this.hand = new Hand(
      {
        clock: deps.clock,
        run: (task, signal) => runHttp(executor, task, signal),
        mayStart: () => this.lease.isFresh(),
        onBatchEnded: (batch) => {
          this.#finisher.addBatch(batch)
          deps.onEnded()
        },
        onLiveEnded: (task) => {
          this.#finisher.addLive(task)
          deps.onEnded()
        },
      },
      { capacity, ...options },
    )
    this.#finisher = new Finisher({
      clock: deps.clock,
      queue: deps.queue,
      hand: this.hand,
      workerId: () => this.lease.workerId,
      onFinished: deps.onFinished,
    })
    this.#claimer = new Claimer({
      clock: deps.clock,
      queue: deps.queue,
      hand: this.hand,
      definitions: new Definitions(deps.queue, deps.version),
      workerId: () => (this.#draining || !this.lease.isFresh() ? null : this.lease.workerId),
    })
  }

  async claim(): Promise<'more' | 'idle'> {
    const more = await this.#claimer.step()
    if (more === 'more') this.#deps.onTaken()
    return more
  }

  finish(): Promise<'more' | 'idle' | number> {
    return this.#finisher.step()
  }

  /** Stops what somebody has cancelled. To be told of it again changes nothing. */
  async lookForCancels(): Promise<'idle'> {
    if (this.hand.size === 0) return 'idle'
    const cancelled = new Set(await this.#deps.queue.findCancelled(this.lease.workerId))
    if (cancelled.size === 0) return 'idle'
    for (const task of this.hand.tasks()) if (cancelled.has(task.executionId)) this.hand.cancel(task)
    return 'idle'
  }

  /**
   * Looks after what is in hand: starts what has room, lets batches go that took too long, ends what was cancelled and
   * does not stop, gives up in an outage.
   */
  async tend(): Promise<'idle' | number> {
    if (this.hand.size === 0) return 'idle'
    if (this.lease.silentMs() > this.#outageMs) {
      this.#abandon()
      return 'idle'
    }
    this.hand.pump()
    this.hand.forceCancelled()
    const { batches, waiting } = this.hand.takeExpired()
    for (const batch of batches) this.#finisher.addBatch(batch)
    for (const task of waiting) this.#finisher.addWaiting(task)
    if (batches.length + waiting.length > 0) this.#deps.onEnded()
    return tendEveryMs
  }

  /** Takes nothing more. */
  async drain(): Promise<void> {
    this.#draining = true
    await this.lease.drain()
  }

  /** Nothing in hand, nothing to record. */
  get isIdle(): boolean {
    return this.hand.size === 0 && this.#finisher.pending === 0
  }

  /** Aborts what still runs and hands everything back; then the lease is given up. */
  async release(): Promise<void> {
    await this.#finishAll().catch(() => {})
    this.hand.abandon()
    this.#finisher.clear()
    await this.#deps.queue.returnUnknown(this.lease.workerId, { batchIds: [], executionIds: [] })
    await this.lease.release()
  }

  async #finishAll(): Promise<void> {
    for (let writes = 0; this.#finisher.pending > 0 && writes < lastWritesMax; writes++)
      await this.#finisher.write()
  }

  #abandon(): void {
    this.hand.abandon()
    this.#finisher.clear()
    this.#claimer.doubt()
  }
}

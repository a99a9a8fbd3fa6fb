// A worker: lease, hand, claimer and finisher put together. Its steps are called by loops, or by a simulator.
import type { Executor } from '../domain/jobs/job.ts'
import { outageMessage, stoppedMessage } from '../domain/queue/retry.ts'
import { serverRoute } from '../domain/queue/route.ts'
import type { Attempts } from '../ports/attempts.ts'
import type { DirectDispatch } from '../ports/direct-dispatch.ts'
import type { GraphRuns } from '../ports/graph-runs.ts'
import type { Leases } from '../ports/leases.ts'
import type { Logs } from '../ports/logs.ts'
import type { Queue } from '../ports/queue.ts'
import type { Secrets } from '../ports/secrets.ts'
import type { World } from '../ports/world.ts'
import { AttemptUpdates } from './attempt-updates.ts'
import { CallSigner } from './call-signer.ts'
import { Claimer } from './claim.ts'
import { Definitions } from './definitions.ts'
import { createSpanIds, runHttp } from './executors/http.ts'
import { type FinishDeps, Finisher } from './finish.ts'
import type { HeldExecution } from './held-execution.ts'
import { WorkerLease } from './hold-lease.ts'
import { batchMsMax, InFlight } from './in-flight.ts'
import { RejectedResults } from './rejected-results.ts'
import { type LocalExecutors, runLocal } from './run-local.ts'

export interface WorkerDeps extends World {
  /** Of the program. */
  version: string
  queue: Queue
  graphRuns: Pick<GraphRuns, 'parentsOf'>
  attempts: Pick<Attempts, 'note'>
  logs: Pick<Logs, 'append'>
  secrets: Pick<Secrets, 'tokenKey' | 'signingKeys'>
  /** What runs what is not HTTP. Default none: it makes HTTP calls. */
  executors?: LocalExecutors
  /** Where targets reach our API; null: nobody has said. */
  publicUrl: () => string | null
  /** On a connection of its own: a pool that is all in use must not cost the lease. */
  leases: Leases
  /** A scheduler beside it has more to fire than it can for a while. Default: it never has. */
  isBackpressured?: () => boolean
  /** Called when there is something to record. */
  onEnded: () => void
  /** Called when there is something in hand to look after. */
  onTaken: () => void
  onFinished: FinishDeps['onFinished']
  /** Called when a claim should follow soon, although nobody was told of anything new. */
  onLeft?: () => void
}

export interface WorkerOptions {
  labels: readonly string[]
  /** Executions that run at once, at most. */
  capacity: number
  /** Claimed besides while they end fast, so that each claim brings many. Default 0. */
  aheadMax?: number
  /** Where it claims; asked before each claim when it changes. Default: where HTTP calls wait. */
  routes?: readonly string[] | (() => Promise<readonly string[]>)
  /** Whose handlers it runs, and which. Default: none. */
  tenantId?: string
  handlers?: readonly string[]
  /** How long attempts may go on without a renewed lease. */
  outageMs: number
  cancelGraceMs?: number
}

/** The floor: a cancelled call whose hint was lost goes on for at most this much longer. */
export const pollCancellationsEveryMs = 3_000

/** At the end: results of a full worker in as many pieces as they can come in. */
const lastWritesMax = 10
const tendEveryMs = batchMsMax / 4

export class Worker {
  readonly lease: WorkerLease
  readonly inFlight: InFlight
  readonly #claimer: Claimer
  readonly #finisher: Finisher
  readonly #late: RejectedResults
  readonly #notes: AttemptUpdates
  readonly #signer: CallSigner
  readonly #deps: WorkerDeps
  readonly #outageMs: number
  #draining = false

  constructor(deps: WorkerDeps, options: WorkerOptions) {
    const { labels, capacity, aheadMax = 0, outageMs } = options
    const { routes = [serverRoute], tenantId = null, handlers = [] } = options
    const { clock, executors: local = {} } = deps
    const kinds = Object.keys(local) as Executor[]
    const executors: Executor[] = kinds.length === 0 ? ['http'] : kinds
    this.#deps = deps
    this.#outageMs = outageMs
    this.lease = new WorkerLease(
      {
        clock,
        leases: deps.leases,
        ids: deps.ids,
        currentLoad: () => Math.min(capacity, this.inFlight.size),
        onLost: (workerId) => this.#abandon(workerId),
      },
      { version: deps.version, labels, capacity, tenantId, executors, handlers },
    )
    this.#signer = new CallSigner(deps.secrets)
    this.#notes = new AttemptUpdates({
      ...{ clock, attempts: deps.attempts, logs: deps.logs },
      workerId: () => this.lease.workerId,
      onCancelled: (held) => this.inFlight.cancel(held),
      onGone: (held) => this.inFlight.stop(held),
    })
    const http = { ...deps, signer: this.#signer, spanId: createSpanIds(deps.random) }
    const here = { ...deps, executors: local, notes: this.#notes }
    this.inFlight = new InFlight(
      {
        clock,
        run: (held, signal) => {
          const { prepared } = held
          return prepared.executor === 'http'
            ? runHttp(http, held, prepared, signal)
            : runLocal(here, held, prepared, signal)
        },
        mayStart: () => this.lease.isFresh(),
        nextTurn: (callback) => deps.timers.schedule(0, callback),
        onBatchEnded: (batch) => {
          this.#finisher.addBatch(batch)
          deps.onEnded()
        },
        onLiveEnded: (held) => {
          this.#finisher.addLive(held)
          deps.onEnded()
        },
      },
      { ...options, capacity: capacity + aheadMax, runningMax: capacity },
    )
    this.#late = new RejectedResults(deps)
    this.#finisher = new Finisher({
      clock,
      queue: deps.queue,
      inFlight: this.inFlight,
      notes: this.#notes,
      late: this.#late,
      workerId: () => this.lease.workerId,
      onFinished: deps.onFinished,
    })
    this.#claimer = new Claimer({
      clock,
      queue: deps.queue,
      graphRuns: deps.graphRuns,
      inFlight: this.inFlight,
      definitions: new Definitions(deps.queue, deps.version),
      signer: this.#signer,
      routes: typeof routes === 'function' ? routes : async () => routes,
      isIsolated: kinds.length > 0,
      workerId: () => (this.lease.isFresh() ? this.lease.workerId : null),
      isBackpressured: deps.isBackpressured ?? (() => false),
      isDraining: () => this.#draining,
      onTaken: deps.onTaken,
      onLeft: deps.onLeft ?? (() => {}),
    })
  }

  claim(): Promise<'more' | 'idle'> {
    return this.#claimer.step()
  }

  /** Whether a `claim` is under way, which may have looked before something came. */
  get isClaiming(): boolean {
    return this.#claimer.isStepping
  }

  /** Beside `claim`: see `Claimer`. */
  claimSharedLane(): Promise<'more' | 'idle'> {
    return this.#claimer.claimSharedLane()
  }

  /** Takes what is enqueued beside it; of a worker that makes HTTP calls. */
  get direct(): DirectDispatch {
    return this.#claimer
  }

  async finish(): Promise<'more' | 'idle' | number> {
    try {
      return await this.#finisher.step()
    } finally {
      // Its own failures are tried again with the next step.
      if (this.#late.isWaiting) await this.#late.write().catch(() => {})
    }
  }

  /** Stops what somebody has cancelled, and what maintenance has ended. To be told of it again changes nothing. */
  async pollCancellations(): Promise<'idle'> {
    if (this.inFlight.size === 0) return 'idle'
    const cancelled = new Set(await this.#deps.queue.findCancelled(this.lease.workerId))
    const watched: HeldExecution[] = []
    for (const held of this.inFlight.executions()) {
      if (cancelled.has(held.executionId)) this.inFlight.cancel(held)
      else if (held.prepared.isWatched && held.state === 'running') watched.push(held)
    }
    await this.#notes.ask(watched)
    return 'idle'
  }

  /** Writes what attempts said since the last time. */
  async sendUpdates(): Promise<'idle'> {
    if (this.#notes.isWaiting) await this.#notes.send()
    return 'idle'
  }

  /** Uses keys that were changed. */
  refreshKeys(): Promise<'idle'> {
    return this.#signer.refresh()
  }

  /**
   * Looks after what is in hand: starts what has room, lets batches go that took too long, ends what was cancelled and
   * does not stop, gives up in an outage.
   */
  async tend(): Promise<'idle' | number> {
    if (this.inFlight.size === 0) return 'idle'
    if (this.lease.silentMs() > this.#outageMs) {
      // What has ended is written when the database answers: the fence decides.
      this.inFlight.giveUp(outageMessage)
      return 'idle'
    }
    this.inFlight.pump()
    this.inFlight.forceCancelled()
    const { batches, waiting } = this.inFlight.takeExpired()
    for (const batch of batches) this.#finisher.addBatch(batch)
    for (const held of waiting) this.#finisher.addWaiting(held)
    if (batches.length + waiting.length > 0) this.#deps.onEnded()
    return tendEveryMs
  }

  /** Takes nothing more. */
  async drain(): Promise<void> {
    this.#draining = true
    await this.lease.drain()
  }

  /** Nothing in hand or about to be, nothing to record. */
  get isIdle(): boolean {
    const isEmpty = this.inFlight.size === 0 && !this.#claimer.isTaking
    return isEmpty && this.#finisher.pending === 0 && !this.#late.isWaiting
  }

  /** Aborts what still runs, which is lost, and hands back what did not start; then the lease is given up. */
  async release(): Promise<void> {
    this.inFlight.giveUp(stoppedMessage)
    const isWritten = await this.#finishAll().catch(() => false)
    await this.#late.write().catch(() => {})
    await this.sendUpdates().catch(() => {})
    this.inFlight.abandon()
    this.#finisher.clear()
    // What was called must not go back as if it had not been: whoever reclaims it writes that it was lost.
    if (!isWritten) return
    await this.#deps.queue.releaseUnknown(this.lease.workerId, [])
    await this.lease.release()
  }

  async #finishAll(): Promise<boolean> {
    for (let writes = 0; this.#finisher.pending > 0 && writes < lastWritesMax; writes++)
      await this.#finisher.write()
    return this.#finisher.pending === 0
  }

  /** What had ended by then has come too late. */
  #abandon(workerId: string): void {
    const repeated = this.#finisher.clear()
    const ended = this.inFlight.abandon().filter(({ end }) => end !== null)
    this.#late.add(ended.map((held) => ({ held, workerId, isRepeated: repeated.has(held) })))
    this.#claimer.noteUnknownClaim()
    if (this.#late.isWaiting) this.#deps.onEnded()
  }
}

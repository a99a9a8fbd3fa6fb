// A worker: lease, executions in flight, claimer and finisher put together. Its steps are called by loops, or by a
// simulator.
import { EXECUTOR_KINDS } from '../domain/executors/list.ts'
import type { Executor } from '../domain/jobs/job.ts'
import { classOf } from '../domain/queue/concurrency-limits.ts'
import { outageMessage, stoppedMessage } from '../domain/queue/retry.ts'
import type { Attempts } from '../ports/attempts.ts'
import type { DirectDispatch } from '../ports/direct-dispatch.ts'
import type { GraphRuns } from '../ports/graph-runs.ts'
import type { Leases } from '../ports/leases.ts'
import type { Logs } from '../ports/logs.ts'
import type { Peers } from '../ports/peers.ts'
import type { Queue } from '../ports/queue.ts'
import type { Secrets } from '../ports/secrets.ts'
import type { Tenants } from '../ports/tenants.ts'
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
import { TenantLimits } from './tenant-limits.ts'

export interface WorkerDeps extends World {
  /** The version of the program. */
  version: string
  queue: Queue
  peers: Peers
  tenants: Pick<Tenants, 'countWithJobs' | 'workLimits'>
  graphRuns: Pick<GraphRuns, 'parentsOf'>
  attempts: Pick<Attempts, 'update'>
  logs: Pick<Logs, 'append'>
  secrets: Pick<Secrets, 'tokenKey' | 'signingKeys'>
  /** Executors of the kinds that it runs besides HTTP calls, or instead of them if one may kill its process. */
  executors?: LocalExecutors
  /** Where targets reach our API; null: not configured. */
  publicUrl: () => string | null
  /** On a connection of its own: a pool that is all in use must not cost the lease. */
  leases: Leases
  /** The scheduler of the same process has more to fire than it can for a while. Default: never. */
  isBackpressured?: () => boolean
  /** Called when there are results to record. */
  onEnded: () => void
  /** Called when there are new executions in flight. */
  onClaimed: () => void
  onFinished: FinishDeps['onFinished']
  /** Called when a claim should follow soon, although no hint of new work has come. */
  onClaimDue?: () => void
}

export interface WorkerOptions {
  labels: readonly string[]
  /** Executions that run at once, at most. */
  capacity: number
  /** Executions claimed ahead of their start while others end fast, so that each claim brings many. Default 0. */
  aheadMax?: number
  /** The routes it claims from; a function is asked before each claim. Default: of its executors. */
  routes?: readonly string[] | (() => Promise<readonly string[]>)
  /** The tenant of `handlers`, the handlers that it runs. Default: none. */
  tenantId?: string
  handlers?: readonly string[]
  /** Where this process listens for HTTP. Default null: it does not. */
  port?: number | null
  /** How long attempts may go on without a renewed lease. */
  outageMs: number
  cancelGraceMs?: number
}

/** The upper bound: a cancelled call with a lost hint continues for at most this much longer. */
export const pollCancellationsEveryMs = 3_000

/** Writes at the end, at most: enough for the results of a full worker. */
const lastWritesMax = 10
const expireBatchesEveryMs = batchMsMax / 4

export class Worker {
  readonly lease: WorkerLease
  readonly inFlight: InFlight
  readonly #claimer: Claimer
  readonly #finisher: Finisher
  readonly #rejected: RejectedResults
  readonly #updates: AttemptUpdates
  readonly #signer: CallSigner
  readonly #tenantLimits: TenantLimits
  readonly #deps: WorkerDeps
  readonly #outageMs: number
  /** Whether it runs the handlers of one tenant. */
  readonly #isOfTenant: boolean
  #draining = false

  constructor(deps: WorkerDeps, options: WorkerOptions) {
    const { labels, capacity, aheadMax = 0, outageMs } = options
    const { clock, executors: local = {} } = deps
    const kinds = Object.keys(local) as Executor[]
    const isIsolated = kinds.some((kind) => EXECUTOR_KINDS[kind].isolates)
    const executors: Executor[] = isIsolated ? kinds : ['http', ...kinds]
    const { routes = executors.flatMap((kind) => EXECUTOR_KINDS[kind].route ?? []) } = options
    const { tenantId = null, handlers = [], port = null } = options
    this.#deps = deps
    this.#outageMs = outageMs
    this.#isOfTenant = tenantId !== null
    this.lease = new WorkerLease(
      {
        clock,
        leases: deps.leases,
        ids: deps.ids,
        currentLoad: () => Math.min(capacity, this.inFlight.size),
        onLost: (workerId) => this.#abandon(workerId),
      },
      { port, version: deps.version, labels, capacity, tenantId, executors, handlers },
    )
    this.#signer = new CallSigner(deps.secrets)
    this.#tenantLimits = new TenantLimits({ ...deps, class: classOf({ tenantId, executors }) })
    this.#updates = new AttemptUpdates({
      ...{ clock, attempts: deps.attempts, logs: deps.logs },
      workerId: () => this.lease.workerId,
      onCancelled: (held) => this.inFlight.cancel(held),
      onGone: (held) => this.inFlight.stop(held),
    })
    const http = { ...deps, signer: this.#signer, spanId: createSpanIds(deps.random) }
    const here = { ...deps, executors: local, updates: this.#updates }
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
      { ...options, capacity: capacity + aheadMax, runningMax: capacity, mayExceed: !isIsolated },
    )
    this.#rejected = new RejectedResults(deps)
    this.#finisher = new Finisher({
      clock,
      queue: deps.queue,
      inFlight: this.inFlight,
      updates: this.#updates,
      rejected: this.#rejected,
      onAwaited: (tenantId) => this.#tenantLimits.concurrency.noteAwaited(tenantId),
      workerId: () => this.lease.workerId,
      onFinished: deps.onFinished,
    })
    this.#claimer = new Claimer({
      clock,
      queue: deps.queue,
      peers: deps.peers,
      graphRuns: deps.graphRuns,
      inFlight: this.inFlight,
      definitions: new Definitions(deps.queue, deps.version),
      signer: this.#signer,
      tenantLimits: this.#tenantLimits,
      routes: typeof routes === 'function' ? routes : async () => routes,
      isIsolated,
      workerId: () => (this.lease.isFresh() ? this.lease.workerId : null),
      isBackpressured: deps.isBackpressured ?? (() => false),
      isDraining: () => this.#draining,
      onClaimed: deps.onClaimed,
      onClaimDue: deps.onClaimDue ?? (() => {}),
    })
  }

  claim(): Promise<'more' | 'idle' | number> {
    return this.#claimer.claimOnce()
  }

  /** Lists the workers that could claim the same executions, and learns whether tenants share this one and their limits. */
  async watchPeers(): Promise<'idle'> {
    await this.watchTenants()
    await this.#claimer.watchPeers()
    await this.#tenantLimits.refresh()
    return 'idle'
  }

  /** Learns whether two tenants or more have jobs. A worker of one tenant's handlers is not shared. */
  async watchTenants(): Promise<void> {
    if (this.#isOfTenant) return
    const { tenants } = this.inFlight
    const wasShared = tenants.isShared
    if ((await this.#deps.tenants.countWithJobs(2)) > 1) tenants.share()
    // Executions of a second tenant that have come in the meantime are newer than the answer.
    else if (wasShared) tenants.unshare()
    tenants.forgetIdle(this.#deps.clock.monotonicMs())
  }

  /** Whether a `claim` is under way; it may have looked at the queue before the latest execution came. */
  get isClaiming(): boolean {
    return this.#claimer.isClaiming
  }

  /** A side claim while a `claim` is in progress: see `Claimer`. */
  claimSharedLane(): Promise<'more' | 'idle'> {
    return this.#claimer.claimSharedLane()
  }

  /** Claims executions that are enqueued in this process, on insert. Only for a worker that makes HTTP calls. */
  get directDispatch(): DirectDispatch {
    return this.#claimer.directDispatch
  }

  async finish(): Promise<'more' | 'idle' | number> {
    try {
      return await this.#finisher.finishOnce()
    } finally {
      // A failure here is tried again with the next step.
      if (this.#rejected.isWaiting) await this.#rejected.write().catch(() => {})
    }
  }

  /** Stops executions that were cancelled, or that maintenance has ended. Repeating it changes nothing. */
  async pollCancellations(): Promise<'idle'> {
    if (this.inFlight.size === 0) return 'idle'
    const cancelled = new Set(await this.#deps.queue.findCancelled(this.lease.workerId))
    const watched: HeldExecution[] = []
    for (const held of this.inFlight.executions()) {
      if (cancelled.has(held.executionId)) this.inFlight.cancel(held)
      else if (held.prepared.isWatched && held.status === 'running') watched.push(held)
    }
    await this.#updates.ask(watched)
    return 'idle'
  }

  /** Writes the updates of attempts since the last time. */
  async sendUpdates(): Promise<'idle'> {
    if (this.#updates.isWaiting) await this.#updates.send()
    return 'idle'
  }

  /** Fetches signing keys that were changed. */
  refreshKeys(): Promise<'idle'> {
    return this.#signer.refresh()
  }

  /**
   * Starts queued executions that have room, lets batches go that took too long, ends cancelled calls that do not stop, and
   * gives everything up in a long outage.
   */
  async expireBatches(): Promise<'idle' | number> {
    if (this.inFlight.size === 0) return 'idle'
    if (this.lease.silentMs() > this.#outageMs) {
      // Results are written when the database answers: the fence decides.
      this.inFlight.giveUp(outageMessage)
      return 'idle'
    }
    this.inFlight.pump()
    this.inFlight.forceCancelled()
    const { batches, waiting } = this.inFlight.takeExpired()
    for (const batch of batches) this.#finisher.addBatch(batch)
    for (const held of waiting) this.#finisher.addWaiting(held)
    if (batches.length + waiting.length > 0) this.#deps.onEnded()
    return expireBatchesEveryMs
  }

  /** Claims nothing more. */
  async drain(): Promise<void> {
    this.#draining = true
    await this.lease.drain()
  }

  /** Whether nothing is in flight or about to be, and no result waits to be recorded. */
  get isIdle(): boolean {
    const isEmpty = this.inFlight.size === 0 && !this.#claimer.hasReservations
    return isEmpty && this.#finisher.pending === 0 && !this.#rejected.isWaiting
  }

  /** Aborts running executions, which are lost, and hands back unstarted ones; then the lease is given up. */
  async release(): Promise<void> {
    this.inFlight.giveUp(stoppedMessage)
    const isWritten = await this.#finishAll().catch(() => false)
    await this.#rejected.write().catch(() => {})
    await this.sendUpdates().catch(() => {})
    this.inFlight.abandon()
    this.#finisher.clear()
    // A call that was made must not go back as unstarted: the reclaim writes that it was lost.
    if (!isWritten) return
    await this.#deps.queue.releaseUnknown(this.lease.workerId, [])
    await this.lease.release()
  }

  async #finishAll(): Promise<boolean> {
    for (let writes = 0; this.#finisher.pending > 0 && writes < lastWritesMax; writes++)
      await this.#finisher.write()
    return this.#finisher.pending === 0
  }

  /** The lease is lost: results that were not written by then come too late. */
  #abandon(workerId: string): void {
    const repeated = this.#finisher.clear()
    const ended = this.inFlight.abandon().filter(({ end }) => end !== null)
    this.#rejected.add(ended.map((held) => ({ held, workerId, isRepeated: repeated.has(held) })))
    this.#claimer.noteUnknownClaim()
    if (this.#rejected.isWaiting) this.#deps.onEnded()
  }
}

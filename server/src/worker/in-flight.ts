// The executions that a worker holds, from the claim until their end is recorded. It starts calls as hosts have room and
// passes each ending on to the finisher; it never talks to the store.
//
// States of an execution (`status`): queued (it waits for room at its host, or for the next turn of the event loop) ->
// running -> ended. A queued one may end without having started: it was cancelled, or waited too long and goes back.
// An ended one stays in flight until `drop`. States of a batch: together -> settling, when its last execution has ended
// or after 200 ms (`takeExpired`); executions that still run then leave it and go on alone.
//
// Invariants: at most `capacity` executions are in flight, and of a tenant no more than its share of them (an execution
// beyond it ends unstarted when it is added, and goes back to the lane of its tenant); a host has at most its cap of calls running (`HostGate`), and
// executions that call no host have at most `runningMax`; an execution is queued exactly while it is in the queue of its
// host; each execution ends once, and each batch is passed on once; nothing starts while the lease is not known to hold.
import type { AttemptEnd } from '../domain/queue/attempt.ts'
import { HostGate, type HostOutcome, hostCapOf, judgeHost } from '../domain/queue/host-gate.ts'
import type { WorkerShares } from '../domain/queue/worker-shares.ts'
import { Stop, type StopSignal } from '../lib/stop.ts'
import type { Clock } from '../ports/clock.ts'
import type { HttpOutcome } from '../ports/http.ts'
import { endCancelled, endGivenUp, type HeldBatch, type HeldExecution } from './held-execution.ts'
import { HostQueue } from './host-queue.ts'
import { noHost } from './prepare.ts'
import { RecentEndings, windowMs } from './recent-endings.ts'
import { TenantPlaces } from './tenant-places.ts'

export interface InFlightDeps {
  clock: Clock
  run: (held: HeldExecution, signal: StopSignal) => Promise<Ran>
  /** False while the lease is not known to hold: nothing new is started then. */
  mayStart: () => boolean
  /** Calls back in the next turn of the event loop. Default: calls to hosts are started all at once. */
  nextTurn?: (callback: () => void) => void
  onBatchEnded: (batch: HeldBatch) => void
  onLiveEnded: (held: HeldExecution) => void
}

/** `outcome`: the answer of the host that was called; null: none was called. */
export interface Ran {
  end: AttemptEnd | null
  outcome: HttpOutcome | null
}

export interface InFlightOptions {
  /** Executions in flight at once, at most. */
  capacity: number
  /** Executions that call no host: how many of them run at once. Default: all that are in flight. */
  runningMax?: number
  /** See `TenantPlacesOptions`. Default true. */
  mayExceed?: boolean
  /** How long a call that was cancelled may go on before it is ended by force. Default 30,000. */
  cancelGraceMs?: number
}

/** For how long a claimed batch is kept together; then executions that have not ended leave it. */
export const batchMsMax = 200
/** Calls to hosts that may be claimed ahead of their start in any case: each host has its own room. */
export const aheadMin = 300
/**
 * Calls to hosts that may be claimed ahead where as many end within 200 ms: a burst is claimed in one go, not a part of it
 * whenever some have ended ([m] 1,000 due at once start within 77 to 88 ms, and 98 to 151 with 300). Executions that others
 * enqueue in the meantime still find room.
 */
export const aheadMax = 1_000
/**
 * Calls to hosts started in one turn of the event loop, at most. With a burst of them the turn took as long as all that end in
 * it, and everything else waited for it: a trigger, a quiet tenant's slot, the answers of the database.
 */
export const startsPerTurn = 40
const cancelGraceMsDefault = 30_000
/** An execution that is in flight for less is short: little is lost with it when its worker dies. */
const shortMsMax = 1_000

export class InFlight {
  /** Places of each tenant. */
  readonly tenants: TenantPlaces
  readonly #capacity: number
  readonly #runningMax: number
  readonly gate: HostGate
  readonly #deps: InFlightDeps
  readonly #cancelGraceMs: number
  readonly #executions = new Set<HeldExecution>()
  readonly #batches = new Set<HeldBatch>()
  readonly #queued = new Map<string, HostQueue>()
  #queuedCount = 0
  /** Running executions that call no host. */
  #running = 0
  #suspects = 0
  /** The rate of recent endings; its `most` is reset when an execution that was claimed ahead did not start in time. */
  readonly #endings = new RecentEndings()
  /** Of short executions, each by its time in flight: how many were in flight on average. */
  readonly #shortEndings = new RecentEndings()
  /** Calls to hosts that may still start in this turn of the event loop. */
  #startsLeft = startsPerTurn
  /** Hosts that have room and calls waiting for the next turn. */
  #nextTurn = new Set<string>()

  constructor(deps: InFlightDeps, options: InFlightOptions) {
    const { capacity, runningMax = capacity, mayExceed = true } = options
    this.#deps = deps
    this.#cancelGraceMs = options.cancelGraceMs ?? cancelGraceMsDefault
    this.#capacity = capacity
    this.tenants = new TenantPlaces({ capacity, mayExceed })
    this.#runningMax = runningMax
    const isShared = () => this.tenants.isShared
    this.gate = new HostGate({ capPerHost: hostCapOf(capacity), isShared })
  }

  get size(): number {
    return this.#executions.size
  }

  /** Executions in flight at once, at most. */
  get capacity(): number {
    return this.#capacity + this.tenants.measureExtra(this.size)
  }

  /** How many places each tenant may still take. Null: `more` executions of any tenant fit. */
  measureShares(more: number): WorkerShares | null {
    return this.tenants.measureShares(this.#executions, { more, nowMs: this.#deps.clock.monotonicMs() })
  }

  /** Executions that are claimed and not started. */
  get queued(): number {
    return this.#queuedCount
  }

  /**
   * How many more executions may be claimed now: the ones that can start at once, and ahead of them as many as will start
   * before their batch expires. An execution that waits longer is handed back, and was only kept from other workers.
   */
  measureRoom(): number {
    const endedRecently = this.measureEndedRecently()
    const isOpen = this.#runningMax === this.#capacity
    const ahead = isOpen
      ? Math.max(aheadMin, endedRecently, Math.min(aheadMax, this.#endings.most))
      : this.#runningMax - this.#running + endedRecently
    return Math.min(this.capacity - this.size, ahead - this.#queuedCount + this.#starting())
  }

  /** Executions that have not started only because other calls had this turn: they start within the next ones. */
  #starting(): number {
    const nowMs = this.#deps.clock.monotonicMs()
    let starting = 0
    for (const host of this.#nextTurn)
      starting += Math.min(this.#queued.get(host)?.size ?? 0, this.gate.room(host, nowMs))
    return starting
  }

  /** Executions in flight that may have killed a worker. */
  get suspects(): number {
    return this.#suspects
  }

  /** About how many ended in the last 200 ms: as many may be claimed ahead without outliving their batch. */
  measureEndedRecently(): number {
    return this.#endings.measure(this.#deps.clock.monotonicMs())
  }

  /**
   * About how many executions in flight will last, counted up to `max`: the ones that are not short any more, or all but as
   * many as are usually in flight because of short ones, by the rate of their ends and their time in flight.
   */
  measureLasting(max: number): number {
    const nowMs = this.#deps.clock.monotonicMs()
    let lasting = 0
    for (const { claimedMs } of this.#executions) {
      // Executions are in the order of their claims, nearly.
      if (lasting >= max || nowMs - claimedMs < shortMsMax) break
      lasting += 1
    }
    const short = Math.round(this.#shortEndings.measure(nowMs))
    return Math.max(lasting, Math.min(max, this.size - short))
  }

  /** Includes ended executions until they are recorded, so that none of them counts as an unknown claim. */
  executionIds(): string[] {
    return [...this.#executions].map(({ executionId }) => executionId)
  }

  executions(): Iterable<HeldExecution> {
    return this.#executions
  }

  add(executions: readonly HeldExecution[]): void {
    this.tenants.see(executions)
    const shares = this.measureShares(executions.length)
    for (const held of executions) {
      const { tenantId } = held.prepared
      this.#executions.add(held)
      if (held.batch !== null) this.#batches.add(held.batch)
      this.tenants.add(tenantId)
      if (held.isSuspect) this.#suspects += 1
      if (held.waitsAs === null) held.isBeyondShare ||= shares?.roomOf(tenantId) === 0
      if (held.waitsAs !== null || held.isBeyondShare) {
        this.#end(held, null)
        continue
      }
      shares?.take(tenantId, 1)
      this.#start(held)
    }
  }

  /** Starts queued executions on hosts that have room. */
  pump(): void {
    for (const host of this.#queued.keys()) this.#pumpHost(host)
  }

  /** Batches that have been together for long enough, and single executions that waited as long for their host. */
  takeExpired(): { batches: HeldBatch[]; waiting: HeldExecution[] } {
    const before = this.#deps.clock.monotonicMs() - batchMsMax
    const batches = [...this.#batches].filter((batch) => batch.claimedMs <= before && !batch.settling)
    const waiting = [...this.#queued.values()].flatMap((queue) =>
      queue.waiting().filter((held) => held.batch === null && held.claimedMs <= before),
    )
    for (const held of waiting) this.unqueue(held)
    // Calls have become slower than before: stop claiming ahead as many as before.
    if (waiting.length > 0 || batches.some(hasUnstarted)) this.#endings.forgetMost()
    return { batches, waiting }
  }

  /** Takes an execution that has not started out of its queue: it will not start. */
  unqueue(held: HeldExecution): void {
    held.status = 'ended'
    const { host } = held.prepared
    const queue = this.#queued.get(host)
    queue?.remove(held)
    if (queue?.size === 0) this.#queued.delete(host)
    this.#queuedCount -= 1
  }

  /** A cancelled execution does not start, or its call is aborted. An ended one stays as it is: the store decides. */
  cancel(held: HeldExecution): void {
    if (held.cancelledMs !== null) return
    held.cancelledMs = this.#deps.clock.monotonicMs()
    this.stop(held)
  }

  /** An execution that was cancelled, or is not ours any more, does not start, or is aborted. */
  stop(held: HeldExecution): void {
    if (held.status === 'running') held.abort!.abort()
    else if (held.status === 'queued') {
      this.unqueue(held)
      this.#end(held, null)
    }
  }

  /** Ends calls that go on although they were aborted longer than `cancelGraceMs` ago. */
  forceCancelled(): void {
    const { clock } = this.#deps
    const before = clock.monotonicMs() - this.#cancelGraceMs
    for (const held of this.#executions) {
      if (held.status !== 'running' || held.cancelledMs === null || held.cancelledMs > before) continue
      const { startedAt } = held
      const { host } = held.prepared
      this.#leave(host, 'unknown')
      this.#end(held, endCancelled(startedAt!, Math.max(0, clock.databaseNow() - startedAt!)))
      this.#pumpHost(host)
    }
  }

  /** The batch is gone from the store. */
  dropBatch(batch: HeldBatch): void {
    this.#batches.delete(batch)
  }

  /** The execution is recorded, handed back or lost: it is no longer ours. */
  drop(held: HeldExecution): void {
    if (!this.#executions.delete(held)) return
    if (held.isSuspect) this.#suspects -= 1
    this.tenants.remove(held.prepared.tenantId)
  }

  /** Aborts every call and starts none: running executions are lost, queued ones go back unstarted, ended ones are kept. */
  giveUp(message: string): void {
    const now = this.#deps.clock.databaseNow()
    for (const held of this.#executions) {
      if (held.status === 'queued') {
        this.unqueue(held)
        this.#end(held, null)
      } else if (held.status === 'running') {
        held.abort!.abort()
        this.#leave(held.prepared.host, 'unknown')
        this.#end(held, endGivenUp(held, now, message))
      }
    }
  }

  /** Aborts every call and forgets everything: the executions belong to other workers now. Returns them. */
  abandon(): HeldExecution[] {
    const executions = [...this.#executions]
    this.#executions.clear()
    this.#batches.clear()
    this.#queued.clear()
    this.#nextTurn.clear()
    this.tenants.clear()
    this.#queuedCount = 0
    this.#suspects = 0
    for (const held of executions) held.abort?.abort()
    return executions
  }

  #start(held: HeldExecution): void {
    const { host } = held.prepared
    const queue = this.#queued.get(host)
    if (queue !== undefined) {
      queue.push(held)
      this.#queuedCount += 1
    } else if (
      this.#deps.mayStart() &&
      this.#hasTurn(host) &&
      this.#enter(host, this.#deps.clock.monotonicMs())
    )
      void this.#run(held)
    else {
      this.#queued.set(host, new HostQueue(held))
      this.#queuedCount += 1
    }
  }

  #pumpHost(host: string): void {
    const queue = this.#queued.get(host)
    if (queue === undefined || !this.#deps.mayStart()) return
    const nowMs = this.#deps.clock.monotonicMs()
    while (queue.size > 0 && this.#hasTurn(host) && this.#enter(host, nowMs)) {
      this.#queuedCount -= 1
      void this.#run(queue.shift())
    }
    if (queue.size === 0) this.#queued.delete(host)
  }

  /** Whether one more call to this host may start in this turn; if not, the next turn begins with it. */
  #hasTurn(host: string): boolean {
    if (host === noHost || this.#deps.nextTurn === undefined || this.#startsLeft > 0) return true
    this.#nextTurn.add(host)
    return false
  }

  #beginTurn(): void {
    this.#startsLeft = startsPerTurn
    const hosts = [...this.#nextTurn]
    this.#nextTurn.clear()
    for (const [at, host] of hosts.entries()) {
      if (this.#startsLeft === 0) {
        // Hosts that had no turn come before hosts that had one.
        this.#nextTurn = new Set([...hosts.slice(at), ...this.#nextTurn])
        return
      }
      this.#pumpHost(host)
    }
  }

  #enter(host: string, nowMs: number): boolean {
    if (host !== noHost) {
      if (!this.gate.tryEnter(host, nowMs)) return false
      if (this.#startsLeft-- === startsPerTurn) this.#deps.nextTurn?.(() => this.#beginTurn())
      return true
    }
    if (this.#running >= this.#runningMax) return false
    this.#running += 1
    return true
  }

  #leave(host: string, outcome: HostOutcome): void {
    if (host === noHost) this.#running -= 1
    else this.gate.leave(host, outcome)
  }

  async #run(held: HeldExecution): Promise<void> {
    const { host } = held.prepared
    held.status = 'running'
    held.abort = new Stop()
    const { end, outcome } = await this.#deps.run(held, held.abort)
    // The execution was ended by force and has left its host: the end of its call comes too late.
    if (held.status !== 'running') return
    this.#leave(host, outcome === null ? 'unknown' : judgeHost(outcome))
    const nowMs = this.#deps.clock.monotonicMs()
    const other = host === noHost ? null : this.gate.waitingBeside(host, nowMs)
    if (other !== null) this.#pumpHost(other)
    this.#pumpHost(host)
    if (!this.#executions.has(held)) return
    this.#endings.count(nowMs)
    const heldMs = nowMs - held.claimedMs
    this.tenants.countEnd(held.prepared.tenantId, nowMs, heldMs)
    if (heldMs < shortMsMax) this.#shortEndings.count(nowMs, heldMs / windowMs)
    this.#end(held, end)
  }

  #end(held: HeldExecution, end: AttemptEnd | null): void {
    held.status = 'ended'
    held.end = end
    const { batch } = held
    if (batch === null) this.#deps.onLiveEnded(held)
    else if (--batch.open === 0) {
      batch.settling = true
      this.#deps.onBatchEnded(batch)
    }
  }
}

const hasUnstarted = ({ executions }: HeldBatch) => executions.some(({ status }) => status === 'queued')

// What a worker has in hand: executions that wait for room at their host, that run, and that ended but are not
// recorded yet. It starts calls as hosts have room, and passes each ending on; it never talks to the store.
import type { AttemptEnd } from '../domain/queue/attempt.ts'
import { HostGate, type HostOutcome, hostCapOf, judgeHost } from '../domain/queue/host-gate.ts'
import { Stop, type StopSignal } from '../lib/stop.ts'
import type { Clock } from '../ports/clock.ts'
import type { HttpOutcome } from '../ports/http.ts'
import { endCancelled, endGivenUp, type HeldBatch, type HeldExecution } from './held-execution.ts'
import { noHost } from './prepare.ts'

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

/** `outcome`: what it says of its host; null: it called none. */
export interface Ran {
  end: AttemptEnd | null
  outcome: HttpOutcome | null
}

export interface InFlightOptions {
  /** Executions in hand at once, at most. */
  capacity: number
  /** Of those that call no host: how many run at once. Default: all that are in hand. */
  runningMax?: number
  /** How long a call that was cancelled may go on before it is ended by force. Default 30,000. */
  cancelGraceMs?: number
}

/** For how long a claimed batch is kept together; then whatever has not ended leaves it. */
export const batchMsMax = 200
const recentMs = 200
/** Claimed and unstarted at least, of calls to hosts: each host has its own room. */
export const aheadMin = 300
/**
 * And at most, where they end so fast: a burst is claimed in one go, not a part of it whenever some have ended ([m] 1,000 due at
 * once start within 77 to 88 ms, and 98 to 151 with 300). What others enqueue meanwhile finds room beside it.
 */
export const aheadMax = 1_000
/**
 * Calls to hosts started in one turn of the event loop, at most. With a burst of them the turn took as long as all that end in
 * it, and everybody else waited for it: a trigger, a quiet tenant's slot, the answers of the database.
 */
export const startsPerTurn = 40
const cancelGraceMsDefault = 30_000
/** Places of a queue whose tasks have gone, before it is made shorter. */
const sparesMax = 256

export class InFlight {
  readonly capacity: number
  readonly #runningMax: number
  readonly gate: HostGate
  readonly #deps: InFlightDeps
  readonly #cancelGraceMs: number
  readonly #executions = new Set<HeldExecution>()
  readonly #batches = new Set<HeldBatch>()
  readonly #queued = new Map<string, HostQueue>()
  readonly #byLane = new Map<string, number>()
  #queuedCount = 0
  /** Of those that call no host. */
  #running = 0
  #suspects = 0
  #recent = { sinceMs: 0, ended: 0, endedBefore: 0 }
  /** The most that ended within 200 ms, since something that was claimed ahead last did not start in time. */
  #endedMost = 0
  /** Of this turn. */
  #startsLeft = startsPerTurn
  /** Hosts with room whose calls wait for the next turn. */
  #nextTurn = new Set<string>()

  constructor(deps: InFlightDeps, options: InFlightOptions) {
    const { capacity, runningMax = capacity, cancelGraceMs = cancelGraceMsDefault } = options
    this.#deps = deps
    this.#cancelGraceMs = cancelGraceMs
    this.capacity = capacity
    this.#runningMax = runningMax
    this.gate = new HostGate({ capPerHost: hostCapOf(capacity) })
  }

  get size(): number {
    return this.#executions.size
  }

  /** Claimed and not started. */
  get queued(): number {
    return this.#queuedCount
  }

  /**
   * How many more may be claimed. Ahead of what can start at once only as many as will start before their batch is over:
   * what waits longer goes back, and would only have been kept from others.
   */
  get room(): number {
    const isOpen = this.#runningMax === this.capacity
    const ahead = isOpen
      ? Math.max(aheadMin, this.endedRecently, Math.min(aheadMax, this.#endedMost))
      : this.#runningMax - this.#running + this.endedRecently
    return Math.min(this.capacity - this.size, ahead - this.#queuedCount + this.#starting())
  }

  /** Claimed and not started, only because other calls had this turn: they start within the next ones. */
  #starting(): number {
    const nowMs = this.#deps.clock.monotonicMs()
    let starting = 0
    for (const host of this.#nextTurn)
      starting += Math.min(this.#queued.get(host)?.size ?? 0, this.gate.room(host, nowMs))
    return starting
  }

  inLane(lane: string): number {
    return this.#byLane.get(lane) ?? 0
  }

  /** Executions in hand that may have killed a worker. */
  get suspects(): number {
    return this.#suspects
  }

  /** About how many ended in the last 200 ms: what may be claimed ahead without outliving its batch. */
  get endedRecently(): number {
    this.#countRecent(0)
    return Math.max(this.#recent.ended, this.#recent.endedBefore)
  }

  /** Until they are recorded, so that nothing of ours is taken for a claim whose answer was lost. */
  known(): string[] {
    return [...this.#executions].map(({ executionId }) => executionId)
  }

  executions(): Iterable<HeldExecution> {
    return this.#executions
  }

  take(executions: readonly HeldExecution[]): void {
    for (const held of executions) {
      this.#executions.add(held)
      if (held.batch !== null) this.#batches.add(held.batch)
      this.#byLane.set(held.lane, this.inLane(held.lane) + 1)
      if (held.isSuspect) this.#suspects += 1
      this.#start(held)
    }
  }

  /** Starts what waits for hosts that have room. */
  pump(): void {
    for (const host of this.#queued.keys()) this.#pumpHost(host)
  }

  /** Batches that have been together for long enough, and single executions that waited as long for their host. */
  takeExpired(): { batches: HeldBatch[]; waiting: HeldExecution[] } {
    const before = this.#deps.clock.monotonicMs() - batchMsMax
    const batches = [...this.#batches].filter((batch) => batch.claimedMs <= before && !batch.settling)
    const waiting = [...this.#queued.values()].flatMap((queue) =>
      queue.left().filter((held) => held.batch === null && held.claimedMs <= before),
    )
    for (const held of waiting) this.unqueue(held)
    // What is called now is not as fast: so much is claimed ahead once, not again.
    if (waiting.length > 0 || batches.some(hasUnstarted)) this.#endedMost = 0
    return { batches, waiting }
  }

  /** Takes one that was not started out of its queue: it will not be. */
  unqueue(held: HeldExecution): void {
    held.state = 'ended'
    const { host } = held.prepared
    const queue = this.#queued.get(host)
    queue?.remove(held)
    if (queue?.size === 0) this.#queued.delete(host)
    this.#queuedCount -= 1
  }

  /** Somebody cancelled it: it does not start, or its call is aborted. What has ended stays: the store decides. */
  cancel(held: HeldExecution): void {
    if (held.cancelledMs !== null) return
    held.cancelledMs = this.#deps.clock.monotonicMs()
    this.stop(held)
  }

  /** It does not start, or is aborted: somebody cancelled it, or it is not ours any more. */
  stop(held: HeldExecution): void {
    if (held.state === 'running') held.abort!.abort()
    else if (held.state === 'queued') {
      this.unqueue(held)
      this.#end(held, null)
    }
  }

  /** Ends calls that go on although they were aborted so long ago: nobody waits for them any more. */
  forceCancelled(): void {
    const { clock } = this.#deps
    const before = clock.monotonicMs() - this.#cancelGraceMs
    for (const held of this.#executions) {
      if (held.state !== 'running' || held.cancelledMs === null || held.cancelledMs > before) continue
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

  /** Recorded, handed back or lost: no longer ours. */
  drop(held: HeldExecution): void {
    if (!this.#executions.delete(held)) return
    if (held.isSuspect) this.#suspects -= 1
    const inLane = this.inLane(held.lane) - 1
    if (inLane === 0) this.#byLane.delete(held.lane)
    else this.#byLane.set(held.lane, inLane)
  }

  /** Aborts every call and starts none: what ran is lost, what waited goes back unstarted. What has ended is kept. */
  giveUp(message: string): void {
    const now = this.#deps.clock.databaseNow()
    for (const held of this.#executions) {
      if (held.state === 'queued') {
        this.unqueue(held)
        this.#end(held, null)
      } else if (held.state === 'running') {
        held.abort!.abort()
        this.#leave(held.prepared.host, 'unknown')
        this.#end(held, endGivenUp(held, now, message))
      }
    }
  }

  /** Aborts every call and forgets everything: it is others' now. */
  abandon(): HeldExecution[] {
    const executions = [...this.#executions]
    this.#executions.clear()
    this.#batches.clear()
    this.#queued.clear()
    this.#nextTurn.clear()
    this.#byLane.clear()
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
        // Who had no turn comes before who had one.
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
    held.state = 'running'
    held.abort = new Stop()
    const { end, outcome } = await this.#deps.run(held, held.abort)
    // Ended by force: it has left its host, and what it says now comes too late.
    if (held.state !== 'running') return
    this.#leave(host, outcome === null ? 'unknown' : judgeHost(outcome))
    this.#pumpHost(host)
    if (!this.#executions.has(held)) return
    this.#countRecent(1)
    this.#end(held, end)
  }

  #end(held: HeldExecution, end: AttemptEnd | null): void {
    held.state = 'ended'
    held.end = end
    const { batch } = held
    if (batch === null) this.#deps.onLiveEnded(held)
    else if (--batch.open === 0) {
      batch.settling = true
      this.#deps.onBatchEnded(batch)
    }
  }

  #countRecent(ended: number): void {
    const nowMs = this.#deps.clock.monotonicMs()
    const recent = this.#recent
    if (nowMs - recent.sinceMs >= recentMs) {
      const fresh = nowMs - recent.sinceMs < 2 * recentMs
      this.#recent = { sinceMs: nowMs, ended, endedBefore: fresh ? recent.ended : 0 }
    } else recent.ended += ended
    this.#endedMost = Math.max(this.#endedMost, this.#recent.ended)
  }
}

const hasUnstarted = ({ executions }: HeldBatch) => executions.some(({ state }) => state === 'queued')

/** Who waits for one host, first come first. Reservation one costs the same however many wait: an array would be copied for each. */
class HostQueue {
  #executions: HeldExecution[]
  #from = 0

  constructor(first: HeldExecution) {
    this.#executions = [first]
  }

  get size(): number {
    return this.#executions.length - this.#from
  }

  left(): HeldExecution[] {
    return this.#executions.slice(this.#from)
  }

  push(held: HeldExecution): void {
    this.#executions.push(held)
  }

  /** Only of one that is not empty. */
  shift(): HeldExecution {
    const held = this.#executions[this.#from++]!
    if (this.#from >= sparesMax && this.#from * 2 >= this.#executions.length) {
      this.#executions = this.left()
      this.#from = 0
    }
    return held
  }

  remove(held: HeldExecution): void {
    this.#executions = this.left().filter((other) => other !== held)
    this.#from = 0
  }
}

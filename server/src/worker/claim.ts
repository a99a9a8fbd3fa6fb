// Takes executions off the queue: as many as there is room for, shared fairly among tenants, oldest rank first.
import { batchExecutionsMax, runsAfterOthers } from '../domain/queue/execution.ts'
import { FairShare, type LaneShare } from '../domain/queue/fair-share.ts'
import { sharedLane } from '../domain/queue/lane.ts'
import { serverRoute, suspectHost } from '../domain/queue/route.ts'
import type { Clock } from '../ports/clock.ts'
import type { DirectDispatch, Reservation } from '../ports/direct-dispatch.ts'
import { type GraphRuns, type ParentResult, parentsPerLook } from '../ports/graph-runs.ts'
import type { Claimed, ClaimedLive, ClaimOrder, Queue } from '../ports/queue.ts'
import type { CallSigner } from './call-signer.ts'
import type { Definitions } from './definitions.ts'
import type { HeldExecution } from './held-execution.ts'
import type { InFlight } from './in-flight.ts'
import { keysOf, tenantsCalled, toHeldExecutions } from './to-held-executions.ts'

export interface ClaimDeps {
  clock: Clock
  queue: Queue
  graphRuns: Pick<GraphRuns, 'parentsOf'>
  inFlight: InFlight
  definitions: Definitions
  signer: Pick<CallSigner, 'load'>
  /** Where it may claim now. */
  routes: () => Promise<readonly string[]>
  /** Whether what it runs may kill it: then it has one in hand, at most, that may have done so. */
  isIsolated: boolean
  /** Null: no lease is held; nothing is claimed. */
  workerId: () => string | null
  /** More is due than can be fired for a while, and what is not fired is not durable yet. */
  isBackpressured: () => boolean
  /** Nothing more is claimed, and what a claim brings that was under way goes back at once. */
  isDraining: () => boolean
  /** Called when there is something new in hand. */
  onTaken: () => void
  /** Called when a claim beside the steps has left something to the next one, which may be far: room, or what must go back. */
  onLeft: () => void
}

/** The floor: a hint that was lost costs at most this. */
export const claimEveryMs = 1_000
/** Lanes and hosts looked at in one claim. */
const lanesMax = 256
const batchesMax = 100
/** Taken before anything else is looked at; of what is free, so that most of it is shared fairly. */
const singlesMax = 20
const singlesShare = 1 / 4
/** Being enqueued as ours at once: whoever claims has the rest of the room, however long those take. */
const takingMax = batchExecutionsMax
/** Looked at besides those that are believed to fit: others may hold some of them. */
const batchesSpare = 4
/** Of a lane, in hand while a herd is being fired: a batch of it, so that it is not taken apart. */
const backpressuredSizeMax = 100
/** And so often: what is called meanwhile takes its time from what is not durable yet. */
const backpressuredEveryMs = 250
/**
 * How often we look without a noteUnknownClaim: the store may get to a claim long after we gave it up and handed back what it had
 * brought by then. Nobody would run that, and its time would be over without a call.
 */
const lookAgainMs = 10_000

export class Claimer implements DirectDispatch {
  readonly #deps: ClaimDeps
  readonly #share = new FairShare()
  /**
   * Reasons why the store may think that we hold more than we know, as a claim whose answer was lost. Counted, because
   * one may come while another is being dealt with.
   */
  #unknownClaims = 0
  #isStepping = false
  /** Of this step, one at most: it takes what it finds, without a look at who else waits. */
  #mayBeside = false
  /** A step had less room than it could use because of the claim beside it. */
  #isShort = false
  /** Nothing is claimed beside the steps meanwhile: it would be handed back as something we do not know of. */
  #isReconciling = false
  /** Executions that claims under way ask for at most, and those of them that are enqueued as ours. */
  #requested = 0
  #reserved = 0
  /** Claims whose answer has come and which are not in hand yet. */
  #hydrating = 0
  /** Claims under way beside the steps. */
  #sideClaims = 0
  /** Executions in a batch, of the last that were claimed: more are not locked than will be taken. */
  #batchSize = 1
  /** When we last claimed from a herd that was being fired, on the monotonic clock. */
  #backpressuredMs = Number.NEGATIVE_INFINITY
  /** When we last looked, on the monotonic clock. */
  #lookedMs: number | null = null

  constructor(deps: ClaimDeps) {
    this.#deps = deps
  }

  /** As after everything in hand was given up: the store may still think that we hold it. */
  noteUnknownClaim(): void {
    this.#unknownClaims += 1
  }

  /** Otherwise whoever is woken now begins a step, and that begins with the shared lane. */
  get isStepping(): boolean {
    return this.#isStepping
  }

  async step(): Promise<'more' | 'idle'> {
    this.#isStepping = true
    this.#mayBeside = true
    this.#isShort = false
    try {
      return await this.#step()
    } finally {
      this.#isStepping = false
    }
  }

  /**
   * Claims in the shared lane beside a step that began before something came there: whoever enqueues little does not wait
   * until a herd's executions are in hand.
   */
  async claimSharedLane(): Promise<'more' | 'idle'> {
    const { isDraining } = this.#deps
    const workerId = this.#deps.workerId()
    if (!this.#isStepping || workerId === null || isDraining()) return 'idle'
    const routes = await this.#deps.routes()
    // Room for a whole batch: what is taken out of one costs several times as much.
    const hasRoom = this.#unasked >= batchExecutionsMax
    if (routes.length === 0 || !this.#mayBeside || this.#isReconciling || !hasRoom) return 'idle'
    this.#mayBeside = false
    const lanes = [{ lane: sharedLane, count: batchExecutionsMax }]
    const order = { workerId, routes, lanes, hosts: [], batchesMax: batchExecutionsMax, divides: false }
    return this.#besideSteps(() => this.#claim(order, { isBeside: true }))
  }

  /** For what is enqueued in this process: it is ours with the commit. */
  begin(count: number): Reservation | null {
    const { inFlight, isDraining } = this.#deps
    const workerId = this.#deps.workerId()
    if (workerId === null || isDraining() || this.#isReconciling) return null
    const room = Math.min(takingMax, inFlight.room) - this.#reserved
    if (Math.min(room, this.#unasked) < count) return null
    const { promise: answer, resolve: end } = Promise.withResolvers<Claimed | null>()
    this.#reserved += count
    const taken = this.#besideSteps(() => this.#bring(answer, { workerId, asked: count, lookedAt: null }))
    // What failed is a noteUnknownClaim by now, which the next step looks into.
    taken
      .catch(() => {})
      .finally(() => {
        this.#reserved -= count
      })
    return { workerId, route: serverRoute, end }
  }

  /** Something is being enqueued that may be ours. */
  get isTaking(): boolean {
    return this.#reserved > 0
  }

  /** Whatever it leaves to the next step, that may be far. */
  async #besideSteps(claim: () => Promise<'more' | 'idle'>): Promise<'more' | 'idle'> {
    const doubts = this.#unknownClaims
    this.#sideClaims += 1
    try {
      return await claim()
    } finally {
      this.#sideClaims -= 1
      if (this.#isShort || this.#unknownClaims > doubts || this.#isReconciling) this.#deps.onLeft()
    }
  }

  /** Room for what no claim under way has asked for yet. */
  get #unasked(): number {
    const { inFlight } = this.#deps
    return inFlight.capacity - inFlight.size - this.#requested
  }

  async #step(): Promise<'more' | 'idle'> {
    const { queue, inFlight } = this.#deps
    const workerId = this.#deps.workerId()
    if (workerId === null) {
      // After a silence the store may still have got to a claim that we had given up.
      this.noteUnknownClaim()
      return 'idle'
    }
    await this.#handBackUnknown(workerId)
    if (this.#deps.isDraining()) return 'idle'
    const free = this.#room()
    // While enough is in hand and ends fast, batches are taken as a whole or not yet: what is taken out of one costs several
    // times as much as what ends with it.
    const divides = inFlight.queued === 0 || inFlight.endedRecently < batchExecutionsMax
    if (free <= 0 || (!divides && free < batchExecutionsMax)) return 'idle'
    const routes = await this.#deps.routes()
    if (routes.length === 0) return 'idle'
    const lookedAt = Math.min(batchesMax, Math.ceil(free / this.#batchSize) + batchesSpare)
    const order = { workerId, routes, batchesMax: lookedAt, divides }
    // With nothing in hand, what woke us is most likely one that somebody has just triggered: one short question, not three.
    const singles = Math.min(singlesMax, Math.floor(free * singlesShare))
    if (inFlight.size === 0 && singles > 0) {
      const lanes = [{ lane: sharedLane, count: singles }]
      if ((await this.#claim({ ...order, lanes, hosts: [], singles: true })) === 'more') return 'more'
      if (this.#deps.workerId() !== workerId) return 'idle'
    }
    const waiting = await queue.waiting(routes, lanesMax)
    const freeNow = Math.min(free, this.#room())
    if (freeNow <= 0) return 'idle'
    const nowMs = this.#deps.clock.monotonicMs()
    // What waits for hosts has at most half while lanes wait too: each place is filled once.
    const forHostsMax = this.#deps.isBackpressured()
      ? Math.max(0, backpressuredSizeMax - inFlight.size)
      : freeNow
    let forHosts = Math.min(forHostsMax, waiting.lanes.length === 0 ? freeNow : Math.ceil(freeNow / 2))
    let left = freeNow
    const hosts = waiting.hosts.flatMap((host) => {
      const count = Math.min(forHosts, this.#roomOf(host, nowMs))
      forHosts -= count
      left -= count
      return count > 0 ? [{ host, count }] : []
    })
    const places = {
      free: left,
      capacity: inFlight.capacity,
      inFlight: (lane: string) => inFlight.inLane(lane),
    }
    const lanes = this.#holdBack(this.#share.split(waiting.lanes, places))
    if (lanes.length === 0 && hosts.length === 0) return 'idle'
    return this.#claim({ ...order, lanes, hosts })
  }

  /** For a step. */
  #room(): number {
    const { room } = this.#deps.inFlight
    this.#isShort = this.#unasked < room && this.#requested > 0
    return Math.min(room, this.#unasked)
  }

  #claim(order: ClaimOrder, { isBeside = false } = {}): Promise<'more' | 'idle'> {
    const { workerId, batchesMax } = order
    const asked = [...order.lanes, ...order.hosts].reduce((sum, { count }) => sum + count, 0)
    const lookedAt = isBeside ? null : batchesMax
    return this.#bring(this.#deps.queue.claim(order), { workerId, asked, lookedAt })
  }

  /** Takes in hand what a claim brings; null: nobody knows what it has. `lookedAt`: batches, by a step. */
  async #bring(
    answer: Promise<Claimed | null>,
    { workerId, asked, lookedAt }: { workerId: string; asked: number; lookedAt: number | null },
  ): Promise<'more' | 'idle'> {
    const { inFlight, onTaken } = this.#deps
    this.#requested += asked
    let isInFlight = false
    try {
      const claimed = await answer
      if (claimed === null) return 'idle'
      const executions = await this.#load(claimed)
      const signed = tenantsCalled(executions)
      if (signed.size > 0) await this.#deps.signer.load(signed)
      if (this.#deps.workerId() !== workerId) return 'idle'
      if (this.#deps.isDraining()) return 'more'
      if (lookedAt !== null) this.#count(claimed, lookedAt)
      inFlight.take(executions)
      isInFlight = true
      if (executions.length === 0) return 'idle'
      onTaken()
      return 'more'
    } finally {
      this.#requested -= asked
      // Its answer was lost, or nobody took what it brought.
      if (!isInFlight) this.noteUnknownClaim()
    }
  }

  /** With all that is needed to run them. */
  async #load(claimed: Claimed): Promise<HeldExecution[]> {
    const { definitions, clock, isIsolated } = this.#deps
    // Not what another claim has just loaded and not used yet.
    if (this.#hydrating === 0) definitions.prune()
    this.#hydrating += 1
    try {
      for (const { definition } of claimed.live) if (definition !== undefined) definitions.add(definition)
      await definitions.load(keysOf(claimed))
      const parents = await this.#loadParents(claimed)
      return toHeldExecutions(claimed, { claimedMs: clock.monotonicMs(), parents, definitions, isIsolated })
    } finally {
      this.#hydrating -= 1
    }
  }

  /** While a herd is being fired. Those who enqueue little are in the shared lane, and are not made to wait for it. */
  #holdBack(lanes: LaneShare[]): LaneShare[] {
    const { inFlight, isBackpressured, clock } = this.#deps
    if (!isBackpressured()) return lanes
    const nowMs = clock.monotonicMs()
    const isTurn = nowMs - this.#backpressuredMs >= backpressuredEveryMs
    if (isTurn) this.#backpressuredMs = nowMs
    return lanes.flatMap(({ lane, count }) => {
      if (lane === sharedLane) return [{ lane, count }]
      const least = isTurn ? Math.min(count, backpressuredSizeMax - inFlight.inLane(lane)) : 0
      return least > 0 ? [{ lane, count: least }] : []
    })
  }

  async #handBackUnknown(workerId: string): Promise<void> {
    const { queue, inFlight, clock } = this.#deps
    const nowMs = clock.monotonicMs()
    const doubts = this.#unknownClaims
    this.#lookedMs ??= nowMs
    if (doubts === 0 && nowMs - this.#lookedMs < lookAgainMs) return
    this.#isReconciling = true
    // What they bring is not known yet. None begins meanwhile, and when the last is over a step follows.
    if (this.#sideClaims > 0) return
    try {
      await queue.releaseUnknown(workerId, inFlight.known())
    } finally {
      this.#isReconciling = false
    }
    this.#lookedMs = nowMs
    this.#unknownClaims -= doubts
  }

  #roomOf(host: string, nowMs: number): number {
    const { inFlight, isIsolated } = this.#deps
    if (isIsolated && host === suspectHost) return inFlight.suspects === 0 ? 1 : 0
    return inFlight.gate.room(host, nowMs)
  }

  #count({ batches, live }: Claimed, lookedAt: number): void {
    const byLane = new Map<string, { batches: number; executions: number }>()
    for (const { lane, positions } of batches) {
      const so = byLane.get(lane) ?? { batches: 0, executions: 0 }
      byLane.set(lane, { batches: so.batches + 1, executions: so.executions + positions.length })
    }
    // A few small ones say nothing of the others: with a herd behind them, far too many would be locked ([m] 45 ms, not 8).
    for (const { batches: count, executions } of byLane.values())
      if (executions >= batchExecutionsMax || count >= lookedAt) this.#batchSize = executions / count
    for (const { lane, positions } of batches) this.#share.count(lane, positions.length)
    for (const { lane } of live) this.#share.count(lane, 1)
  }

  /** What runs after others is not run without what came of them: when this fails, the claim counts as lost. */
  async #loadParents({ live }: Claimed): Promise<Map<string, ParentResult[]>> {
    const ids = live.filter((one) => this.#isGivenParents(one)).map(({ executionId }) => executionId)
    const parents = new Map<string, ParentResult[]>()
    for (let at = 0; at < ids.length; at += parentsPerLook) {
      const found = await this.#deps.graphRuns.parentsOf(ids.slice(at, at + parentsPerLook))
      for (const [id, list] of found) parents.set(id, list)
    }
    return parents
  }

  /** The targets of HTTP calls and shell commands ask for them over the API. */
  #isGivenParents(one: ClaimedLive): boolean {
    if (!runsAfterOthers(one)) return false
    const { executor } = this.#deps.definitions.get(one.jobId, one.version)!
    return executor === 'worker' || executor === 'artifact'
  }
}

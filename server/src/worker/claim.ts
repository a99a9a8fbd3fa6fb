// The claim loop: takes executions off the queue, as many as there is room for, shared fairly among tenants, the oldest
// rank first. Its parts: `ClaimReservations` counts the room that claims under way may fill, `ClaimIntake` puts their
// executions in flight, `UnknownClaims` releases claims with a lost answer, `WorkerDirectDispatch` claims on insert,
// `ClaimSpread` leaves executions to other workers that hold less.
//
// States: idle, or in a pass (`claimOnce`). A pass releases unknown claims, queries the lanes and hosts that have work,
// divides the room among them and claims. While a pass waits for the store, at most one side claim may run in the
// shared lane (`claimSharedLane`), so that a quiet tenant does not wait until a herd's executions are in flight.
//
// Invariants: nothing is claimed without a lease or while the worker drains; a pass asks for no more than the room that
// no claim under way has asked for, and of the lane of a tenant for no more than the tenant's share (`WorkerShares`) and
// than its tier lets run at once (`ConcurrencyLimits`);
// executions of hosts have at most half of the room while lanes wait too; while the scheduler in this process has a herd
// to fire, lanes other than the shared one are claimed from only now and then, at most a batch at a time.

import { callKeyOf } from '../domain/queue/call-rates.ts'
import { batchExecutionsMax } from '../domain/queue/execution.ts'
import { FairShare, type LaneShare, type LaneWeight } from '../domain/queue/fair-share.ts'
import { tenantOfKey } from '../domain/queue/host-gate.ts'
import { sharedLane } from '../domain/queue/lane.ts'
import { suspectHost } from '../domain/queue/route.ts'
import type { Clock } from '../ports/clock.ts'
import type { DirectDispatch } from '../ports/direct-dispatch.ts'
import type { Claimed, ClaimOrder, Queue } from '../ports/queue.ts'
import { ClaimIntake, type IntakeDeps } from './claim-intake.ts'
import { ClaimReservations } from './claim-reservations.ts'
import { ClaimSpread, type SpreadDeps, yieldLookMs } from './claim-spread.ts'
import { WorkerDirectDispatch } from './direct-dispatch.ts'
import type { InFlight } from './in-flight.ts'
import { SideClaims, type SideClaimsDeps } from './side-claims.ts'
import { UnknownClaims } from './unknown-claims.ts'

export interface ClaimDeps extends IntakeDeps, SideClaimsDeps, Pick<SpreadDeps, 'peers'> {
  clock: Clock
  queue: Queue
  inFlight: InFlight
  /** The routes to claim from now. */
  routes: () => Promise<readonly string[]>
  /** The scheduler of this process has more due than it can fire for a while, and an unfired slot is not durable yet. */
  isBackpressured: () => boolean
}

/** The longest wait between two passes: a lost wake-up costs at most this. */
export const claimEveryMs = 1_000
/** Lanes and hosts looked at in one claim. */
const lanesMax = 256
const batchesMax = 100
/** Single executions claimed before anything else is looked at: a part of the room, so that most of it is shared fairly. */
const singlesMax = 20
const singlesShare = 1 / 4
/** Batches looked at besides the ones that are believed to fit: others may hold some of them. */
const batchesSpare = 4
/** Executions of a lane in flight while a herd is being fired, at most: one batch, so that it stays whole. */
const backpressuredSizeMax = batchExecutionsMax
/** How often a lane is claimed from while a herd is being fired: calls take their time from slots that are not durable yet. */
const backpressuredEveryMs = 250

export class Claimer {
  readonly #deps: ClaimDeps
  readonly #share = new FairShare()
  readonly #reservations = new ClaimReservations()
  readonly #unknownClaims: UnknownClaims
  readonly #intake: ClaimIntake
  readonly #sideClaims: SideClaims
  readonly #spread: ClaimSpread
  readonly directDispatch: DirectDispatch
  #isClaiming = false
  /** One side claim a pass, since it does not check which other lanes wait. */
  #mayClaimSharedLane = false
  /** Executions in a batch, by the last claims: no more batches are locked than will be claimed. */
  #batchSize = 1
  /** When we last claimed from a herd that was being fired, on the monotonic clock. */
  #backpressuredMs = Number.NEGATIVE_INFINITY

  constructor(deps: ClaimDeps) {
    const reservations = this.#reservations
    const unknownClaims = new UnknownClaims(deps, reservations)
    const intake = new ClaimIntake(deps, reservations, unknownClaims)
    const sideClaims = new SideClaims(deps, reservations, unknownClaims)
    this.#deps = deps
    this.#unknownClaims = unknownClaims
    this.#intake = intake
    this.#sideClaims = sideClaims
    this.#spread = new ClaimSpread(deps, reservations)
    const parts = { reservations, unknownClaims, intake, sideClaims, spread: this.#spread }
    this.directDispatch = new WorkerDirectDispatch(deps, parts)
  }

  /** The store may hold executions for us that we do not know of, as after everything in flight was abandoned. */
  noteUnknownClaim(): void {
    this.#unknownClaims.note()
  }

  /** Whether a pass is under way. If not, a wake-up starts one, which begins with the shared lane. */
  get isClaiming(): boolean {
    return this.#isClaiming
  }

  /** Whether an execution is being enqueued for this worker. */
  get hasReservations(): boolean {
    return this.#reservations.reserved > 0
  }

  /** Lists the workers that could claim the same executions. A step for a Loop. */
  async watchPeers(): Promise<'idle'> {
    await this.#spread.watchPeers()
    this.#deps.tenantLimits.setGroup(this.#deps.workerId(), this.#spread.peers)
    return 'idle'
  }

  /** One pass. A step for a Loop. */
  async claimOnce(): Promise<'more' | 'idle' | number> {
    this.#isClaiming = true
    this.#mayClaimSharedLane = true
    this.#sideClaims.setLoopShort(false)
    try {
      return await this.#claimOnce()
    } finally {
      this.#isClaiming = false
    }
  }

  /** A side claim in the shared lane, for work enqueued there after the current pass began. */
  async claimSharedLane(): Promise<'more' | 'idle'> {
    const { inFlight, isDraining } = this.#deps
    const workerId = this.#deps.workerId()
    if (!this.#isClaiming || workerId === null || isDraining()) return 'idle'
    const routes = await this.#deps.routes()
    // Room for a whole batch: an execution that leaves its batch costs several times as much.
    const hasRoom = this.#reservations.unrequested(inFlight) >= batchExecutionsMax
    const mayClaim = this.#mayClaimSharedLane && !this.#unknownClaims.isReconciling
    const count = Math.min(batchExecutionsMax, this.#spread.unmeasuredShare)
    if (routes.length === 0 || !mayClaim || !hasRoom || count === 0) return 'idle'
    this.#mayClaimSharedLane = false
    const lanes = [{ lane: sharedLane, count }]
    const order = { workerId, routes, lanes, hosts: [], batchesMax: batchExecutionsMax, divides: false }
    return this.#sideClaims.run(() => {
      const requested = countOf(order)
      return this.#intake.admit(this.#deps.queue.claim(order), { workerId, requested })
    })
  }

  async #claimOnce(): Promise<'more' | 'idle' | number> {
    const { queue, inFlight } = this.#deps
    const workerId = this.#deps.workerId()
    if (workerId === null) {
      // After a silence the store may still carry out a claim that we had given up.
      this.noteUnknownClaim()
      return 'idle'
    }
    await this.#unknownClaims.releaseUnknown(workerId)
    if (this.#deps.isDraining()) return 'idle'
    const free = this.#measureFree()
    // While enough is in flight and ends fast, batches are claimed as a whole or not yet: an execution that is taken out
    // of a batch costs several times as much as one that ends with it.
    const divides = inFlight.queued === 0 || inFlight.measureEndedRecently() < batchExecutionsMax
    if (free <= 0 || (!divides && free < batchExecutionsMax)) return 'idle'
    const routes = await this.#deps.routes()
    if (routes.length === 0) return 'idle'
    const lookedAt = Math.min(batchesMax, Math.ceil(free / this.#batchSize) + batchesSpare)
    const order = { workerId, routes, batchesMax: lookedAt, divides }
    // With nothing in flight a single trigger most likely woke us: one short query instead of three.
    const singles = Math.min(singlesMax, Math.floor(free * singlesShare), this.#spread.unmeasuredShare)
    if (inFlight.size === 0 && singles > 0) {
      const lanes = [{ lane: sharedLane, count: singles }]
      if ((await this.#claim({ ...order, lanes, hosts: [], singles: true })) === 'more') return 'more'
      if (this.#deps.workerId() !== workerId) return 'idle'
    }
    const { tenantLimits } = this.#deps
    const { rates } = tenantLimits
    const askedMs = this.#deps.clock.monotonicMs()
    const waiting = await queue.waiting(routes, lanesMax)
    rates.see(waiting.hosts, askedMs)
    await tenantLimits.look(
      waiting.lanes.map(({ lane }) => lane),
      askedMs,
    )
    const open = this.#openLanes(waiting.lanes)
    // Right before the claim: a claim on insert in the meantime would come on top of it.
    const share = open.length === 0 ? this.#spread.endYield() : await this.#spread.measureShare(routes)
    const freeNow = Math.min(free, this.#measureFree())
    if (freeNow <= 0) return 'idle'
    const nowMs = this.#deps.clock.monotonicMs()
    // Executions that wait for hosts have at most half of the room while lanes wait too.
    const forHostsMax = this.#deps.isBackpressured()
      ? Math.max(0, backpressuredSizeMax - inFlight.size)
      : freeNow
    let forHosts = Math.min(forHostsMax, open.length === 0 ? freeNow : Math.ceil(freeNow / 2))
    let left = freeNow
    const shares = inFlight.measureShares(freeNow)
    const forHostsOf = new Map<string, number>()
    const hosts = waiting.hosts.flatMap((host) => {
      const tenantId = tenantOfKey(host)
      const tenantRoom = tenantId === null ? forHosts : (shares?.roomOf(tenantId) ?? forHosts)
      const limitRoom = tenantId === null ? forHosts : this.#limitRoomOf(tenantId, forHostsOf)
      const count = Math.min(forHosts, tenantRoom, limitRoom, this.#roomOf(host, nowMs))
      if (tenantId !== null) {
        shares?.take(tenantId, count)
        forHostsOf.set(tenantId, (forHostsOf.get(tenantId) ?? 0) + count)
      }
      if (count > 0) rates.grant(callKeyOf(host), count, nowMs)
      forHosts -= count
      left -= count
      return count > 0 ? [{ host, count }] : []
    })
    const room = {
      free: Math.min(left, share),
      capacity: inFlight.capacity,
      inFlight: (lane: string) => inFlight.tenants.inFlight(lane),
      shares,
    }
    const divided = share === 0 ? [] : this.#holdBack(this.#share.split(open, room))
    const lanes = this.#fitToLimits(divided, forHostsOf)
    const claim = () => this.#claim({ ...order, lanes, hosts }).finally(() => rates.endGrants())
    const claimed = lanes.length + hosts.length === 0 ? 'idle' : await claim()
    return claimed === 'idle' && this.#spread.isYielding ? yieldLookMs : claimed
  }

  /** Room for a pass. Notes whether claims under way leave it less than it could use. */
  #measureFree(): number {
    const { inFlight } = this.#deps
    const room = inFlight.measureRoom()
    const unrequested = this.#reservations.unrequested(inFlight)
    this.#sideClaims.setLoopShort(unrequested < room && this.#reservations.requested > 0)
    return Math.min(room, unrequested)
  }

  /** The claim of a pass. */
  #claim(order: ClaimOrder): Promise<'more' | 'idle'> {
    return this.#intake.admit(this.#deps.queue.claim(order), {
      workerId: order.workerId,
      requested: countOf(order),
      onAdmitted: (claimed) => this.#countServed(claimed, order.batchesMax),
    })
  }

  /** While a herd is being fired. Tenants that enqueue little are in the shared lane, and do not wait for the herd. */
  #holdBack(lanes: LaneShare[]): LaneShare[] {
    const { inFlight, isBackpressured, clock } = this.#deps
    if (!isBackpressured()) return lanes
    const nowMs = clock.monotonicMs()
    const isTurn = nowMs - this.#backpressuredMs >= backpressuredEveryMs
    if (isTurn) this.#backpressuredMs = nowMs
    return lanes.flatMap(({ lane, count }) => {
      if (lane === sharedLane) return [{ lane, count }]
      const least = isTurn ? Math.min(count, backpressuredSizeMax - inFlight.tenants.inFlight(lane)) : 0
      return least > 0 ? [{ lane, count: least }] : []
    })
  }

  /** Without the lanes of tenants that run as many executions as they may. */
  #openLanes(lanes: readonly LaneWeight[]): readonly LaneWeight[] {
    const { concurrency } = this.#deps.tenantLimits
    if (!concurrency.isLimited) return lanes
    const nowMs = this.#deps.clock.monotonicMs()
    return lanes.filter(({ lane }) => {
      if (this.#limitRoomOf(lane) > 0) return true
      concurrency.fallBehind(lane, nowMs)
      return false
    })
  }

  /** `taken`: places of this claim that go to executions of other lanes, by tenant. */
  #fitToLimits(lanes: readonly LaneShare[], taken: ReadonlyMap<string, number>): readonly LaneShare[] {
    if (!this.#deps.tenantLimits.concurrency.isLimited) return lanes
    return lanes.flatMap(({ lane, count }) => {
      const fitting = Math.min(count, this.#limitRoomOf(lane, taken))
      return fitting > 0 ? [{ lane, count: fitting }] : []
    })
  }

  #limitRoomOf(tenantId: string, taken?: ReadonlyMap<string, number>): number {
    const { inFlight, tenantLimits } = this.#deps
    const inUse = inFlight.tenants.inFlight(tenantId) + (taken?.get(tenantId) ?? 0)
    return tenantLimits.concurrency.roomOf(tenantId, inUse)
  }

  #roomOf(host: string, nowMs: number): number {
    const { inFlight, isIsolated, tenantLimits } = this.#deps
    if (isIsolated && host === suspectHost) return inFlight.suspects === 0 ? 1 : 0
    const name = callKeyOf(host)
    return Math.min(inFlight.gate.room(name, nowMs), tenantLimits.rates.room(name, nowMs))
  }

  /** Remembers how large batches are, and which lanes were served. `lookedAt`: batches that the claim could bring. */
  #countServed({ batches, live }: Claimed, lookedAt: number): void {
    const byLane = new Map<string, { batches: number; executions: number }>()
    for (const { lane, positions } of batches) {
      const sums = byLane.get(lane) ?? { batches: 0, executions: 0 }
      byLane.set(lane, { batches: sums.batches + 1, executions: sums.executions + positions.length })
    }
    // Two or three small batches say nothing of a herd behind them: far too many would be locked ([m] 45 ms, not 8).
    for (const { batches: count, executions } of byLane.values())
      if (executions >= batchExecutionsMax || count >= lookedAt) this.#batchSize = executions / count
    for (const { lane, positions } of batches) this.#share.count(lane, positions.length)
    for (const { lane } of live) this.#share.count(lane, 1)
  }
}

/** Executions that a claim may bring, at most. */
function countOf({ lanes, hosts }: Pick<ClaimOrder, 'lanes' | 'hosts'>): number {
  return [...lanes, ...hosts].reduce((sum, { count }) => sum + count, 0)
}

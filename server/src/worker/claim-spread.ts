// Spreads executions over the workers that could run them: says how many this worker may claim now. Other workers like
// it are its peers; without peers there is no bound, and nothing is asked.
//
// States: alone (no peers are known), sharing (claims are bounded by a share), yielding (others hold less, and the
// waiting executions are left to them). A yield ends when nothing waits or there is a share again. After `yieldMsMax`
// the peers count as unable to claim, and for `aloneMs` the worker claims as if it were alone: a dead peer costs one
// yield.
// Invariants: executions wait no longer than `yieldMsMax` for others; while many calls end fast nothing is bounded or
// asked. The share is only the number that a claim asks for: the store decides.
import { batchExecutionsMax } from '../domain/queue/execution.ts'
import { directMaxOf, shareOf, unspreadMax } from '../domain/queue/spread.ts'
import type { Clock } from '../ports/clock.ts'
import type { Peers } from '../ports/peers.ts'
import type { ClaimReservations } from './claim-reservations.ts'
import type { InFlight } from './in-flight.ts'

export interface SpreadDeps {
  clock: Pick<Clock, 'monotonicMs'>
  peers: Peers
  inFlight: Pick<InFlight, 'size' | 'measureLasting' | 'measureEndedRecently'>
  workerId: () => string | null
}

/** How often the peers are listed: a worker that comes or goes is noticed after this time. */
export const watchPeersEveryMs = 3_000
/** How long executions are left to workers that hold less: as long as the poll that finds work without a hint. */
export const yieldMsMax = 1_000
/** When a worker that yields looks again. */
export const yieldLookMs = 50
/** For how long a worker claims as if it were alone after peers have left executions waiting. */
const aloneMs = 10_000
/** A measured load is out of date after this time. */
const loadMsMax = 2_000

export class ClaimSpread {
  readonly #deps: SpreadDeps
  readonly #reservations: ClaimReservations
  #peers: readonly string[] = []
  /** Up to how many executions may be claimed on insert, by the load measured at `#measuredMs`. */
  #directMax = unspreadMax
  #measuredMs = Number.NEGATIVE_INFINITY
  /** Since when executions are left to others; null: they are not. */
  #yieldingSinceMs: number | null = null
  #aloneUntilMs = Number.NEGATIVE_INFINITY

  constructor(deps: SpreadDeps, reservations: ClaimReservations) {
    this.#deps = deps
    this.#reservations = reservations
  }

  /** Lists the peers. A step for a Loop. */
  async watchPeers(): Promise<'idle'> {
    const workerId = this.#deps.workerId()
    this.#peers = workerId === null ? [] : await this.#deps.peers.find(workerId)
    return 'idle'
  }

  /** The other workers like this one, as listed last, by id; up to `peersMax`. */
  get peers(): readonly string[] {
    return this.#peers
  }

  /** Whether executions are being left to others. */
  get isYielding(): boolean {
    return this.#yieldingSinceMs !== null
  }

  /** There is nothing to leave to others: claims are not bounded. */
  endYield(): number {
    this.#yieldingSinceMs = null
    return Number.POSITIVE_INFINITY
  }

  /** How many more executions may be claimed, by a look at the peers. */
  async measureShare(routes: readonly string[]): Promise<number> {
    if (!this.#isSharing()) return this.endYield()
    const load = await this.#deps.peers.measure(this.#peers, routes)
    const nowMs = this.#deps.clock.monotonicMs()
    const own = this.#deps.inFlight.size + this.#reservations.requested
    this.#directMax = directMaxOf(own, load)
    this.#measuredMs = nowMs
    const share = shareOf(own, load)
    if (share > 0 || load.waiting === 0) {
      this.#yieldingSinceMs = null
      return share
    }
    this.#yieldingSinceMs ??= nowMs
    if (nowMs - this.#yieldingSinceMs < yieldMsMax) return 0
    this.#aloneUntilMs = nowMs + aloneMs
    return this.endYield()
  }

  /** How many more executions may be claimed without a look at the peers. */
  get unmeasuredShare(): number {
    if (!this.#isSharing()) return Number.POSITIVE_INFINITY
    const isRecent = this.#deps.clock.monotonicMs() - this.#measuredMs < loadMsMax
    const max = isRecent ? this.#directMax : unspreadMax
    const { requested, reserved } = this.#reservations
    const { inFlight } = this.#deps
    // A claim under way may bring nothing: an idle worker always takes the execution of a trigger.
    const least = inFlight.size + reserved === 0 ? 1 : 0
    return Math.max(least, max - requested - inFlight.measureLasting(max))
  }

  #isSharing(): boolean {
    if (this.#peers.length === 0 || this.#deps.clock.monotonicMs() < this.#aloneUntilMs) return false
    return this.#deps.inFlight.measureEndedRecently() < batchExecutionsMax
  }
}

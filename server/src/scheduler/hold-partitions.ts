// A scheduler's share of the partitions: it joins, beats, takes free partitions, releases the ones beyond its share, and
// expels schedulers that went silent. A scheduler that does not know the database's time well enough leaves, so that others
// fire the slots of its partitions in time. Leases are for liveness only: a slot fires once, however partitions are held.
import { LeaseWatch } from '../domain/queue/lease-watch.ts'
import { planShare, uncertaintyMsMax } from '../domain/scheduling/partition-share.ts'
import type { Clock } from '../ports/clock.ts'
import type { Ids } from '../ports/ids.ts'
import type { Partitions } from '../ports/partitions.ts'
import { clockLost, clockRegained, partitionsChanged, schedulerExpelled } from '../telemetry/events.ts'

export interface PartitionDeps {
  clock: Pick<Clock, 'monotonicMs' | 'uncertaintyMs'>
  ids: Ids
  partitions: Partitions
  /** On a connection of its own: a pool that is all in use must not cost the lease. */
  lease: Pick<Partitions, 'join' | 'beat' | 'leave'>
  /** Called with the partitions that are held, after every change of them. */
  onHeld: (partitionIds: readonly number[]) => void
}

export const schedulerBeatMs = 2_000
export const shareEveryMs = 1_000
const schedulerLeaseMs = 6_000

export class PartitionLease {
  readonly #deps: PartitionDeps
  readonly #watch = new LeaseWatch({ termMs: schedulerLeaseMs, lookMsMax: 3 * shareEveryMs })
  #schedulerId: string
  #joined = false
  /** The id under which we left, while the database may not know yet; null: none. */
  #leaving: string | null = null
  #clockIsLost = false
  #isOver = false
  /** When the last beat that was answered had been sent. */
  #beatMs = Number.NEGATIVE_INFINITY
  #held = new Set<number>()

  constructor(deps: PartitionDeps) {
    this.#deps = deps
    this.#schedulerId = deps.ids.next()
  }

  /** One beat; the first one joins. A step for a Loop. */
  async beat(): Promise<'idle' | 'more'> {
    const { lease, clock } = this.#deps
    if ((await this.#checkClock()) || this.#isOver) return 'idle'
    const self = this.#schedulerId
    if (!this.#joined) {
      await lease.join(self)
      this.#joined = true
    }
    if (this.#isOver) {
      await this.leave()
      return 'idle'
    }
    const sentMs = clock.monotonicMs()
    const held = await lease.beat(self)
    if (self !== this.#schedulerId) return 'idle'
    if (held === 'held') {
      this.#beatMs = sentMs
      return 'idle'
    }
    this.#startAnew()
    return 'more'
  }

  /** 'ok', or why others may take its partitions. A scheduler may have no partition and be well: others hold them all. */
  check(): string {
    if (this.#beatMs === Number.NEGATIVE_INFINITY) return 'not joined: it holds no partitions'
    const silentMs = this.#deps.clock.monotonicMs() - this.#beatMs
    return silentMs < schedulerLeaseMs ? 'ok' : `lease last renewed ${Math.round(silentMs / 1_000)} s ago`
  }

  /** One look at the holders of all partitions. A step for a Loop. */
  async share(): Promise<'idle' | 'more'> {
    const { clock, partitions } = this.#deps
    if ((await this.#checkClock()) || !this.#joined || this.#isOver) return 'idle'
    const self = this.#schedulerId
    const view = await partitions.view()
    let more: 'idle' | 'more' = 'idle'
    for (const silence of this.#watch.look(view.schedulers, clock.monotonicMs())) {
      if (silence.holderId === self || (await partitions.expel(silence)) === 'alive') continue
      schedulerExpelled.emit({ schedulerId: silence.holderId, silentMs: silence.silentMs })
      // Its partitions are free now, and wait for the next look.
      more = 'more'
    }
    const schedulers = view.schedulers.map(({ holderId }) => holderId)
    const { take, release } = planShare(self, { schedulers, holders: view.holders })
    const mine = view.holders.flatMap((holder, id) => (holder === self && !release.includes(id) ? [id] : []))
    // Meanwhile a beat may have found us expelled, or our clock bad: then these partitions are another scheduler's.
    if (self !== this.#schedulerId || this.#isOver) return more
    // Released here before they are free for others: the due queue must not fire jobs of their partitions.
    this.#hold(mine)
    await partitions.release(self, release)
    const taken = await partitions.take(self, take)
    if (taken.length > 0 && self === this.#schedulerId && !this.#isOver) this.#hold([...mine, ...taken])
    return more
  }

  /** Releases every partition permanently: other schedulers take them at their next look. Repeat it if it fails. */
  async leave(): Promise<void> {
    const { lease } = this.#deps
    this.#isOver = true
    this.#hold([])
    if (this.#leaving !== null) await lease.leave(this.#leaving)
    if (this.#joined) await lease.leave(this.#schedulerId)
    this.#leaving = null
    this.#joined = false
  }

  /** Whether the estimate of the database's clock is too bad to hold partitions; then we leave. */
  async #checkClock(): Promise<boolean> {
    const uncertaintyMs = this.#deps.clock.uncertaintyMs()
    const isLost = uncertaintyMs > uncertaintyMsMax
    if (isLost && !this.#clockIsLost) clockLost.emit({ schedulerId: this.#schedulerId, uncertaintyMs })
    if (!isLost && this.#clockIsLost) clockRegained.emit({ uncertaintyMs })
    this.#clockIsLost = isLost
    if (isLost && this.#joined) {
      // Others must not count on us: partitions of our share would be held by no scheduler.
      this.#leaving = this.#schedulerId
      this.#startAnew()
    }
    const leaving = this.#leaving
    if (leaving === null) return isLost
    await this.#deps.lease.leave(leaving)
    if (this.#leaving === leaving) this.#leaving = null
    return isLost
  }

  #startAnew(): void {
    this.#hold([])
    this.#schedulerId = this.#deps.ids.next()
    this.#joined = false
    this.#beatMs = Number.NEGATIVE_INFINITY
  }

  #hold(partitionIds: readonly number[]): void {
    const same = partitionIds.length === this.#held.size && partitionIds.every((id) => this.#held.has(id))
    if (same) return
    this.#held = new Set(partitionIds)
    partitionsChanged.emit({ schedulerId: this.#schedulerId, held: partitionIds.length })
    this.#deps.onHeld(partitionIds)
  }
}

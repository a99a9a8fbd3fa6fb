// A scheduler's share of the partitions: joins, beats, takes what is free, gives up what is too much, and expels
// schedulers that went silent. Leases are for liveness only; a slot fires once whoever holds what.
import { LeaseWatch } from '../domain/lease-watch.ts'
import { planShare } from '../domain/partition-share.ts'
import type { Clock } from '../ports/clock.ts'
import type { Ids } from '../ports/ids.ts'
import type { Partitions } from '../ports/partitions.ts'
import { partitionsChanged, schedulerExpelled } from '../telemetry/events.ts'

export interface PartitionDeps {
  clock: Pick<Clock, 'monotonicMs'>
  ids: Ids
  partitions: Partitions
  /** On a connection of its own: a pool that is all in use must not cost the lease. */
  lease: Pick<Partitions, 'join' | 'beat' | 'leave'>
  /** Told of every change of what is held. */
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
  #held = new Set<number>()

  constructor(deps: PartitionDeps) {
    this.#deps = deps
    this.#schedulerId = deps.ids.next()
  }

  /** One beat; the first one joins. A step for a Loop. */
  async beat(): Promise<'idle' | 'more'> {
    const { lease, ids } = this.#deps
    if (!this.#joined) {
      await lease.join(this.#schedulerId)
      this.#joined = true
    }
    if ((await lease.beat(this.#schedulerId)) === 'held') return 'idle'
    this.#schedulerId = ids.next()
    this.#joined = false
    this.#hold([])
    return 'more'
  }

  /** One look at who holds what. A step for a Loop. */
  async share(): Promise<'idle'> {
    const { clock, partitions } = this.#deps
    if (!this.#joined) return 'idle'
    const self = this.#schedulerId
    const view = await partitions.view()
    for (const silence of this.#watch.look(view.schedulers, clock.monotonicMs())) {
      if (silence.workerId === self || (await partitions.expel(silence)) === 'alive') continue
      schedulerExpelled.emit({ schedulerId: silence.workerId, silentMs: silence.silentMs })
    }
    const schedulers = view.schedulers.map(({ workerId }) => workerId)
    const { take, release } = planShare(self, { schedulers, holders: view.holders })
    const mine = view.holders.flatMap((holder, id) => (holder === self && !release.includes(id) ? [id] : []))
    // Meanwhile a beat may have found us expelled: what we looked at is another scheduler's.
    if (self !== this.#schedulerId) return 'idle'
    // Given up here before it is free for others: the wheel must not fire what is theirs.
    this.#hold(mine)
    await partitions.release(self, release)
    const taken = await partitions.take(self, take)
    if (taken.length > 0 && self === this.#schedulerId) this.#hold([...mine, ...taken])
    return 'idle'
  }

  async leave(): Promise<void> {
    if (this.#joined) await this.#deps.lease.leave(this.#schedulerId)
    this.#joined = false
  }

  #hold(partitionIds: readonly number[]): void {
    const same = partitionIds.length === this.#held.size && partitionIds.every((id) => this.#held.has(id))
    if (same) return
    this.#held = new Set(partitionIds)
    partitionsChanged.emit({ schedulerId: this.#schedulerId, held: partitionIds.length })
    this.#deps.onHeld(partitionIds)
  }
}

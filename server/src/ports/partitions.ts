// Which scheduler fires the jobs of which partition. A lease for liveness only: the unique slot decides.
import type { Beat } from '../domain/queue/lease-watch.ts'

export interface Partitions {
  /** Safe to repeat with the same id, as after a lost reply. */
  join(schedulerId: string): Promise<void>
  /** 'lost': others have declared this scheduler dead; it must join again under a new id. */
  beat(schedulerId: string): Promise<'held' | 'lost'>
  /** Gives everything back at once. */
  leave(schedulerId: string): Promise<void>
  view(): Promise<PartitionView>
  /** Takes partitions that no scheduler holds; returns the taken ones. */
  take(schedulerId: string, partitionIds: readonly number[]): Promise<number[]>
  release(schedulerId: string, partitionIds: readonly number[]): Promise<void>
  /** Ends a scheduler's lease if its counter is still the one that was seen. */
  expel(lease: Beat): Promise<'expelled' | 'alive'>
}

export interface PartitionView {
  schedulers: Beat[]
  /** By partition: its holder, or null. */
  holders: (string | null)[]
}

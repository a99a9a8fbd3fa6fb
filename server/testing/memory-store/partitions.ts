// Which scheduler holds which partition, in memory.
import type { Beat } from '../../src/domain/queue/lease-watch.ts'
import type { Partitions, PartitionView } from '../../src/ports/partitions.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

export class MemoryPartitions implements Partitions {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async join(schedulerId: string): Promise<void> {
    const { schedulers } = this.#store
    if (!schedulers.has(schedulerId)) schedulers.set(schedulerId, 0)
  }

  async beat(schedulerId: string): Promise<'held' | 'lost'> {
    const beats = this.#store.schedulers.get(schedulerId)
    if (beats === undefined) return 'lost'
    this.#store.schedulers.set(schedulerId, beats + 1)
    return 'held'
  }

  async leave(schedulerId: string): Promise<void> {
    this.#remove(schedulerId)
  }

  async view(): Promise<PartitionView> {
    const schedulers = [...this.#store.schedulers].map(([holderId, beats]) => ({ holderId, beats }))
    return {
      schedulers: schedulers.toSorted((a, b) => compareText(a.holderId, b.holderId)),
      holders: [...this.#store.holders],
    }
  }

  async take(schedulerId: string, partitionIds: readonly number[]): Promise<number[]> {
    const { holders, schedulers } = this.#store
    const free = [...new Set(partitionIds)].filter((id) => holders[id] === null).toSorted((a, b) => a - b)
    // As PostgreSQL's foreign key has it.
    if (free.length > 0 && !schedulers.has(schedulerId))
      throw new Error(`scheduler ${schedulerId} has not joined`)
    for (const id of free) holders[id] = schedulerId
    return free
  }

  async release(schedulerId: string, partitionIds: readonly number[]): Promise<void> {
    const { holders } = this.#store
    for (const id of partitionIds) if (holders[id] === schedulerId) holders[id] = null
  }

  async expel({ holderId, beats }: Beat): Promise<'expelled' | 'alive'> {
    if (this.#store.schedulers.get(holderId) !== beats) return 'alive'
    this.#remove(holderId)
    return 'expelled'
  }

  #remove(schedulerId: string): void {
    const { holders, schedulers } = this.#store
    schedulers.delete(schedulerId)
    for (const [id, holder] of holders.entries()) if (holder === schedulerId) holders[id] = null
  }
}

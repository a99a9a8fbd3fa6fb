// Every stored port on one in-memory state, for simulation and for tests of the edge.
import type { Clock } from '../../ports/clock.ts'
import { MemoryDeadLetters } from './dead-letters.ts'
import { MemoryHistory } from './history.ts'
import { MemoryJobs } from './jobs.ts'
import { MemoryPartitions } from './partitions.ts'
import { MemoryQueue } from './queue.ts'
import { MemorySlots } from './slots.ts'
import { MemoryStore } from './store.ts'
import { MemoryUpkeep } from './upkeep.ts'
import { MemoryWorkers } from './workers.ts'

export function createMemoryStore(clock: Pick<Clock, 'databaseNow'>) {
  const store = new MemoryStore(clock)
  const workers = new MemoryWorkers(store)
  return {
    /** The tables themselves: to count what was recorded, or to give a tenant another weight. */
    store,
    jobs: new MemoryJobs(store),
    slots: new MemorySlots(store),
    queue: new MemoryQueue(store),
    upkeep: new MemoryUpkeep(store),
    leases: workers,
    workers,
    partitions: new MemoryPartitions(store),
    history: new MemoryHistory(store),
    deadLetters: new MemoryDeadLetters(store),
  }
}

// Partitions and their schedulers: each scheduler has a letter and a colour, the same everywhere on the page.
import type { PartitionList } from '@carillon/contract/partition.ts'

export interface Holder {
  schedulerId: string
  /** A, B, …, Z, AA, … */
  letter: string
  /** 1 to 8, and from the beginning again. */
  colour: number
  partitions: number
}

const colours = 8

export function holdersOf({
  schedulers,
  partitions,
}: Pick<PartitionList, 'partitions' | 'schedulers'>): Map<string, Holder> {
  const ids = new Set([
    ...schedulers.map(({ scheduler_id }) => scheduler_id),
    ...partitions.map(({ scheduler_id }) => scheduler_id).filter((id) => id !== null),
  ])
  return new Map(
    [...ids].toSorted().map((schedulerId, index) => [
      schedulerId,
      {
        schedulerId,
        letter: letterOf(index),
        colour: (index % colours) + 1,
        partitions: partitions.filter(({ scheduler_id }) => scheduler_id === schedulerId).length,
      },
    ]),
  )
}

/** The lease of a worker: it is dead this long after its last heartbeat. */
const workerLeaseMs = 10_000

export function leaseLeftMs(lastHeartbeat: string, nowMs: number): number {
  return Math.max(0, Date.parse(lastHeartbeat) + workerLeaseMs - nowMs)
}

function letterOf(index: number): string {
  const last = String.fromCharCode(65 + (index % 26))
  return index < 26 ? last : `${letterOf(Math.floor(index / 26) - 1)}${last}`
}

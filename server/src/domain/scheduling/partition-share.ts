// Which partitions a scheduler should hold: an equal share, moved as little as possible.
import { partitionsCount } from '../jobs/job.ts'

/** A scheduler that may be further off the database's clock holds none: it would fire late, or not know it. */
export const uncertaintyMsMax = 1_000

export interface ShareChange {
  take: number[]
  release: number[]
}

/** `holders`: the holder of each partition. `schedulers`: all living schedulers, this one included. */
export function planShare(
  self: string,
  { schedulers, holders }: { schedulers: readonly string[]; holders: readonly (string | null)[] },
): ShareChange {
  const counts = new Map(schedulers.map((name) => [name, 0]))
  const mine: number[] = []
  const free: number[] = []
  holders.forEach((holder, partition) => {
    if (holder === null) free.push(partition)
    else if (counts.has(holder)) counts.set(holder, counts.get(holder)! + 1)
    if (holder === self) mine.push(partition)
  })
  // Larger holders keep more: the remainder of an uneven division stays where it is.
  const order = schedulers.toSorted((a, b) => counts.get(b)! - counts.get(a)! || (a < b ? -1 : 1))
  const floor = Math.floor(partitionsCount / order.length)
  /** How many partitions the schedulers before us in the order lack. */
  let before = 0
  for (const [index, name] of order.entries()) {
    const quota = floor + (index < partitionsCount % order.length ? 1 : 0)
    if (name !== self) {
      before += Math.max(0, quota - counts.get(name)!)
      continue
    }
    if (mine.length > quota) return { take: [], release: mine.slice(quota) }
    // Each starts behind the ones before it, so that two schedulers planning at once do not reach for the same
    // partitions.
    const start = free.length === 0 ? 0 : before % free.length
    const turned = [...free.slice(start), ...free.slice(0, start)]
    return { take: turned.slice(0, quota - mine.length), release: [] }
  }
  return { take: [], release: [] }
}

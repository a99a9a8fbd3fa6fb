// Which partitions a scheduler should hold: an equal share, moved as little as possible.
import { partitionsCount } from './job.ts'

export interface ShareChange {
  take: number[]
  release: number[]
}

/** `holders`: who holds each partition. `schedulers`: all that live, this one included. */
export function planShare(
  self: string,
  { schedulers, holders }: { schedulers: readonly string[]; holders: readonly (string | null)[] },
): ShareChange {
  const order = schedulers.toSorted()
  const index = order.indexOf(self)
  if (index < 0) return { take: [], release: [] }
  const quota = Math.floor(partitionsCount / order.length) + (index < partitionsCount % order.length ? 1 : 0)
  const mine: number[] = []
  const free: number[] = []
  holders.forEach((holder, partition) => {
    if (holder === self) mine.push(partition)
    else if (holder === null) free.push(partition)
  })
  if (mine.length > quota) return { take: [], release: mine.slice(quota) }
  // Each starts elsewhere, so that two that join at once do not reach for the same ones.
  const start = free.length === 0 ? 0 : Math.floor((index * free.length) / order.length)
  const turned = [...free.slice(start), ...free.slice(0, start)]
  return { take: turned.slice(0, quota - mine.length), release: [] }
}

// How executions are spread over the workers that could run them, so that the loss of one worker does not hit all of
// them: a worker claims no more than brings it up to an equal share of everything that is held or waits. Small numbers
// are not spread, and large ones spread themselves: while a hundred wait, every worker claims as many as it can.
import { batchExecutionsMax } from './execution.ts'

/** Executions that a worker may hold without regard to the others: a detour over the queue would cost more than it saves. */
export const unspreadMax = 3
/** The other workers that a worker compares itself with, at most. */
export const peersMax = 50
/** The executions of a worker are counted up to here: workers that hold more count as equal. */
export const heldCountMax = 500
/** Waiting executions are counted up to here, and are not spread from here on. */
export const waitingCountMax = batchExecutionsMax

/** The load of the workers that could run the same executions, and the executions that wait for any of them. */
export interface PeerLoad {
  /** Executions that each of the other workers holds, up to `heldCountMax`. */
  held: readonly number[]
  /** Executions that can be claimed now, up to `waitingCountMax`. */
  waiting: number
}

/** How many more executions a worker that holds `own` may claim now. Infinity: as many as it has room for. */
export function shareOf(own: number, { held, waiting }: PeerLoad): number {
  if (held.length === 0 || waiting >= waitingCountMax) return Number.POSITIVE_INFINITY
  if ([own, ...held].every((count) => count >= heldCountMax)) return Number.POSITIVE_INFINITY
  const level = Math.ceil((sumOf(own, held) + waiting) / (held.length + 1))
  return Math.max(0, Math.max(unspreadMax, level) - own)
}

/**
 * Up to how many executions a worker may claim on insert, without a look at the others: the mean at the last look and an
 * eighth, so that workers with an equal load do not send each other their work.
 */
export function directMaxOf(own: number, { held }: PeerLoad): number {
  if (held.length === 0) return Number.POSITIVE_INFINITY
  const mean = Math.ceil(sumOf(own, held) / (held.length + 1))
  return Math.max(unspreadMax, mean + Math.ceil(mean / 8))
}

function sumOf(own: number, held: readonly number[]): number {
  return held.reduce((sum, count) => sum + count, Math.min(own, heldCountMax))
}

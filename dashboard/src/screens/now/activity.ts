// Minutes of activity, and the seconds since the latest of them that the live stream has told.
import type { ActivityItem } from '@carillon/contract/activity.ts'
import { minuteMs } from '../../lib/units.ts'
import type { Pulse } from '../../live/live.ts'

export const outcomes = ['succeeded', 'failed', 'timed_out'] as const
type Outcome = (typeof outcomes)[number]

export interface Minutes {
  /** Seconds since 1970. */
  times: number[]
  values: Record<Outcome, number[]>
}

/**
 * One value for every minute of the hour, the last one being the present one. The rollup of a minute counts; pulses
 * fill in where they know more, as in the minute that is not over.
 */
export function minutesOf(
  buckets: readonly ActivityItem[],
  pulses: readonly Pulse[],
  nowMs: number,
  count = 60,
): Minutes {
  const firstMs = Math.floor(nowMs / minuteMs) * minuteMs - (count - 1) * minuteMs
  const indexOf = (instant: string) => Math.floor((Date.parse(instant) - firstMs) / minuteMs)
  const times = Array.from({ length: count }, (_, index) => (firstMs + index * minuteMs) / 1_000)
  const zeros = () => times.map(() => 0)
  const known: Record<Outcome, number[]> = { succeeded: zeros(), failed: zeros(), timed_out: zeros() }
  const told: Record<Outcome, number[]> = { succeeded: zeros(), failed: zeros(), timed_out: zeros() }
  add(known, buckets, ({ at }) => indexOf(at))
  add(told, pulses, ({ as_of }) => indexOf(as_of))
  const values = Object.fromEntries(
    outcomes.map((outcome) => [
      outcome,
      known[outcome].map((count, at) => Math.max(count, told[outcome][at] ?? 0)),
    ]),
  ) as Record<Outcome, number[]>
  return { times, values }
}

function add<Item extends Record<Outcome, number>>(
  sums: Record<Outcome, number[]>,
  items: readonly Item[],
  indexOf: (item: Item) => number,
): void {
  for (const item of items) {
    const index = indexOf(item)
    for (const outcome of outcomes) {
      const before = sums[outcome][index]
      if (before !== undefined) sums[outcome][index] = before + item[outcome]
    }
  }
}

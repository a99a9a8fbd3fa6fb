// Activity as lines and bars: buckets of equal size from the beginning of the window to now, also empty ones.
import type { ActivityItem } from '@carillon/contract/activity.ts'
import { dayMs, hourMs } from '../../lib/units.ts'

export const windows = {
  '1h': { name: 'hour', step: 'minute', ms: hourMs, groupMs: 60_000 },
  '24h': { name: '24 hours', step: 'minute', ms: dayMs, groupMs: 600_000 },
  '7d': { name: '7 days', step: 'hour', ms: 7 * dayMs, groupMs: hourMs },
  '30d': { name: '30 days', step: 'hour', ms: 30 * dayMs, groupMs: 6 * hourMs },
} as const
export type WindowName = keyof typeof windows

export interface Trend {
  /** Seconds since 1970. */
  times: number[]
  /** Shares in percent; null: nothing began. */
  within1s: (number | null)[]
  within5s: (number | null)[]
  succeeded: number[]
  failed: number[]
  timedOut: number[]
}

type Counted = 'started' | 'within_1s' | 'within_5s' | 'succeeded' | 'failed' | 'timed_out'

export function readWindow(text: string | undefined): WindowName {
  return text !== undefined && text in windows ? (text as WindowName) : '24h'
}

/** When the first whole bucket of the window begins; the same for a while, so that the same is asked for. */
export function beginOf(name: WindowName, nowMs: number): number {
  const { ms, groupMs } = windows[name]
  return Math.ceil((nowMs - ms) / groupMs) * groupMs
}

export function trendOf(activity: readonly ActivityItem[], name: WindowName, nowMs: number): Trend {
  const { groupMs } = windows[name]
  const beginMs = beginOf(name, nowMs)
  const count = Math.floor((nowMs - beginMs) / groupMs) + 1
  const sumsOf = (field: Counted) => {
    const sums = Array.from({ length: count }, () => 0)
    for (const item of activity) {
      const index = Math.floor((Date.parse(item.at) - beginMs) / groupMs)
      if (index >= 0 && index < count) sums[index]! += item[field]
    }
    return sums
  }
  const started = sumsOf('started')
  const sharesOf = (field: Counted) => sumsOf(field).map((sum, index) => percent(sum, started[index]!))
  return {
    times: started.map((_, index) => (beginMs + index * groupMs) / 1_000),
    within1s: sharesOf('within_1s'),
    within5s: sharesOf('within_5s'),
    succeeded: sumsOf('succeeded'),
    failed: sumsOf('failed'),
    timedOut: sumsOf('timed_out'),
  }
}

/** A number a second: 0.43, 12.5, 1,204. */
export function formatRate(rate: number): string {
  if (rate === 0) return '0'
  if (rate < 0.01) return '< 0.01'
  if (rate < 10) return String(Number(rate.toFixed(2)))
  return new Intl.NumberFormat('en-GB', { maximumFractionDigits: rate < 100 ? 1 : 0 }).format(rate)
}

function percent(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.round((part / whole) * 1_000) / 10
}

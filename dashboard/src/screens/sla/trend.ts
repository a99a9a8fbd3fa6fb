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
  const sums = Array.from({ length: count }, () => ({
    started: 0,
    within1s: 0,
    within5s: 0,
    succeeded: 0,
    failed: 0,
    timedOut: 0,
  }))
  for (const item of activity) {
    const sum = sums[Math.floor((Date.parse(item.at) - beginMs) / groupMs)]
    if (sum === undefined) continue
    sum.started += item.started
    sum.within1s += item.within_1s
    sum.within5s += item.within_5s
    sum.succeeded += item.succeeded
    sum.failed += item.failed
    sum.timedOut += item.timed_out
  }
  return {
    times: sums.map((_, index) => (beginMs + index * groupMs) / 1_000),
    within1s: sums.map(({ started, within1s }) => percent(within1s, started)),
    within5s: sums.map(({ started, within5s }) => percent(within5s, started)),
    succeeded: sums.map(({ succeeded }) => succeeded),
    failed: sums.map(({ failed }) => failed),
    timedOut: sums.map(({ timedOut }) => timedOut),
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

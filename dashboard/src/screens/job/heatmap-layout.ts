// The position of each day of a year in the heatmap, and its colour: a column a week, Monday on top, the present day
// last. Days are in UTC, as the server counts them.
import { dayMs } from '../../lib/units.ts'

export const weeks = 53

export interface DayCount {
  at: string
  succeeded: number
  failed: number
  timed_out: number
}

export interface Day {
  /** YYYY-MM-DD. */
  date: string
  week: number
  /** 0 is Monday. */
  weekday: number
  ok: number
  bad: number
  /** 0: nothing ran; 1 to 4: by how much did, beside the busiest day. */
  level: number
  /** The share that failed, 0 to 1. */
  badShare: number
}

export interface Year {
  days: Day[]
  months: { week: number; name: string }[]
  ran: number
  bad: number
  busiest: Day | null
}

const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** The Monday of the first column. */
export function firstDayMs(todayMs: number): number {
  const today = Math.floor(todayMs / dayMs) * dayMs
  return today - weekdayOf(today) * dayMs - (weeks - 1) * 7 * dayMs
}

export function layOutYear(counts: readonly DayCount[], todayMs: number): Year {
  const byDate = new Map(counts.map((count) => [count.at.slice(0, 10), count]))
  const first = firstDayMs(todayMs)
  const length = Math.floor((todayMs - first) / dayMs) + 1
  const most = counts.reduce((max, count) => Math.max(max, sum(count)), 0)
  const days = Array.from({ length }, (_, index): Day => {
    const date = new Date(first + index * dayMs).toISOString().slice(0, 10)
    const count = byDate.get(date)
    const bad = (count?.failed ?? 0) + (count?.timed_out ?? 0)
    const ok = count?.succeeded ?? 0
    const total = ok + bad
    return {
      date,
      week: Math.floor(index / 7),
      weekday: index % 7,
      ok,
      bad,
      level: levelOf(total, most),
      badShare: total === 0 ? 0 : bad / total,
    }
  })
  return {
    days,
    months: monthsOf(days),
    ran: days.reduce((all, { ok, bad }) => all + ok + bad, 0),
    bad: days.reduce((all, { bad }) => all + bad, 0),
    busiest: days.reduce<Day | null>(
      (best, day) => (day.level > 0 && (best === null || day.ok + day.bad > best.ok + best.bad) ? day : best),
      null,
    ),
  }
}

/** By the square root: a day with a single execution is still visible beside a day with thousands. */
function levelOf(total: number, most: number): number {
  return total === 0 ? 0 : Math.max(1, Math.ceil(Math.sqrt(total / most) * 4))
}

// A month is named above the first week that begins in it, if the name before leaves room.
function monthsOf(days: readonly Day[]): { week: number; name: string }[] {
  const months: { week: number; name: string }[] = []
  let last = ''
  for (const day of days) {
    const month = day.date.slice(0, 7)
    if (day.weekday !== 0 || month === last) continue
    const isRoom = (months.at(-1)?.week ?? -3) + 3 <= day.week
    if (isRoom && (last !== '' || Number(day.date.slice(8)) <= 7)) {
      months.push({ week: day.week, name: monthNames[Number(day.date.slice(5, 7)) - 1]! })
    }
    last = month
  }
  return months
}

/** The day that lies there; null: none does. */
export function dayAt(year: Year, week: number, weekday: number): Day | null {
  if (week < 0 || weekday < 0 || weekday > 6) return null
  return year.days[week * 7 + weekday] ?? null
}

export function sayDay({ date, ok, bad }: Day): string {
  if (ok + bad === 0) return `${date}: nothing ran`
  const failed = bad === 0 ? 'none failed' : `${bad} failed`
  return `${date}: ${ok + bad} ended, ${failed}`
}

/** Totals of months in which something ran, as text for people unable to see the heatmap. */
export function monthTotals(year: Year): { month: string; ok: number; bad: number }[] {
  const totals = new Map<string, { month: string; ok: number; bad: number }>()
  for (const { date, ok, bad } of year.days) {
    const month = date.slice(0, 7)
    const total = totals.get(month) ?? { month, ok: 0, bad: 0 }
    totals.set(month, { month, ok: total.ok + ok, bad: total.bad + bad })
  }
  return [...totals.values()].filter(({ ok, bad }) => ok + bad > 0)
}

function sum({ succeeded, failed, timed_out }: DayCount): number {
  return succeeded + failed + timed_out
}

function weekdayOf(ms: number): number {
  return (new Date(ms).getUTCDay() + 6) % 7
}

// The calendar without its looks: which hours and days a view has, and the past and future executions in each.
import { dayMs, hourMs, minuteMs } from '../../lib/units.ts'

export const VIEWS = ['day', 'week', 'month'] as const
export type View = (typeof VIEWS)[number]

/** Counts for an hour or a day. */
export interface Counts {
  ok: number
  bad: number
  /** Slots to come. */
  ahead: number
  /** Some of `ahead` was reckoned from how often the job runs. */
  isAbout: boolean
}

export interface Span {
  fromMs: number
  toMs: number
}

export interface Day extends Span {
  /** YYYY-MM-DD, on the clock that is shown. */
  date: string
  /** Of another month than the one that is shown. */
  isOutside: boolean
}

/** Days of UTC, or of this browser's zone. */
export type Clock = 'UTC' | 'local'

export function daysOf(view: View, date: string, clock: Clock): Day[] {
  const first = firstDateOf(view, date)
  const count = view === 'day' ? 1 : view === 'week' ? 7 : monthCells(date, first)
  return Array.from({ length: count }, (_, index) => {
    const day = addDays(first, index)
    return {
      date: day,
      isOutside: view === 'month' && day.slice(0, 7) !== date.slice(0, 7),
      fromMs: startOf(day, clock),
      toMs: startOf(addDays(day, 1), clock),
    }
  })
}

/** The hours of a day: 24, but 23 or 25 when its clock changes. */
export function hoursOf({ fromMs, toMs }: Span): Span[] {
  const count = Math.max(1, Math.round((toMs - fromMs) / hourMs))
  return Array.from({ length: count }, (_, index) => ({
    fromMs: fromMs + index * hourMs,
    toMs: Math.min(toMs, fromMs + (index + 1) * hourMs),
  }))
}

/** The day, week or month before or after. */
export function stepDate(view: View, date: string, step: number): string {
  if (view !== 'month') return addDays(date, step * (view === 'week' ? 7 : 1))
  const [year, month] = date.split('-').map(Number) as [number, number]
  return new Date(Date.UTC(year, month - 1 + step, 1)).toISOString().slice(0, 10)
}

export function dateOf(ms: number, clock: Clock): string {
  const shift = clock === 'local' ? -new Date(ms).getTimezoneOffset() * minuteMs : 0
  return new Date(ms + shift).toISOString().slice(0, 10)
}

export function isDate(text: string | undefined): text is string {
  return text !== undefined && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))
}

interface Past {
  at: string
  succeeded: number
  failed: number
  timed_out: number
}

/** Sums by the hour or by the ten minutes into spans that lie one after the other. */
export function countIn(
  spans: readonly Span[],
  past: readonly Past[],
  ahead: readonly { atMs: number; count: number; isAbout?: boolean }[],
): Counts[] {
  const counts = spans.map((): Counts => ({ ok: 0, bad: 0, ahead: 0, isAbout: false }))
  for (const one of past) {
    const cell = counts[indexOf(spans, Date.parse(one.at))]
    if (cell === undefined) continue
    cell.ok += one.succeeded
    cell.bad += one.failed + one.timed_out
  }
  for (const { atMs, count, isAbout } of ahead) {
    const cell = counts[indexOf(spans, atMs)]
    if (cell === undefined) continue
    cell.ahead += count
    if (isAbout === true) cell.isAbout = true
  }
  return counts
}

export function addUp(all: readonly Counts[]): Counts {
  return all.reduce(
    (sum, one) => ({
      ok: sum.ok + one.ok,
      bad: sum.bad + one.bad,
      ahead: sum.ahead + one.ahead,
      isAbout: sum.isAbout || one.isAbout,
    }),
    { ok: 0, bad: 0, ahead: 0, isAbout: false },
  )
}

/**
 * The slots of a preview, one by one. A preview ends after `limit` slots; for a job that runs more often than that the
 * rest is estimated, an hour at a time, from the distance between the known slots.
 */
export function aheadOf(
  slots: readonly number[],
  limit: number,
  toMs: number,
): { atMs: number; count: number; isAbout?: boolean }[] {
  const known = slots.filter((at) => at < toMs).map((atMs) => ({ atMs, count: 1 }))
  const first = slots[0]
  const last = slots.at(-1)
  if (slots.length < limit || first === undefined || last === undefined || last >= toMs) return known
  const gapMs = (last - first) / (slots.length - 1)
  const reckoned: { atMs: number; count: number; isAbout: boolean }[] = []
  let nextMs = last + gapMs
  while (gapMs > 0 && nextMs < toMs) {
    const endMs = Math.min(toMs, (Math.floor(nextMs / hourMs) + 1) * hourMs)
    const count = Math.ceil((endMs - nextMs) / gapMs)
    reckoned.push({ atMs: nextMs, count, isAbout: true })
    nextMs += count * gapMs
  }
  return [...known, ...reckoned]
}

export function sayCounts({ ok, bad, ahead, isAbout }: Counts): string {
  const said = [
    ...(ok > 0 ? [`${ok} succeeded`] : []),
    ...(bad > 0 ? [`${bad} failed`] : []),
    ...(ahead > 0 ? [`${isAbout ? 'about ' : ''}${ahead} to come`] : []),
  ]
  return said.length === 0 ? 'nothing' : said.join(', ')
}

/** The names of calendars that have this day. */
export function calendarsOn(
  date: string,
  calendars: readonly { name: string; entries: readonly { date?: string; from?: string; to?: string }[] }[],
): string[] {
  return calendars
    .filter(({ entries }) =>
      entries.some((entry) =>
        entry.date !== undefined
          ? entry.date === date
          : (entry.from ?? '').slice(0, 10) <= date && date <= (entry.to ?? '').slice(0, 10),
      ),
    )
    .map(({ name }) => name)
}

function firstDateOf(view: View, date: string): string {
  if (view === 'day') return date
  const from = view === 'month' ? `${date.slice(0, 7)}-01` : date
  return addDays(from, -weekdayOf(from))
}

/** Whole weeks, as many as the month touches. */
function monthCells(date: string, first: string): number {
  const [year, month] = date.split('-').map(Number) as [number, number]
  const last = new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10)
  const days = Math.round((Date.parse(last) - Date.parse(first)) / dayMs) + 1
  return Math.ceil(days / 7) * 7
}

function startOf(date: string, clock: Clock): number {
  if (clock === 'UTC') return Date.parse(`${date}T00:00:00Z`)
  const [year, month, day] = date.split('-').map(Number) as [number, number, number]
  return new Date(year, month - 1, day).getTime()
}

function addDays(date: string, days: number): string {
  return new Date(Date.parse(date) + days * dayMs).toISOString().slice(0, 10)
}

/** 0 is Monday. */
function weekdayOf(date: string): number {
  return (new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7
}

/** The spans follow each other, so the right one is found by halving. */
function indexOf(spans: readonly Span[], atMs: number): number {
  let low = 0
  let high = spans.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const span = spans[middle]!
    if (atMs < span.fromMs) high = middle - 1
    else if (atMs >= span.toMs) low = middle + 1
    else return middle
  }
  return -1
}

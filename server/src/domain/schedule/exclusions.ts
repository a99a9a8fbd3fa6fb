// Windows in which slots are skipped: whole days, from-to, and named calendars handed in by the caller, all read on
// the clock of the schedule's zone and merged into sorted, disjoint windows.
import { DAY_SECONDS } from './civil.ts'
import { instantOfLocal, readDay, readTime } from './instant.ts'
import { type Result, refuse } from './schedule-error.ts'
import type { Zone } from './zone.ts'

type DayOrWindow = { date: string } | { from: string; to: string }

/** What the names in `{"calendar": name}` stand for; resolved by the caller, because a calendar is stored. */
export type Calendars = Readonly<Record<string, readonly DayOrWindow[]>>

const exclusionsMax = 100
const windowsMax = 1_000
const field = 'exclusions'
const allowed = '{"date"}, {"from", "to"} or {"calendar"}'

/** Flat windows [from, to) in epoch seconds: from, to, from, to. */
export function compileExclusions(
  exclusions: readonly unknown[],
  zone: Zone,
  calendars: Calendars,
): Result<Float64Array> {
  if (exclusions.length > exclusionsMax) {
    return refuse('BAD_OPTION', `A schedule has at most ${exclusionsMax} exclusions.`, { field, allowed })
  }
  const windows: [number, number][] = []
  for (const one of exclusions) {
    const listed = listWindows(one, calendars)
    if (!listed.ok) return listed
    if (windows.length + listed.value.length > windowsMax) {
      return refuse('BAD_OPTION', `The exclusions hold more than ${windowsMax} windows.`, { field, allowed })
    }
    for (const day of listed.value) {
      const window = readWindow(day, zone)
      if (!window.ok) return window
      windows.push(window.value)
    }
  }
  return { ok: true, value: merge(windows) }
}

function listWindows(one: unknown, calendars: Calendars): Result<readonly DayOrWindow[]> {
  const keys = typeof one === 'object' && one !== null ? Object.keys(one).sort().join() : ''
  const values = keys === '' ? [] : Object.values(one as object)
  if (keys === 'date' || keys === 'from,to') {
    return values.every((value) => typeof value === 'string')
      ? { ok: true, value: [one as DayOrWindow] }
      : keysAreWrong()
  }
  const name = keys === 'calendar' ? (one as { calendar: unknown }).calendar : null
  if (typeof name !== 'string') return keysAreWrong()
  const calendar = Object.hasOwn(calendars, name) ? calendars[name] : undefined
  if (calendar !== undefined) return { ok: true, value: calendar }
  return refuse('UNKNOWN_CALENDAR', `There is no calendar "${name.slice(0, 128)}".`, {
    field,
    allowed: 'the name of a calendar',
    suggestions: Object.keys(calendars).slice(0, 3),
  })
}

function keysAreWrong(): Result<never> {
  return refuse('BAD_OPTION', `An exclusion is ${allowed}, with text values.`, { field, allowed })
}

function readWindow(window: DayOrWindow, zone: Zone): Result<[number, number]> {
  if ('date' in window) {
    const day = window.date.length === 10 ? readDay(window.date) : Number.NEGATIVE_INFINITY
    // A day that a zone skipped altogether (Apia, 30 December 2011) is an empty window, not a mistake.
    if (day >= 0)
      return { ok: true, value: [instantOfLocal(zone, day), instantOfLocal(zone, day + DAY_SECONDS)] }
    return refuse('BAD_INSTANT', `"${window.date.slice(0, 40)}" is not a day.`, {
      field,
      allowed: 'YYYY-MM-DD',
    })
  }
  const from = readTime(window.from, field)
  if (!from.ok) return from
  const to = readTime(window.to, field)
  if (!to.ok) return to
  const instant = (seconds: number, zoned: boolean) =>
    Math.ceil(zoned ? seconds : instantOfLocal(zone, seconds))
  const first = instant(from.value.seconds, from.value.zoned)
  // A last day is meant with all its hours; a last time is where the window ends.
  const last = to.value.dateOnly ? to.value.seconds + DAY_SECONDS : to.value.seconds
  const end = instant(last, to.value.zoned)
  if (end > first) return { ok: true, value: [first, end] }
  return refuse('BAD_OPTION', 'An exclusion ends after it begins.', { field, allowed })
}

function merge(windows: [number, number][]): Float64Array {
  windows.sort((a, b) => a[0] - b[0])
  const merged: number[] = []
  for (const [from, to] of windows) {
    const last = merged.length - 1
    if (last > 0 && from <= merged[last]!) merged[last] = Math.max(merged[last]!, to)
    else if (to > from) merged.push(from, to)
  }
  return Float64Array.from(merged)
}

// Windows in which slots are skipped: whole days, from-to, and named calendars handed in by the caller, all read on
// the clock of the schedule's zone and merged into sorted, disjoint windows.
import type { ScheduleObject } from '@carillon/contract/schedule.ts'
import { DAY_SECONDS } from './civil.ts'
import { instantOfLocal, readDay, readTime } from './instant.ts'
import { type Result, refuse, type ScheduleError } from './schedule-error.ts'
import { findZone, type Zone } from './zone.ts'

export type DayOrWindow = { date: string } | { from: string; to: string }

/** The entries of each name in `{"calendar": name}`; resolved by the caller, because calendars are stored. */
export type Calendars = Readonly<Record<string, readonly DayOrWindow[]>>

const exclusionsMax = 100
// A schedule is judged once, its calendars change later: a limit on windows would then end a job that nobody touched.
// So the names are limited, and each calendar by itself.
const calendarsNamedMax = 4
const allowed = '{"date"}, {"from", "to"} or {"calendar"}'
const allowedEntry = '{"date"} or {"from", "to"}'

/** The calendars that a schedule names, in order; null: none. */
export function calendarNames({ exclusions }: ScheduleObject): string[] | null {
  // A merge patch may say null.
  const names = (exclusions ?? []).flatMap((one) => (one.calendar === undefined ? [] : [one.calendar]))
  return names.length === 0 ? null : [...new Set(names)].sort()
}

/** The calendars that schedules name, as if nothing were in them: one that is gone excludes nothing. */
export function emptyCalendars(schedules: readonly ScheduleObject[]): Calendars {
  return Object.fromEntries(schedules.flatMap((one) => calendarNames(one) ?? []).map((name) => [name, []]))
}

/** Flat windows [from, to) in epoch seconds: from, to, from, to. Without `calendars`, named calendars are empty. */
export function compileExclusions(
  exclusions: readonly unknown[],
  zone: Zone,
  calendars: Calendars | null,
): Result<Float64Array> {
  const field = 'exclusions'
  if (exclusions.length > exclusionsMax) {
    return refuse('BAD_OPTION', `A schedule has at most ${exclusionsMax} exclusions.`, { field, allowed })
  }
  const windows: [number, number][] = []
  const names = new Set<string>()
  for (const [index, one] of exclusions.entries()) {
    const path = `${field}/${index}`
    if (hasKeys(one, 'calendar')) {
      const listed = findEntries(one['calendar'], calendars, `${path}/calendar`)
      if (!listed.ok) return listed
      names.add(one['calendar'])
      for (const entry of listed.value) {
        const window = readWindow(entry, zone, path)
        if (!window.ok) return window
        windows.push(window.value)
      }
      continue
    }
    if (!isDayOrWindow(one)) {
      return refuse('BAD_OPTION', `An exclusion is ${allowed}, with text values.`, { field: path, allowed })
    }
    const window = readOwnWindow(one, zone, path)
    if (!window.ok) return window
    windows.push(window.value)
  }
  if (names.size > calendarsNamedMax) {
    return refuse('BAD_OPTION', `A schedule names at most ${calendarsNamedMax} calendars.`, {
      field,
      allowed,
    })
  }
  return { ok: true, value: merge(windows) }
}

/** The first error in the entries of a calendar, checked before it is stored; null: none. */
export function checkEntries(entries: readonly unknown[]): ScheduleError | null {
  const utc = findZone('UTC')
  if (!utc.ok) return utc.error
  for (const [index, one] of entries.entries()) {
    const path = `entries/${index}`
    if (!isDayOrWindow(one)) {
      const message = `An entry is ${allowedEntry}, with text values.`
      return refuse('BAD_OPTION', message, { field: path, allowed: allowedEntry }).error
    }
    const window = readOwnWindow(one, utc.value, path)
    if (!window.ok) return window.error
  }
  return null
}

function findEntries(
  name: string,
  calendars: Calendars | null,
  field: string,
): Result<readonly DayOrWindow[]> {
  if (calendars === null) return { ok: true, value: [] }
  const entries = Object.hasOwn(calendars, name) ? calendars[name] : undefined
  if (entries !== undefined) return { ok: true, value: entries }
  const message = `There is no calendar "${name.slice(0, 128)}".`
  return refuse('UNKNOWN_CALENDAR', message, { field, allowed: 'the name of a calendar' })
}

function isDayOrWindow(one: unknown): one is DayOrWindow {
  return hasKeys(one, 'date') || hasKeys(one, 'from', 'to')
}

/** Whether it has exactly these keys, with texts. */
function hasKeys<Key extends string>(one: unknown, ...keys: Key[]): one is Record<Key, string> {
  if (typeof one !== 'object' || one === null || Object.keys(one).length !== keys.length) return false
  return keys.every(
    (key) => Object.hasOwn(one, key) && typeof (one as Record<string, unknown>)[key] === 'string',
  )
}

/**
 * May be empty: a day that a zone skipped altogether (Apia, 30 December 2011), or a window of a calendar that is well
 * written and comes to nothing in this zone. A calendar must not end the jobs that name it.
 */
function readWindow(window: DayOrWindow, zone: Zone, path: string): Result<[number, number]> {
  if ('date' in window) {
    const day = window.date.length === 10 ? readDay(window.date) : Number.NEGATIVE_INFINITY
    if (day >= 0)
      return { ok: true, value: [instantOfLocal(zone, day), instantOfLocal(zone, day + DAY_SECONDS)] }
    return refuse('BAD_INSTANT', `"${window.date.slice(0, 40)}" is not a day.`, {
      field: `${path}/date`,
      allowed: 'YYYY-MM-DD',
    })
  }
  const from = readTime(window.from, `${path}/from`)
  if (!from.ok) return from
  const to = readTime(window.to, `${path}/to`)
  if (!to.ok) return to
  const instant = (seconds: number, zoned: boolean) =>
    Math.ceil(zoned ? seconds : instantOfLocal(zone, seconds))
  // A last day is meant with all its hours; a last time is where the window ends.
  const last = to.value.dateOnly ? to.value.seconds + DAY_SECONDS : to.value.seconds
  return {
    ok: true,
    value: [instant(from.value.seconds, from.value.zoned), instant(last, to.value.zoned)],
  }
}

/** A window as somebody writes it: it must end after it begins. */
function readOwnWindow(one: DayOrWindow, zone: Zone, path: string): Result<[number, number]> {
  const window = readWindow(one, zone, path)
  if (!window.ok || !('to' in one) || window.value[1] > window.value[0]) return window
  const where = { field: `${path}/to`, allowed: 'after `from`' }
  return refuse('BAD_OPTION', 'An exclusion ends after it begins.', where)
}

function merge(windows: [number, number][]): Float64Array {
  const filled = windows.filter(([from, to]) => to > from).sort((a, b) => a[0] - b[0])
  const merged: number[] = []
  for (const [from, to] of filled) {
    const last = merged.length - 1
    if (last > 0 && from <= merged[last]!) merged[last] = Math.max(merged[last]!, to)
    else merged.push(from, to)
  }
  return Float64Array.from(merged)
}

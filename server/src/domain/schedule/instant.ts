// Written times to instants: RFC 3339 with an offset is an instant; without one it is a time on the wall clock of a
// zone. A time that a clock change skipped is the first instant after it; one that happened twice, the first.
import { DAY_SECONDS, FIRST_SECOND, LAST_SECOND, localSeconds, monthLength } from './civil.ts'
import { type Result, refuse } from './schedule-error.ts'
import { extendZone, segmentAt, type Zone } from './zone.ts'

// The part after the date. Fixed widths and no repetition inside a repetition: linear on any text.
const written = /^.{10}[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:([Zz])|([+-])(\d\d):?(\d\d))?$/

interface WrittenTime {
  /** Seconds; may carry a fraction. Epoch seconds when `zoned`, else local seconds. */
  seconds: number
  zoned: boolean
  dateOnly: boolean
}

export function readTime(text: string, field: string): Result<WrittenTime> {
  const day = readDay(text)
  if (day > Number.NEGATIVE_INFINITY && text.length === 10)
    return inRange({ seconds: day, zoned: false, dateOnly: true }, field)
  const parts = day === Number.NEGATIVE_INFINITY || text.length > 64 ? null : written.exec(text)
  const hour = Number(parts?.[1])
  const minute = Number(parts?.[2])
  const second = Number(parts?.[3] ?? 0)
  const offsetHour = Number(parts?.[7] ?? 0)
  const offsetMinute = Number(parts?.[8] ?? 0)
  if (parts === null || hour > 23 || minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59) {
    return refuse('BAD_INSTANT', `"${text.slice(0, 40)}" is not a date and time that exists.`, {
      field,
      allowed: 'RFC 3339, such as 2026-01-31T09:00:00Z or 2026-01-31T09:00:00+01:00',
    })
  }
  const offset = (parts[6] === '-' ? -1 : 1) * (offsetHour * 3_600 + offsetMinute * 60)
  const time = hour * 3_600 + minute * 60 + second + Number(`0.${parts[4] ?? 0}`)
  const zoned = parts[5] !== undefined || parts[6] !== undefined
  return inRange({ seconds: day + time - offset, zoned, dateOnly: false }, field)
}

/** Local seconds of the day that a text begins with (`YYYY-MM-DD`), or -Infinity. Calendars hold hundreds of them. */
export function readDay(text: string): number {
  const year = readDigits(text, 0, 4)
  const month = readDigits(text, 5, 7)
  const day = readDigits(text, 8, 10)
  const real = year >= 1969 && month >= 1 && month <= 12 && day >= 1 && text[4] === '-' && text[7] === '-'
  return real && day <= monthLength(year, month) ? localSeconds(year, month, day) : Number.NEGATIVE_INFINITY
}

function readDigits(text: string, from: number, to: number): number {
  let value = 0
  for (let i = from; i < to; i++) {
    const digit = text.charCodeAt(i) - 48
    if (!(digit >= 0 && digit <= 9)) return -1
    value = value * 10 + digit
  }
  return value
}

function inRange(time: WrittenTime, field: string): Result<WrittenTime> {
  if (time.seconds >= FIRST_SECOND - DAY_SECONDS && time.seconds < LAST_SECOND)
    return { ok: true, value: time }
  return refuse('BAD_INSTANT', 'Times lie between 1970 and 2199.', { field, allowed: '1970 to 2199' })
}

/** Epoch seconds of a written time; one without an offset is read in the zone, or refused if there is none. */
export function readInstant(text: string, field: string, zone: Zone | null): Result<number> {
  const time = readTime(text, field)
  if (!time.ok) return time
  if (time.value.zoned) return { ok: true, value: time.value.seconds }
  if (zone === null || time.value.dateOnly) {
    return refuse(
      'BAD_INSTANT',
      `"${text}" needs ${time.value.dateOnly ? 'a time' : 'an offset such as Z, or a timezone'}.`,
      {
        field,
        allowed: 'RFC 3339, such as 2026-01-31T09:00:00Z',
      },
    )
  }
  return { ok: true, value: instantOfLocal(zone, time.value.seconds) }
}

/** The first instant at which the zone's clock shows this local time or a later one. */
export function instantOfLocal(zone: Zone, local: number): number {
  if (zone.fixedOffset !== null) return local - zone.fixedOffset
  const early = Math.min(Math.max(local - 93_600, FIRST_SECOND), LAST_SECOND - 1)
  if (early + 2 * 93_600 >= zone.starts[zone.starts.length - 1]!) extendZone(zone)
  for (let k = segmentAt(zone, early); k < zone.offsets.length; k++) {
    const instant = Math.max(local - zone.offsets[k]!, zone.starts[k]!)
    if (instant < zone.starts[k + 1]!) return instant
  }
  return LAST_SECOND
}

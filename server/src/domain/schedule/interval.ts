// Interval text to numbers: ISO 8601 durations (`PT5M`, `P1M`), repeating intervals (`R10/2026-01-01T00:00:00Z/PT1H`)
// and `@every 90m`. Whole seconds only, because a slot is a whole second; never zero, never negative.
import { refuseLong } from './cron.ts'
import { type Result, refuse } from './schedule-error.ts'

export interface Duration {
  months: number
  days: number
  seconds: number
}

export interface Interval {
  duration: Duration
  /** Runs after the first one; null is endless. */
  repetitions: number | null
  /** The anchor as written, and where it stands; null when the text has none. */
  start: { text: string; position: number } | null
}

const secondsMax = 3_153_600_000 // 100 years
const repetitionsMax = 1_000_000_000
const allowed = 'a duration such as PT5M, P1D or P1M, or R10/2026-01-01T00:00:00Z/PT1H'

const dateUnits: Record<string, keyof Duration> = { Y: 'months', M: 'months', W: 'days', D: 'days' }
const unitFactor: Record<string, number> = { Y: 12, W: 7, H: 3_600 }

export function parseInterval(text: string): Result<Interval> {
  const tooLong = refuseLong(text)
  if (tooLong !== null) return tooLong
  const trimmed = text.trim()
  const offset = text.length - text.trimStart().length
  if (/^@every\s/i.test(trimmed)) {
    return withDuration(parseClockDuration(trimmed.slice(7).trim(), offset + 7), null, null)
  }
  if (!/^r/i.test(trimmed)) return withDuration(parseDuration(trimmed, offset), null, null)
  const parts = trimmed.split('/')
  const repetitions = readRepetitions(parts[0]!)
  if (repetitions === undefined) {
    return bad(`"${parts[0]!.slice(0, 16)}" is not R or R with a number.`, offset)
  }
  if (parts.length === 2)
    return withDuration(parseDuration(parts[1]!, offset + parts[0]!.length + 1), repetitions, null)
  if (parts.length !== 3) return bad('A repeating interval is R/start/duration.', offset)
  const startPosition = offset + parts[0]!.length + 1
  const durationPosition = startPosition + parts[1]!.length + 1
  if (/^p/i.test(parts[1]!) || !/^p/i.test(parts[2]!)) {
    return bad(
      'A repeating interval is R/start/duration; a form with an end is not accepted: use end_at.',
      offset,
    )
  }
  const start = { text: parts[1]!, position: startPosition }
  return withDuration(parseDuration(parts[2]!, durationPosition), repetitions, start)
}

/** `PT1H30M`, `P1M2W`: years, months, weeks and days, then after T hours, minutes and seconds, each at most once. */
export function parseDuration(text: string, offset = 0): Result<Duration> {
  const upper = text.toUpperCase()
  if (upper.startsWith('-') || upper.startsWith('+')) return bad('An interval has no sign.', offset)
  if (!upper.startsWith('P')) return bad(`"${text.slice(0, 32)}" is not an ISO 8601 duration.`, offset)
  const duration: Duration = { months: 0, days: 0, seconds: 0 }
  let at = 1
  let time = false
  let order = 'YMWD'
  while (at < upper.length) {
    if (upper[at] === 'T' && !time) {
      time = true
      order = 'HMS'
      at++
      if (at === upper.length) return bad('After T comes a number of hours, minutes or seconds.', offset + at)
      continue
    }
    const from = at
    while (at < upper.length && at - from < 10 && isDigit(upper, at)) at++
    const unit = upper[at] ?? ''
    if (at === from) return bad(`A number is missing at position ${offset + at}.`, offset + at)
    if (unit === '.' || unit === ',')
      return bad('Fractions are not accepted: write PT90S, not PT1.5M.', offset + at)
    const unitIndex = order.indexOf(unit)
    if (unit === '' || unitIndex < 0) {
      return bad(`"${unit}" is not a unit here: ${[...order].join(', ')} in this order.`, offset + at)
    }
    order = order.slice(unitIndex + 1)
    const key = time ? 'seconds' : dateUnits[unit]!
    const factor = time && unit === 'M' ? 60 : (unitFactor[unit] ?? 1)
    duration[key] += Number(upper.slice(from, at)) * factor
    at++
  }
  if (time && order === 'HMS') return bad('After T comes a number of hours, minutes or seconds.', offset + at)
  return checkLength(duration, offset)
}

/** `90m`, `1h30m`: the units of Go durations that are whole seconds or more, or an ISO duration. */
function parseClockDuration(text: string, offset: number): Result<Duration> {
  if (/^p/i.test(text)) return parseDuration(text, offset)
  const factors: Record<string, number> = { h: 3_600, m: 60, s: 1 }
  let seconds = 0
  let at = 0
  let order = 'hms'
  while (at < text.length) {
    const from = at
    while (at < text.length && at - from < 10 && isDigit(text, at)) at++
    const unit = (text[at] ?? '').toLowerCase()
    const unitIndex = unit === '' ? -1 : order.indexOf(unit)
    if (at === from || unitIndex < 0)
      return bad('@every takes hours, minutes and seconds: @every 1h30m.', offset + at)
    seconds += Number(text.slice(from, at)) * factors[unit]!
    order = order.slice(unitIndex + 1)
    at++
  }
  return checkLength({ months: 0, days: 0, seconds }, offset)
}

function checkLength(duration: Duration, offset: number): Result<Duration> {
  const total = duration.months * 2_629_746 + duration.days * 86_400 + duration.seconds
  if (total <= 0) return bad('An interval is longer than zero.', offset)
  if (total > secondsMax) return bad('An interval is at most 100 years.', offset)
  return { ok: true, value: duration }
}

function withDuration(
  duration: Result<Duration>,
  repetitions: number | null,
  start: Interval['start'],
): Result<Interval> {
  return duration.ok ? { ok: true, value: { duration: duration.value, repetitions, start } } : duration
}

/** undefined when the text is not R, Rn or R-1. */
function readRepetitions(text: string): number | null | undefined {
  if (text.length === 1 || text.slice(1) === '-1') return null
  if (text.length > 11) return undefined
  for (let i = 1; i < text.length; i++) if (!isDigit(text, i)) return undefined
  const count = Number(text.slice(1))
  return count > repetitionsMax ? undefined : count
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 48 && code <= 57
}

function bad(message: string, position: number): Result<never> {
  return refuse('BAD_INTERVAL', message, { field: 'interval', position, allowed })
}

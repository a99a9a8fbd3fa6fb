// Cron text to sets of values: finds the fields, the macros and the texts that are not cron at all. At most 256
// characters, read once, so any text costs microseconds. The dialect's choices are told in docs/schedules.md.
import { MACROS } from './cron-field.ts'
import { CronReader } from './cron-reader.ts'
import { type Result, refuse } from './schedule-error.ts'

const textMax = 256

/** Sets are bit masks: values 0 to 29 in the low word, 30 to 59 in the high word; days are bit `day - 1`. */
export interface CronFields {
  secondLow: number
  secondHigh: number
  minuteLow: number
  minuteHigh: number
  hours: number
  months: number
  days: number
  weekdays: number
  /** `L` is bit 0, `L-3` bit 3. */
  lastDays: number
  /** `15W` is bit 14. */
  nearestWeekdays: number
  /** `LW` is bit 0, `L-3W` bit 3. */
  lastNearestWeekdays: number
  /** `FRI#2`: bit (n - 1) * 7 + weekday, n 1 to 4. */
  nthWeekdays: number
  /** `FRI#5` is bit weekday, `FRIL` bit 7 + weekday. */
  endWeekdays: number
  dayStar: boolean
  weekdayStar: boolean
  /** `+` before the day of week: both day fields must match. */
  bothDays: boolean
  /** A wildcard or open step in the minute or second field. */
  wildTime: boolean
  /** Index is year - 1970; null is every year. */
  years: Uint8Array | null
  /** The text with every `H` replaced by the value it stands for; null when there was none. */
  hashedText: string | null
}

export function parseCron(text: string, jobId = ''): Result<CronFields> {
  const tooLong = refuseLong(text)
  if (tooLong !== null) return tooLong
  const bounds: number[] = []
  let inside = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    const blank = code === 32 || code === 9
    if (code < 32 && !blank) return badCharacter(text, i)
    if (blank === inside) {
      bounds.push(i)
      inside = !inside
    }
  }
  if (inside) bounds.push(text.length)
  if (bounds.length === 0) {
    return refuse('EXPRESSION_EMPTY', 'The expression is empty.', { allowed: '5, 6 or 7 fields' })
  }
  const start = bounds[0]!
  if (text.charCodeAt(start) === 64) return parseMacro(text.slice(start).trimEnd(), start)
  const count = bounds.length / 2
  if (/^(CRON_)?TZ=/i.test(text.slice(start, start + 8))) {
    const message = 'The time zone does not belong in the expression: give it as "timezone".'
    return refuse('ZONE_IN_EXPRESSION', message, { position: start, allowed: '5, 6 or 7 fields' })
  }
  if (count < 5 || count > 7) {
    const message = `A cron expression has 5 fields, 6 with seconds first, or 7 with a year last; this has ${count}.`
    return refuse('FIELD_COUNT', message, { position: start, allowed: '5, 6 or 7 fields' })
  }
  return new CronReader(text, jobId).read(bounds, count)
}

/** Null: the text is not too long. */
export function refuseLong(text: string): Result<never> | null {
  if (text.length <= textMax) return null
  const allowed = `${textMax} characters`
  return refuse('EXPRESSION_TOO_LONG', `A schedule text has at most ${allowed}.`, {
    position: textMax,
    allowed,
  })
}

function badCharacter(text: string, position: number): Result<never> {
  const code = text.charCodeAt(position).toString(16).padStart(4, '0')
  return refuse('BAD_CHARACTER', `Character U+${code} at position ${position} is not allowed.`, {
    position,
    allowed: 'letters, digits, spaces, tabs and * , - / ? # + ( )',
  })
}

function parseMacro(macro: string, position: number): Result<CronFields> {
  const fields = MACROS[macro.toLowerCase()]
  if (fields !== undefined) return parseCron(fields)
  const names = Object.keys(MACROS)
  const reason = /^@reboot$/i.test(macro)
    ? '@reboot has no meaning here: a job has no machine that starts.'
    : /^@every\b/i.test(macro)
      ? '@every is an interval, not a cron expression: use {"type": "INTERVAL", "interval": "PT5M"}.'
      : `${macro.slice(0, 32)} is not a macro.`
  const allowed = names.join(', ')
  return refuse('UNKNOWN_MACRO', reason, { position, allowed, suggestions: names.slice(2) })
}

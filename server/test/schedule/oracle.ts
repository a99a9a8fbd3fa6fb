// A second opinion on cron, by brute force from the definition: walk local days and minutes, ask Temporal for the
// instants of each matching local time in the zone, keep the ones that the rules allow. Shares no code with the engine
// and is slow on purpose; it knows nothing of masks, tables or segments.

export interface OracleCase {
  expression: string
  zone: string
  /** Epoch milliseconds. */
  from: number
  dstGap?: 'run_after' | 'skip'
  dstFold?: 'first' | 'both'
}

interface Fields {
  seconds: Set<number>
  minutes: Set<number>
  hours: Set<number>
  dayTerms: string[]
  months: Set<number>
  weekdayTerms: string[]
  years: Set<number> | null
  and: boolean
  elapsed: boolean
}

const minuteMs = 60_000
const dayMs = 86_400_000
const lastMs = Date.UTC(2200, 0, 1)
const monthNames = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const weekdayNames = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

/** The first instant after `from` at which the expression runs, in epoch milliseconds; null when none by `untilMs`. */
export function oracleNext(one: OracleCase, untilMs = lastMs): number | null {
  const fields = readFields(one.expression)
  const runAfterGap = one.dstGap === undefined ? !fields.elapsed : one.dstGap === 'run_after'
  const bothPasses = one.dstFold === undefined ? fields.elapsed : one.dstFold === 'both'
  const localFrom = wallMs(one.from, one.zone)
  const shift = largestShiftNear(one.from, one.zone)
  let best: number | null = null
  // Local time may jump back by a shift, so the walk starts a shift earlier and ends a shift after the best answer.
  let minute = Math.floor((localFrom - shift - minuteMs) / minuteMs) * minuteMs
  for (;;) {
    if (best !== null && minute > wallMs(best, one.zone) + largestShiftNear(best, one.zone) + minuteMs)
      return best
    if (minute > untilMs + 2 * dayMs) return null
    const day = new Date(minute)
    if (!dayMatches(fields, day)) {
      minute = Math.floor(minute / dayMs) * dayMs + dayMs
      continue
    }
    if (!fields.hours.has(day.getUTCHours())) {
      minute = Math.floor(minute / (60 * minuteMs)) * 60 * minuteMs + 60 * minuteMs
      continue
    }
    if (fields.minutes.has(day.getUTCMinutes())) {
      for (const second of fields.seconds) {
        for (const at of instantsOf(minute + second * 1000, one.zone, runAfterGap, bothPasses)) {
          if (at > one.from && at >= 0 && at < untilMs && (best === null || at < best)) best = at
        }
      }
    }
    minute += minuteMs
  }
}

export interface OracleInterval {
  /** ISO 8601, with a calendar unit. */
  duration: string
  zone: string
  /** Epoch milliseconds of slot 0. */
  start: number
  from: number
  dstGap?: 'run_after' | 'skip'
  dstFold?: 'first' | 'both'
}

/** Counts slot after slot from the anchor, letting Temporal do the calendar. */
export function oracleIntervalNext(one: OracleInterval, slotsMax = 3_000): number | null | undefined {
  const anchor = Temporal.Instant.fromEpochMilliseconds(one.start)
    .toZonedDateTimeISO(one.zone)
    .toPlainDateTime()
  const { years, months, weeks, days, hours, minutes } = Temporal.Duration.from(one.duration)
  const found: number[] = []
  for (let k = 0; k < slotsMax; k++) {
    const moved = anchor
      .add({ years: years * k, months: months * k })
      .add({ weeks: weeks * k, days: days * k })
      .add({ hours: hours * k, minutes: minutes * k })
    const wall = Date.parse(`${moved.toString({ smallestUnit: 'second' })}Z`)
    const instants = instantsOf(wall, one.zone, one.dstGap !== 'skip', one.dstFold === 'both')
    found.push(...instants.filter((at) => at > one.from && at >= one.start && at < lastMs))
    if (wall > wallMs(one.from, one.zone) + 3 * dayMs && found.length > 0) return Math.min(...found)
    if (wall > lastMs + 2 * dayMs) return found.length > 0 ? Math.min(...found) : null
  }
  return undefined
}

/** Local time as if it were UTC. */
function wallMs(at: number, zone: string): number {
  return (
    at +
    Math.round(Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).offsetNanoseconds / 1e6)
  )
}

const shifts = new Map<string, number>()

function largestShiftNear(at: number, zone: string): number {
  const day = Math.floor(at / dayMs)
  const key = `${zone} ${day}`
  const known = shifts.get(key)
  if (known !== undefined) return known
  let largest = 0
  let here = Temporal.Instant.fromEpochMilliseconds((day - 3) * dayMs).toZonedDateTimeISO(zone)
  for (;;) {
    const next = here.getTimeZoneTransition('next')
    if (next === null || next.epochMilliseconds > (day + 4) * dayMs) break
    const change = next.offsetNanoseconds - next.subtract({ nanoseconds: 1 }).offsetNanoseconds
    largest = Math.max(largest, Math.abs(change) / 1e6)
    here = next
  }
  if (shifts.size > 50_000) shifts.clear()
  shifts.set(key, largest)
  return largest
}

/** Every instant at which one nominal local time runs. */
function instantsOf(wall: number, zone: string, runAfterGap: boolean, bothPasses: boolean): number[] {
  const text = new Date(wall).toISOString().slice(0, 19)
  if (largestShiftNear(wall, zone) === 0) {
    // Nothing changes for days around: there is one answer and no rule to apply.
    return [Temporal.PlainDateTime.from(text).toZonedDateTime(zone).epochMilliseconds]
  }
  const plain = Temporal.PlainDateTime.from(text)
  const earlier = plain.toZonedDateTime(zone, { disambiguation: 'earlier' })
  const later = plain.toZonedDateTime(zone, { disambiguation: 'later' })
  if (earlier.epochMilliseconds === later.epochMilliseconds) return [earlier.epochMilliseconds]
  if (earlier.toPlainDateTime().equals(plain)) {
    return bothPasses ? [earlier.epochMilliseconds, later.epochMilliseconds] : [earlier.epochMilliseconds]
  }
  // In a gap: the earlier reading lies before the change, and the change is the first instant after the gap.
  return runAfterGap ? [earlier.getTimeZoneTransition('next')!.epochMilliseconds] : []
}

function dayMatches(fields: Fields, date: Date): boolean {
  if (!fields.months.has(date.getUTCMonth() + 1)) return false
  if (fields.years !== null && !fields.years.has(date.getUTCFullYear())) return false
  const isStar = (term: string) => term === '*' || term === '?' || term === '*/1'
  const dayStar = fields.dayTerms.some(isStar)
  const weekdayStar = fields.weekdayTerms.some(isStar)
  const byDay = dayStar || fields.dayTerms.some((term) => monthDayMatches(term, date))
  const byWeekday = weekdayStar || fields.weekdayTerms.some((term) => weekdayMatches(term, date))
  if (dayStar || weekdayStar || fields.and) return byDay && byWeekday
  return byDay || byWeekday
}

function monthDayMatches(term: string, date: Date): boolean {
  const year = date.getUTCFullYear()
  const month = date.getUTCMonth()
  const length = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  const today = date.getUTCDate()
  const last = /^L(?:-(\d+))?(W?)$/.exec(term)
  if (last !== null) {
    const target = length - Number(last[1] ?? 0)
    if (target < 1) return false
    return last[2] === 'W' ? today === nearestWorkday(year, month, target, length) : today === target
  }
  const near = /^(\d+)W$/.exec(term)
  if (near !== null) {
    return Number(near[1]) <= length && today === nearestWorkday(year, month, Number(near[1]), length)
  }
  return expand(term, 1, 31, 31, []).has(today)
}

/** Looks 1, then 2 days to either side for a Monday to Friday of the same month. */
function nearestWorkday(year: number, month: number, target: number, length: number): number {
  for (const step of [0, -1, 1, -2, 2]) {
    const day = target + step
    if (day < 1 || day > length) continue
    const weekday = new Date(Date.UTC(year, month, day)).getUTCDay()
    if (weekday >= 1 && weekday <= 5) return day
  }
  throw new Error('every month has weekdays')
}

function weekdayMatches(term: string, date: Date): boolean {
  const special = /^(\w+?)(?:#(\d|L)|(L))$/.exec(term)
  if (special !== null) {
    const wanted = expand(special[1]!, 0, 7, 7, weekdayNames)
    if (!wanted.has(date.getUTCDay()) && !(wanted.has(7) && date.getUTCDay() === 0)) return false
    const weekLater = new Date(date.getTime() + 7 * dayMs)
    if (special[2] === undefined || special[2] === 'L') return weekLater.getUTCMonth() !== date.getUTCMonth()
    let count = 0
    for (let day = date.getUTCDate(); day >= 1; day -= 7) count++
    return count === Number(special[2])
  }
  const days = expand(term, 0, 7, 7, weekdayNames)
  return days.has(date.getUTCDay()) || (date.getUTCDay() === 0 && days.has(7))
}

function readFields(expression: string): Fields {
  let parts = expression.trim().split(/[ \t]+/)
  if (parts.length === 5) parts = ['0', ...parts]
  const [second, minute, hour, day, month, weekday, year] = parts as [
    string,
    string,
    string,
    string,
    string,
    string,
  ] &
    (string | undefined)[]
  const set = (text: string, min: number, max: number, names: string[] = []) =>
    new Set(text.split(',').flatMap((term) => [...expand(term, min, max, max - min + 1, names)]))
  const seconds = set(second, 0, 59)
  const minutes = set(minute, 0, 59)
  const hours = set(hour, 0, 23)
  const and = weekday.startsWith('+')
  return {
    seconds,
    minutes,
    hours,
    dayTerms: day.toUpperCase().split(','),
    months: set(month, 1, 12, monthNames),
    weekdayTerms: weekday.toUpperCase().replace('+', '').split(','),
    years: year === undefined || year === '*' ? null : set(year, 1970, 2199),
    and,
    elapsed: hours.size === 24,
  }
}

const expanded = new Map<string, Set<number>>()

/**
 * The values of a single term, counted one by one from its start, wrapping around the field if the end lies before the
 * start.
 */
function expand(term: string, min: number, max: number, size: number, names: string[]): Set<number> {
  const key = `${term}|${min}|${max}`
  const known = expanded.get(key)
  if (known !== undefined) return known
  const [range, stepText] = term.toUpperCase().split('/') as [string, string | undefined]
  const step = Number(stepText ?? 1)
  const value = (text: string) =>
    names.includes(text) ? names.indexOf(text) + (min === 1 ? 1 : 0) : Number.parseInt(text, 10)
  const values = new Set<number>()
  if (range === '*' || range === '?') {
    for (let v = min; v <= max; v += step) values.add(v)
  } else if (range.includes('-')) {
    const [first, last] = range.split('-').map(value) as [number, number]
    const week = max === 7
    let at = week && first === 7 && last !== 7 ? 0 : first
    const isEveryDay = week && first === 0 && last === 7
    let left = isEveryDay ? 7 : (((last - at) % size) + size) % size
    for (let counted = 0; left >= 0; left--, counted++) {
      if (counted % step === 0) values.add(at)
      at = at + 1 >= min + size ? min : at + 1
    }
  } else {
    const first = value(range)
    for (let v = first; v <= (stepText === undefined ? first : max); v += step) values.add(v)
  }
  if (expanded.size > 20_000) expanded.clear()
  expanded.set(key, values)
  return values
}

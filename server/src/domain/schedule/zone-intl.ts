// The UTC offset changes of a zone where Temporal is missing: Node before 26, which runs the SDK's test kit. Intl only
// gives the local time at an instant, so the offset is sampled every few days, and where it differs the second of the
// change is searched. A test holds it equal to Temporal for every zone.
import { DAY_SECONDS, FIRST_SECOND, localSeconds } from './civil.ts'
import type { ZoneReading } from './zone-temporal.ts'

/** No two changes of a zone lie closer together: the closest were a week apart (Recife in 2000). */
const stepSeconds = 6 * DAY_SECONDS
/** A zone without a clock change from 1970 to 2101 is taken to be fixed. */
const fixedUntil = 4_133_980_800

/** Null: there is no such zone. */
export function readByIntl(name: string): ZoneReading | null {
  const fixed = readOffset(name)
  if (fixed !== null) {
    const offsets = [fixed.offset]
    return { id: fixed.id, isFixed: true, segments: (until) => ({ starts: [FIRST_SECOND, until], offsets }) }
  }
  let clock: Intl.DateTimeFormat
  try {
    clock = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    })
  } catch {
    return null
  }
  let known = { until: FIRST_SECOND, starts: [FIRST_SECOND], offsets: [0] }
  const segments = (until: number) => {
    if (known.until < until) known = search(clock, until)
    const count = known.starts.findIndex((start, index) => index > 0 && start >= until)
    return { starts: [...known.starts.slice(0, count), until], offsets: known.offsets.slice(0, count) }
  }
  return {
    id: spellingOf(name, clock),
    get isFixed() {
      return segments(fixedUntil).offsets.length === 1
    },
    segments,
  }
}

function search(clock: Intl.DateTimeFormat, until: number) {
  const starts = [FIRST_SECOND]
  const offsets = [offsetAt(clock, FIRST_SECOND)]
  for (let low = FIRST_SECOND; low < until; low += stepSeconds) {
    const high = Math.min(low + stepSeconds, until)
    const before = offsets.at(-1)!
    const after = offsetAt(clock, high)
    if (after === before) continue
    let [from, to] = [low, high]
    while (to - from > 1) {
      const middle = Math.floor((from + to) / 2)
      if (offsetAt(clock, middle) === before) from = middle
      else to = middle
    }
    if (to >= until) break
    starts.push(to)
    offsets.push(after)
  }
  starts.push(until)
  return { until, starts, offsets }
}

/** The local clock reading, `01/31/2026, 09:30:00`, minus the UTC reading. */
function offsetAt(clock: Intl.DateTimeFormat, second: number): number {
  const text = clock.format(second * 1_000)
  const at = (index: number, length: number) => Number(text.slice(index, index + length))
  return localSeconds(at(6, 4), at(0, 2), at(3, 2), at(12, 2), at(15, 2), at(18, 2)) - second
}

/** `+05:30`, which Intl did not take before Node 22. */
function readOffset(name: string): { id: string; offset: number } | null {
  const match = /^([+-])([01]\d|2[0-3])(?::?([0-5]\d))?$/.exec(name)
  if (match === null) return null
  const [, sign, hours, minutes = '00'] = match
  const offset = (Number(hours) * 3_600 + Number(minutes) * 60) * (sign === '-' ? -1 : 1)
  return { id: `${offset === 0 ? '+' : sign}${hours}:${minutes}`, offset: offset === 0 ? 0 : offset }
}

// Before Node 24 Intl answers a link with the zone it leads to; then the name is kept as it was written.
function spellingOf(name: string, clock: Intl.DateTimeFormat): string {
  const resolved = clock.resolvedOptions().timeZone
  if (resolved.toLowerCase() === name.toLowerCase()) return resolved
  const known = Intl.supportedValuesOf('timeZone').find((one) => one.toLowerCase() === name.toLowerCase())
  return known ?? (name.toLowerCase() === 'utc' ? 'UTC' : name)
}

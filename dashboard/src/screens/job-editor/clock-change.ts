// When the clock of a zone changes next. The next few runs of a daily job seldom reach so far, and that is the day on
// which people want to know.
import { dayMs, minuteMs } from '../../lib/units.ts'

const daysMax = 370

/** The first instant with another offset, to the minute; null: none within a year, or no such zone. */
export function nextClockChange(zone: string, fromMs: number): number | null {
  const offsetAt = offsetReader(zone)
  if (offsetAt === null) return null
  const before = offsetAt(fromMs)
  for (let day = 1; day <= daysMax; day++) {
    if (offsetAt(fromMs + day * dayMs) === before) continue
    let low = fromMs + (day - 1) * dayMs
    let high = fromMs + day * dayMs
    while (high - low > 60_000) {
      const middle = Math.floor((low + high) / 2)
      if (offsetAt(middle) === before) low = middle
      else high = middle
    }
    return Math.floor(high / minuteMs) * minuteMs
  }
  return null
}

function offsetReader(zone: string): ((ms: number) => string) | null {
  try {
    const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeZoneName: 'longOffset' })
    return (ms) => format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? ''
  } catch {
    return null
  }
}

// start_date and end_date of a list: whole UTC days, or instants. Both ends are included.
import { readTime } from '../../domain/schedule/instant.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'
import { hintAtPlus } from './instant.ts'
import { refuseField } from './problem.ts'
import { Refusals } from './refusals.ts'

interface DateQuery {
  start_date?: string | undefined
  end_date?: string | undefined
}

export interface DateRange {
  from: EpochMs | null
  /** Not included. */
  to: EpochMs | null
}

/** `place`: the pointer to the object that holds the dates, if it is not the query string. */
export function readDateRange(query: DateQuery, place = ''): DateRange {
  const { start_date: start, end_date: end } = query
  const refusals = new Refusals()
  const first = start && refusals.attempt(() => readSpan(start, `${place}start_date`))
  const last = end && refusals.attempt(() => readSpan(end, `${place}end_date`))
  refusals.throwAny()
  const from = first ? first.first : null
  const to = last ? epochMs(last.last + 1) : null
  if (from !== null && to !== null && to <= from) {
    throw refuseField(`${place}end_date`, 'lies before start_date')
  }
  return { from, to }
}

/** The first and the last millisecond that a text means: of a UTC day, or of an instant. */
export function readSpan(text: string, name: string): { first: EpochMs; last: EpochMs } {
  const time = readTime(text, name)
  if (!time.ok || (!time.value.zoned && !time.value.dateOnly)) {
    const detail = 'must be a day such as 2026-01-31, or an instant such as 2026-01-31T09:00:00Z'
    throw refuseField(name, detail + hintAtPlus(text))
  }
  const ms = time.value.seconds * 1_000
  if (time.value.dateOnly) return { first: epochMs(ms), last: epochMs(ms + dayMs - 1) }
  return { first: epochMs(Math.ceil(ms)), last: epochMs(Math.floor(ms)) }
}

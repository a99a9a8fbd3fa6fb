// The changes of UTC offset of a zone, as Temporal knows them.
import { FIRST_SECOND } from './civil.ts'

/** The questions that the engine asks of a source of zone data. */
export interface ZoneReading {
  /** As the database spells it; a link (`US/Eastern`) keeps its own name. */
  id: string
  isFixed: boolean
  /** Segments from the beginning of the engine's range to a second, which ends the last one. */
  segments(until: number): { starts: number[]; offsets: number[] }
}

// No zone has had more than 4 changes a year; the guard stops a wrong answer of Temporal from looping.
const transitionsMax = 2_000

/** Null: there is no such zone. */
export function readByTemporal(name: string): ZoneReading | null {
  let first: Temporal.ZonedDateTime
  try {
    first = Temporal.Instant.fromEpochMilliseconds(FIRST_SECOND).toZonedDateTimeISO(name)
  } catch {
    return null
  }
  return {
    id: first.timeZoneId,
    isFixed: first.getTimeZoneTransition('next') === null,
    segments: (until) => readSegments(first, until),
  }
}

function readSegments(first: Temporal.ZonedDateTime, until: number): { starts: number[]; offsets: number[] } {
  let at = first
  const starts = [FIRST_SECOND]
  const offsets = [at.offsetNanoseconds / 1e9]
  for (let read = 0; read < transitionsMax; read++) {
    const next = at.getTimeZoneTransition('next')
    if (next === null) break
    const start = next.epochMilliseconds / 1000
    const offset = next.offsetNanoseconds / 1e9
    // boa-dev/temporal#602: engines have answered with the same instant or an unchanged offset.
    if (start <= at.epochMilliseconds / 1000 || start >= until) break
    if (offset !== offsets.at(-1)) {
      starts.push(start)
      offsets.push(offset)
    }
    at = next
  }
  starts.push(until)
  return { starts, offsets }
}

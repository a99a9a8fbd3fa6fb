// Proleptic Gregorian calendar in plain integers: day numbers count from 1970-01-01. No Date, no Temporal,
// because these run inside every search. The method is Neri and Schneider's (2022), exact for years 0 to 32,000.

export const DAY_SECONDS = 86_400

/** No slot exists before this second nor at or after the next one: the engine's range is 1970 to 2199. */
export const FIRST_SECOND = 0
export const LAST_SECOND = 7_258_118_400
export const FIRST_YEAR = 1970
export const LAST_YEAR = 2199

/** Day number of the first of a month; month is 1 to 12. */
export function firstDayOfMonth(year: number, month: number): number {
  const late = month <= 2
  const y = late ? year - 1 : year
  const m = late ? month + 12 : month
  const century = (y / 100) | 0
  return (((1461 * y) / 4) | 0) - century + (century >> 2) + ((979 * m - 2919) >> 5) - 719_468
}

/** Year, month and day packed as year * 512 + month * 32 + day, so that no object is made. */
export function civilOf(day: number): number {
  const n1 = 4 * (day + 719_468) + 3
  const century = (n1 / 146_097) | 0
  const n2 = (n1 - century * 146_097) | 3
  const yearOfCentury = (n2 / 1461) | 0
  const dayOfYear = ((n2 - yearOfCentury * 1461) / 4) | 0
  const n3 = 2141 * dayOfYear + 197_913
  const late = dayOfYear >= 306
  const year = 100 * century + yearOfCentury + (late ? 1 : 0)
  const month = (n3 >> 16) - (late ? 12 : 0)
  return (year << 9) | (month << 5) | ((((n3 & 65_535) / 2141) | 0) + 1)
}

export function monthLength(year: number, month: number): number {
  if (month !== 2) return 30 | (month ^ (month >> 3))
  return (year & 3) === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
}

/** 0 is Sunday. 1970-01-01 was a Thursday. */
export function weekdayOf(day: number): number {
  return (day + 4) % 7
}

/** A local civil time as seconds since the local 1970-01-01T00:00:00. */
export function localSeconds(
  year: number,
  month: number,
  day: number,
  hour = 0,
  minute = 0,
  second = 0,
): number {
  return (firstDayOfMonth(year, month) + day - 1) * DAY_SECONDS + hour * 3600 + minute * 60 + second
}

export function twoDigits(value: number): string {
  return value < 10 ? `0${value}` : `${value}`
}

/** `2026-11-15T21:14:42`, from local seconds. */
export function formatLocal(seconds: number): string {
  const day = Math.floor(seconds / DAY_SECONDS)
  const rest = seconds - day * DAY_SECONDS
  const civil = civilOf(day)
  const date = `${civil >> 9}-${twoDigits((civil >> 5) & 15)}-${twoDigits(civil & 31)}`
  return `${date}T${twoDigits((rest / 3600) | 0)}:${twoDigits(((rest / 60) | 0) % 60)}:${twoDigits(rest % 60)}`
}

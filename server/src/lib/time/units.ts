// Units of time in milliseconds.

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs
/** 24 hours: a day of UTC, which has no clock changes. */
export const dayMs = 24 * hourMs

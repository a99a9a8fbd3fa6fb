// Units of time in milliseconds.

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs
/** 24 hours; a local day may have 23 or 25. */
export const dayMs = 24 * hourMs

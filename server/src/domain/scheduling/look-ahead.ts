// How far the scheduler looks ahead. Jobs due later cost nothing but their rows.

/** Cursors due within this time are in the scheduler's memory. */
export const lookAheadMs = 60_000

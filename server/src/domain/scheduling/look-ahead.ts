// How far the scheduler looks ahead. What is due later costs nothing but its rows.

/** Cursors due within this time are in the scheduler's memory. */
export const lookAheadMs = 60_000

// What this program can read of the database, beside what older ones can that may run at the same time.

/** As migration 16 counts it: 1: batches of triggers. */
export const generation = 1

// The database generation of this program: the data it can read and older programs running at the same time cannot.

/** As migration 16 counts it: 1: batches of triggers. */
export const generation = 1

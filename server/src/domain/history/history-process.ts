// Liveness of processes with the role `history`.

export const historyBeatMs = 3_000
/** A process that has not beaten for so long is taken for dead: four lost beats, or a pause of a few seconds, are not. */
export const historyTermMs = 15_000

// Limits on a schedule from outside its pattern: first and last instant, the number of slots that may fire, and the
// windows in which slots are skipped.

export interface SlotBounds {
  /** First instant that may be a slot, in epoch seconds; -Infinity without one. */
  readonly startSecond: number
  /** Last instant that may be a slot, in epoch seconds; Infinity without one. */
  readonly endSecond: number
  /** How many slots may fire; null without a limit. The caller counts them: it knows which fired. */
  readonly maxRuns: number | null
  /** Windows [from, to) in epoch seconds, sorted and disjoint, flat: from, to, from, to. */
  readonly excluded: Float64Array
}

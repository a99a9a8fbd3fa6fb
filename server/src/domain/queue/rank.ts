// The order of executions in a lane: the lowest rank first. `rank` is the moment of enqueueing plus 60 s for each level of
// priority (1 is the most urgent). A minute of waiting is worth one level, so one static index has the order of effective
// priority for every moment.
import type { EpochMs } from '../../lib/time/epoch.ts'

const rankMsPerLevel = 60_000
/** A trigger is two levels more urgent than its job: a person is waiting. */
export const triggerLevels = 2

export function rankOf(enqueuedAt: EpochMs, priority: number): EpochMs {
  return (enqueuedAt + priority * rankMsPerLevel) as EpochMs
}

export function triggerPriority(priority: number): number {
  return Math.max(1, priority - triggerLevels)
}

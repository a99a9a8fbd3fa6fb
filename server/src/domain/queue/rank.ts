// The order of executions in a lane. `rank` is the moment of enqueueing plus 60 s for each level of priority: since a
// minute of waiting is worth one level, sorting by it is sorting by effective priority at any moment, in a static
// index.
import type { EpochMs } from '../../lib/time/epoch.ts'

const rankMsPerLevel = 60_000
/** A trigger is enqueued two levels above its job: a person is waiting. */
export const triggerLevels = 2

export function rankOf(enqueuedAt: EpochMs, priority: number): EpochMs {
  return (enqueuedAt + priority * rankMsPerLevel) as EpochMs
}

export function triggerPriority(priority: number): number {
  return Math.max(1, priority - triggerLevels)
}

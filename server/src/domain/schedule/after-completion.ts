// `after_completion`: an interval that counts from the end of the last execution instead of from a grid.
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { StoredSchedule } from '../jobs/job.ts'
import { compileSchedule } from './compile-schedule.ts'
import { nextSlot } from './next-run.ts'

/** The slot one interval after an end; null: `end_at` comes before it, or the schedule cannot be read any more. */
export function slotAfterEnd(
  { jobId, schedule }: { jobId: string; schedule: StoredSchedule },
  endedAt: EpochMs,
): EpochMs | null {
  // A start is the time of the first slot; after that it only holds back slots that come before it.
  const { start_at: _start, ...rest } = schedule
  // A slot is a whole second, and never early: after an end within a second the interval begins with the next one.
  const from = (Math.ceil(endedAt / 1_000) * 1_000) as EpochMs
  const compiled = compileSchedule(rest, { createdAt: from, jobId })
  return compiled.ok ? nextSlot(compiled.value.compiled, from) : null
}

export function isAfterCompletion(schedule: StoredSchedule): boolean {
  return schedule.after_completion === true
}

// Which of its exclusions skips a slot, in words.
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { StoredSchedule } from '../jobs/job.ts'
import { compileStored } from './compile-schedule.ts'
import type { Calendars } from './exclusions.ts'
import { isExcluded } from './next-run.ts'

/** `by the calendar "holidays"`; null: none of them, as they are now. */
export function nameExclusion(
  { jobId, schedule, anchorAt }: { jobId: string; schedule: StoredSchedule; anchorAt: EpochMs },
  calendars: Calendars,
  slot: EpochMs,
): string | null {
  for (const one of schedule.exclusions ?? []) {
    const alone = compileStored({ jobId, anchorAt, schedule: { ...schedule, exclusions: [one] } }, calendars)
    if (alone === null || !isExcluded(alone, slot)) continue
    if ('calendar' in one) return `by the calendar "${one.calendar}"`
    return 'date' in one ? `on ${one.date}` : `from ${one.from} to ${one.to}`
  }
  return null
}

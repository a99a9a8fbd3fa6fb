// Plans a job that counts from the end of its last execution: one slot at a time, on no grid. After a fire its next slot
// is not known, and the release loop plans it when the execution has ended; after a skip there is no end to wait for.
import type { StoredSchedule } from '../domain/jobs/job.ts'
import { slotAfterEnd } from '../domain/schedule/after-completion.ts'
import { isExcluded } from '../domain/schedule/next-run.ts'
import { lateAfterMs, mayRunMisfired } from '../domain/scheduling/misfire.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { Entry } from './entry.ts'
import { moveTo, type Plan, plain, setCount } from './planned-slot.ts'

export function planAfterCompletion(
  entry: Entry,
  schedule: StoredSchedule,
  { now, misfireAfterMs }: { now: EpochMs; misfireAfterMs: number },
): Plan {
  const { jobId, slot } = entry
  const one = plain(entry, slot)
  const isLate = now - one.dueAt > lateAfterMs
  const isMisfired = one.dueAt < now - misfireAfterMs
  if (isLate) one.plannedAt = now
  if (isExcluded(entry.schedule, slot)) one.skip = 'exclusion'
  else if (isMisfired && !mayRunMisfired(entry, one.dueAt, now)) {
    one.skip = 'misfire'
    one.skipped = [{ from: slot, to: slot, count: 1, reason: 'misfire' }]
  }
  if (one.skip === null) {
    one.late = isLate
    one.move = { slotAt: null, dueAt: null, decidedTo: slot, awaits: true }
    return { slots: [one], decidedTo: slot, next: null }
  }
  setCount(one, 0)
  // A late job counts from now: no slot was due in between, and counted from its slot the next one would be as late.
  const next = slotAfterEnd({ jobId, schedule }, isLate ? now : slot)
  one.move = moveTo(entry, next, slot)
  return { slots: [one], decidedTo: slot, next }
}

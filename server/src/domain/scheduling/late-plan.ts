// The decision of a scheduler about a job after an outage covers many slots. If another scheduler has decided part of
// them meanwhile, the plan was made too early: carried out, it would leave holes or skip slots that ran.
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { SkippedSlots } from './misfire.ts'

interface PlannedSlot {
  jobId: string
  slot: EpochMs
  skipped: readonly SkippedSlots[]
  move: { decidedTo: EpochMs } | null
}

/** For each job of which more than one slot is decided: the first and the last of them. */
export function latePlansOf(slots: readonly PlannedSlot[]): Map<string, { from: EpochMs; to: EpochMs }> {
  const plans = new Map<string, { from: EpochMs; to: EpochMs }>()
  const single = new Map<string, { from: EpochMs; to: EpochMs }>()
  for (const { jobId, slot, skipped, move } of slots) {
    const before = plans.get(jobId) ?? single.get(jobId)
    const from = Math.min(before?.from ?? slot, skipped[0]?.from ?? slot) as EpochMs
    const to = Math.max(before?.to ?? slot, move?.decidedTo ?? slot) as EpochMs
    if (from < to) plans.set(jobId, { from, to })
    else single.set(jobId, { from, to })
  }
  return plans
}

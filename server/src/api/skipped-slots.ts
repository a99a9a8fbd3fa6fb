// Slots without an execution. The store keeps runs of equal skips as ranges; here they become slots again, newest
// first, no more of them than a page holds, each by the schedule it was skipped under.
import type { SkippedSlot } from '@carillon/contract/execution.ts'
import { type CompiledSchedule, countSlots, previousSlot } from '../domain/schedule/next-run.ts'
import type { EpochMs } from '../lib/epoch.ts'
import type { SkipRange } from '../ports/history.ts'
import { toScheduledTime } from './execution-shape.ts'
import { scheduleOf } from './job-shape.ts'

/** Both included. */
interface Window {
  from: EpochMs
  to: EpochMs
}

/** The schedules of a job by version, each read once. */
export class SkipSchedules {
  readonly #jobId: string
  readonly #schedules = new Map<number, CompiledSchedule | null>()

  constructor(jobId: string) {
    this.#jobId = jobId
  }

  /** Null when it cannot be read any more. */
  find({ version, schedule, anchorAt }: SkipRange): CompiledSchedule | null {
    let compiled = this.#schedules.get(version)
    if (compiled === undefined) {
      compiled = scheduleOf({ schedule, anchorAt, jobId: this.#jobId })
      this.#schedules.set(version, compiled)
    }
    return compiled
  }
}

/** Ranges come latest first. At most `limit` slots, and whether there are more. */
export function listSlots(
  schedules: SkipSchedules,
  ranges: readonly SkipRange[],
  { window, limit }: { window: Window; limit: number },
): { slots: { at: EpochMs; reason: SkipRange['reason'] }[]; more: boolean } {
  const slots: { at: EpochMs; reason: SkipRange['reason'] }[] = []
  for (const range of ranges) {
    const schedule = schedules.find(range)
    if (schedule === null) continue
    const { from, to } = clip(range, window)
    let at = previousSlot(schedule, (to + 1) as EpochMs)
    while (at !== null && at >= from) {
      if (slots.length === limit) return { slots, more: true }
      slots.push({ at, reason: range.reason })
      at = previousSlot(schedule, at)
    }
  }
  return { slots, more: false }
}

/** How many slots of the ranges lie in the window. */
export function countSkipped(schedules: SkipSchedules, ranges: readonly SkipRange[], window: Window): number {
  let count = 0
  for (const range of ranges) {
    const { from, to } = clip(range, window)
    const whole = from === range.from && to === range.to
    const schedule = schedules.find(range)
    if (schedule === null) continue
    count += whole ? range.count : countSlots(schedule, { from, to: (to + 1) as EpochMs })
  }
  return count
}

export function toSkippedSlot({ at, reason }: { at: EpochMs; reason: SkipRange['reason'] }): SkippedSlot {
  return { execution_id: null, status: 'SKIPPED', scheduled_time: toScheduledTime(at), reason }
}

function clip(range: SkipRange, window: Window): Window {
  return {
    from: Math.max(range.from, window.from) as EpochMs,
    to: Math.min(range.to, window.to) as EpochMs,
  }
}

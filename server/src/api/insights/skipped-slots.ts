// Slots without an execution. The store keeps runs of equal skips as ranges; here they become slots again, no more of
// them than a page holds, each by the schedule it was skipped under.
import type { SkippedSlot } from '@carillon/contract/execution.ts'
import { compileStored } from '../../domain/schedule/compile-schedule.ts'
import { type CompiledSchedule, countSlots, nextSlot, previousSlot } from '../../domain/schedule/next-run.ts'
import type { SlotWindow } from '../../domain/scheduling/unrecorded-slots.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { SkipRange, SlotOrder } from '../../ports/slot-ledger.ts'
import { toScheduledTime } from '../executions/execution-view.ts'

interface SkippedAt {
  at: EpochMs
  reason: SkipRange['reason']
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
      compiled = compileStored({ schedule, anchorAt, jobId: this.#jobId })
      this.#schedules.set(version, compiled)
    }
    return compiled
  }
}

/** Ranges come latest first. At most `limit` slots, and whether there are more. */
export function listSlots(
  schedules: SkipSchedules,
  ranges: readonly SkipRange[],
  { window, limit }: { window: SlotWindow; limit: number },
): { slots: SkippedAt[]; more: boolean } {
  const slots: SkippedAt[] = []
  for (const { at, range } of expandRanges(schedules, ranges, { window, order: 'desc' })) {
    if (slots.length === limit) return { slots, more: true }
    slots.push({ at, reason: range.reason })
  }
  return { slots, more: false }
}

/** The slots of ranges that come in this order, one by one as they are asked for. */
export function* expandRanges(
  schedules: SkipSchedules,
  ranges: readonly SkipRange[],
  { window, order }: { window: SlotWindow; order: SlotOrder },
): Generator<{ at: EpochMs; range: SkipRange }> {
  for (const range of ranges) {
    const { from, to } = clip(range, window)
    const schedule = schedules.find(range)
    if (isSingle(range, schedule)) {
      if (range.from >= from && range.from <= to) yield { at: range.from, range }
      continue
    }
    const next = (at: EpochMs) => (order === 'asc' ? nextSlot(schedule, at) : previousSlot(schedule, at))
    let at = next((order === 'asc' ? from - 1 : to + 1) as EpochMs)
    while (at !== null && at >= from && at <= to) {
      yield { at, range }
      at = next(at)
    }
  }
}

/** How many slots of the ranges lie in the window. */
export function countSkipped(
  schedules: SkipSchedules,
  ranges: readonly SkipRange[],
  window: SlotWindow,
): number {
  let count = 0
  for (const range of ranges) {
    const { from, to } = clip(range, window)
    const whole = from === range.from && to === range.to
    const schedule = schedules.find(range)
    if (isSingle(range, schedule)) count += range.from >= from && range.from <= to ? 1 : 0
    else count += whole ? range.count : countSlots(schedule, { from, to: (to + 1) as EpochMs })
  }
  return count
}

/** A single slot stands for itself, regardless of the schedule: a slot that counts from an end is on no grid. */
function isSingle(range: SkipRange, schedule: CompiledSchedule | null): schedule is null {
  return range.count === 1 || schedule === null
}

export function toSkippedSlot({ at, reason }: SkippedAt): SkippedSlot {
  return { execution_id: null, status: 'SKIPPED', scheduled_time: toScheduledTime(at), reason }
}

function clip(range: SkipRange, window: SlotWindow): SlotWindow {
  return {
    from: Math.max(range.from, window.from) as EpochMs,
    to: Math.min(range.to, window.to) as EpochMs,
  }
}

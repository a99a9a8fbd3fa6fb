// Slots of a job that have no record yet: owed slots, due slots without a decision, and slots to come. Found by the
// schedule, in either direction, never by walking over more of them than were requested.
import type { SlotReason, SlotStatus } from '@carillon/contract/slot.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { JobView } from '../jobs/job.ts'
import { isAfterCompletion } from '../schedule/after-completion.ts'
import { countRuns, nthRun } from '../schedule/count-runs.ts'
import { dueAtOf } from '../schedule/jitter.ts'
import {
  type CompiledSchedule,
  countSlots,
  isExcluded,
  nextSlot,
  previousSlot,
} from '../schedule/next-run.ts'

export interface SlotFacts {
  job: Pick<JobView, 'jobId' | 'status' | 'slotAt' | 'pause' | 'runs' | 'schedule' | 'jitterSeconds'>
  /** With its calendars. Null: it cannot be read any more. */
  schedule: CompiledSchedule | null
  now: EpochMs
  /** The latest slot that has a record. */
  recordedAt: EpochMs | null
  owed: { from: EpochMs; to: EpochMs } | null
}

/** Both included. */
export interface SlotWindow {
  from: EpochMs
  to: EpochMs
}

export interface UnrecordedSlot {
  slot: EpochMs
  status: SlotStatus
  reason: SlotReason | null
}

/** Every slot of the schedule in it, or the one slot that it is. */
type Stretch = SlotWindow & { owed: boolean; single: boolean }

export class UnrecordedSlots {
  readonly #facts: SlotFacts
  /** In order, within the window. */
  readonly #stretches: readonly Stretch[]

  constructor(facts: SlotFacts, window: SlotWindow) {
    this.#facts = facts
    this.#stretches = stretchesOf(facts, window)
  }

  /** The first one strictly after an instant. */
  next(after: EpochMs): UnrecordedSlot | null {
    for (const stretch of this.#stretches) {
      const from = Math.max(after + 1, stretch.from) as EpochMs
      const slot = this.#first(stretch, from)
      if (slot !== null && slot >= from && slot <= stretch.to) return this.#describe(slot, stretch)
    }
    return null
  }

  /** The last one strictly before an instant. */
  previous(before: EpochMs): UnrecordedSlot | null {
    for (const stretch of this.#stretches.toReversed()) {
      const to = Math.min(before - 1, stretch.to) as EpochMs
      const slot = this.#last(stretch, to)
      if (slot !== null && slot <= to && slot >= stretch.from) return this.#describe(slot, stretch)
    }
    return null
  }

  /** The number of slots; `owed` also counts owed slots that have a record. */
  count(): { owed: number; ahead: number } {
    const sum = (stretches: readonly Stretch[]) => stretches.reduce((all, one) => all + this.#countIn(one), 0)
    const owed = this.#stretches.filter((one) => one.owed)
    return { owed: sum(owed), ahead: sum(this.#stretches) - sum(owed) }
  }

  #first({ single, from: slot }: Stretch, from: EpochMs): EpochMs | null {
    if (single) return slot
    return nextSlot(this.#facts.schedule!, (from - 1) as EpochMs)
  }

  #last({ single, from: slot }: Stretch, to: EpochMs): EpochMs | null {
    if (single) return slot
    return previousSlot(this.#facts.schedule!, (to + 1) as EpochMs)
  }

  #countIn({ single, from, to }: Stretch): number {
    return single ? 1 : countSlots(this.#facts.schedule!, { from, to: (to + 1) as EpochMs })
  }

  #describe(slot: EpochMs, { owed }: Stretch): UnrecordedSlot {
    const { job, schedule, now } = this.#facts
    if (owed) return { slot, status: 'PENDING', reason: 'owed' }
    const pausedTo = pausedUntil(this.#facts)
    const isPaused = pausedTo !== null && slot < pausedTo
    // The record that resume will make of this slot.
    if (dueAtOf(job, slot) <= now)
      return isPaused
        ? { slot, status: 'SKIPPED', reason: 'paused' }
        : { slot, status: 'PENDING', reason: null }
    if (isPaused) return { slot, status: 'SCHEDULED', reason: 'paused' }
    const isOut = schedule !== null && isExcluded(schedule, slot)
    return { slot, status: 'SCHEDULED', reason: isOut ? 'exclusion' : null }
  }
}

function stretchesOf(facts: SlotFacts, window: SlotWindow): Stretch[] {
  const all = [...owedStretch(facts), ...aheadStretch(facts, window.to)]
  const clipped = all.map((one) => ({
    ...one,
    from: Math.max(one.from, window.from) as EpochMs,
    to: Math.min(one.to, window.to) as EpochMs,
  }))
  return clipped.filter(({ from, to }) => from <= to)
}

function owedStretch({ owed, job, schedule }: SlotFacts): Stretch[] {
  if (owed === null) return []
  const single = schedule === null || isAfterCompletion(job.schedule)
  return [{ from: owed.from, to: single ? owed.from : owed.to, owed: true, single }]
}

function aheadStretch(facts: SlotFacts, to: EpochMs): Stretch[] {
  const { job, schedule, recordedAt, owed } = facts
  if (job.slotAt === null || job.status === 'COMPLETED' || job.status === 'DELETED') return []
  // The stored slot may lag behind the recorded ones.
  const from = Math.max(job.slotAt, (recordedAt ?? -1) + 1, (owed?.to ?? -1) + 1) as EpochMs
  const single = schedule === null || isAfterCompletion(job.schedule)
  if (single) return job.slotAt < from ? [] : [{ from, to: from, owed: false, single }]
  return from > to ? [] : [{ from, to: lastToRun(facts, { from, to }), owed: false, single }]
}

/** With `max_runs` no more than are left; a pause spends none. */
function lastToRun(facts: SlotFacts, { from, to }: SlotWindow): EpochMs {
  const { job, schedule } = facts
  const max = job.schedule.max_runs
  if (max === undefined) return to
  const left = max - job.runs
  const range = { from: Math.max(from, pausedUntil(facts) ?? from) as EpochMs, to: (to + 1) as EpochMs }
  if (left <= 0) return (from - 1) as EpochMs
  if (range.from >= range.to || countRuns(schedule!, range) <= left) return to
  return nthRun(schedule!, range, left)
}

/** When slots fire again, as far as is known. Null: it is not paused. */
function pausedUntil({ job: { status, pause } }: SlotFacts): EpochMs | null {
  if (status !== 'PAUSED') return null
  return pause?.until ?? (Number.POSITIVE_INFINITY as EpochMs)
}

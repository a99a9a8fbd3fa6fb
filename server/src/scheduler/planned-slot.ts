// A slot as it is planned, from the job it belongs to.
import { runIdOfOwnSlot, runIdOfSlot } from '../domain/graphs/graph-run.ts'
import { dueAtOf } from '../domain/schedule/jitter.ts'
import { previousSlot } from '../domain/schedule/next-run.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { CursorMove, SlotToFire } from '../ports/slots.ts'
import type { Entry } from './entry.ts'

/** A slot to fire that has no id and lane yet. */
export type PlannedSlot = Omit<SlotToFire, 'executionId' | 'lane'>

export interface Plan {
  slots: PlannedSlot[]
  /** Every slot up to this one is decided once the plan is carried out. */
  decidedTo: EpochMs
  /** The slot after it; null: none is left, or none is known yet. */
  next: EpochMs | null
}

/** A slot that fires on time. */
export function plain(entry: Entry, slot: EpochMs): PlannedSlot {
  const { schedule, overlapPolicy, maxRuns, graphId } = entry
  // Only a slot that may be skipped because of overlap needs it.
  const hasNeighbours = (overlapPolicy !== 'ALLOW' || entry.limited) && entry.afterCompletion === null
  return {
    jobId: entry.jobId,
    version: entry.version,
    slot,
    dueAt: dueAtOf(entry, slot),
    route: entry.route,
    priority: entry.priority,
    overlapPolicy,
    limited: entry.limited,
    ownRow: entry.ownRows || graphId !== null,
    late: false,
    owedTo: null,
    owedPaceMs: 0,
    recordedAt: entry.recordedAt,
    previousSlot: hasNeighbours ? previousSlot(schedule, slot) : null,
    skipped: [],
    skip: null,
    runs: maxRuns === null ? null : { max: maxRuns, count: 1 },
    calendars: entry.calendars,
    graphId,
    runId: graphId === null ? null : runIdFor(entry, graphId, slot),
    move: null,
  }
}

function runIdFor({ jobId, afterCompletion }: Entry, graphId: string, slot: EpochMs): string {
  return afterCompletion === null ? runIdOfSlot(graphId, slot) : runIdOfOwnSlot(graphId, jobId, slot)
}

/** Sets how many slots of a job with a `maxRuns` run by this fire. */
export function setCount(one: PlannedSlot, count: number): void {
  if (one.runs !== null) one.runs = { max: one.runs.max, count }
}

export function moveTo(entry: Entry, next: EpochMs | null, decidedTo: EpochMs): CursorMove {
  return { slotAt: next, dueAt: next === null ? null : dueAtOf(entry, next), decidedTo }
}

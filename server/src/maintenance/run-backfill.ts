// A backfill: past slots of a job run as executions of their own, one after the other or a few at once. It makes no more
// than may run at once, and is over when all have ended.

import type { Operation } from '../domain/jobs/operation.ts'
import type { LaneChooser } from '../domain/queue/lane.ts'
import { compileStored } from '../domain/schedule/compile-schedule.ts'
import { countRuns } from '../domain/schedule/count-runs.ts'
import { calendarNames, emptyCalendars } from '../domain/schedule/exclusions.ts'
import { type CompiledSchedule, excludedUntil, nextSlot, previousSlot } from '../domain/schedule/next-run.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { Clock } from '../ports/clock.ts'
import type { Ids } from '../ports/ids.ts'
import type { OperationProgress } from '../ports/operations.ts'
import type { WriteStores } from '../ports/requests.ts'
import { type RoomDeps, roomOf, roomWaitMs } from './waiting-room.ts'

export interface BackfillDeps extends RoomDeps {
  clock: Clock
  ids: Ids
  lanes: LaneChooser
}

type BackfillOperation = Extract<Operation, { kind: 'backfill' }>

/** While its executions end one after the other. */
const busyMs = 20
/** While no execution of the backfill has ended since the last look. */
const idleMs = 250

export async function backfillSome(
  deps: BackfillDeps,
  operation: BackfillOperation,
  { jobs, calendars, tenantRoom }: Pick<WriteStores, 'jobs' | 'calendars' | 'tenantRoom'>,
): Promise<OperationProgress> {
  const { clock, ids, lanes, waiting } = deps
  const { tenantId, operationId, filter, done: doneBefore } = operation
  const { jobId } = filter
  const { maxConcurrent, order, schedule, anchorAt } = operation.options.backfill!
  const names = calendarNames(schedule)
  const entries = names && { ...emptyCalendars([schedule]), ...(await calendars.resolve(tenantId, names)) }
  const compiled = compileStored({ schedule, anchorAt, jobId }, entries)
  if (compiled === null) return failed('Its schedule cannot be read any more.')
  const range = { schedule: compiled, ...filter, isForward: order === 'asc' }
  const start = range.isForward ? filter.from - 1 : filter.to + 1
  const position = (operation.after === null ? start : Number(operation.after)) as EpochMs
  // One slot more than may be created shows whether this is the end.
  const slots = takeSlots(range, position, maxConcurrent + 1)
  const room = await roomOf(deps, { tenantId, tenantRoom })
  const outcome = await jobs.enqueueBackfill({
    tenantId,
    jobId,
    operationId,
    unendedMax: maxConcurrent,
    executions: slots.slice(0, room).map((slot) => ({
      executionId: ids.next(),
      slot,
      lane: lanes.choose(tenantId, clock.monotonicMs()),
    })),
  })
  if (outcome === null) return failed('The job was deleted.')
  const { enqueued, unended } = outcome
  waiting.admit(tenantId, enqueued)
  const reached = enqueued === 0 ? position : slots[enqueued - 1]!
  const done = Math.max(0, countRunnable(range, reached) - unended - doneBefore)
  const isOver = unended === 0 && slots.length === enqueued
  const waitMs = room === 0 ? roomWaitMs : enqueued + done > 0 ? busyMs : idleMs
  return { done, skipped: 0, after: isOver ? null : String(reached), waitMs }
}

function failed(error: string): OperationProgress {
  return { done: 0, skipped: 0, after: null, waitMs: 0, error }
}

interface BackfillRange {
  schedule: CompiledSchedule
  /** Both included. */
  from: EpochMs
  to: EpochMs
  isForward: boolean
}

/** The next slots after a position that no exclusion skips, up to a limit. */
function takeSlots(range: BackfillRange, position: EpochMs, count: number): EpochMs[] {
  const slots: EpochMs[] = []
  let at = position
  while (slots.length < count) {
    const slot = range.isForward ? nextSlot(range.schedule, at) : previousSlot(range.schedule, at)
    if (slot === null || slot < range.from || slot > range.to) break
    const until = excludedUntil(range.schedule, slot)
    if (until === null) slots.push(slot)
    // Forward past the whole exclusion; backward slot by slot, which a backfill has at most 10,000 of.
    at = until !== null && range.isForward ? ((until - 1) as EpochMs) : slot
  }
  return slots
}

/** How many slots that run lie between the beginning and a position, that included. */
function countRunnable({ schedule, from, to, isForward }: BackfillRange, position: EpochMs): number {
  const passed = isForward
    ? { from, to: (position + 1) as EpochMs }
    : { from: position, to: (to + 1) as EpochMs }
  if (passed.from >= passed.to) return 0
  return countRuns(schedule, passed)
}

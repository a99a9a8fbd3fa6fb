// Edit, pause, resume and delete: the effect on a job and on its slots. Decided while the job is locked, so that no
// slot is both fired and skipped, and none is neither: up to an instant every slot is decided, after it none is.
import assert from 'node:assert/strict'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { SkipReason } from '../queue/execution.ts'
import { isAfterCompletion, slotAfterEnd } from '../schedule/after-completion.ts'
import { compileStored } from '../schedule/compile-schedule.ts'
import { countSlots, nextSlot, previousSlot } from '../schedule/next-run.ts'
import {
  hasSchedule,
  type JobStatus,
  type JobVersion,
  type JobView,
  type Pause,
  type SkippingPause,
} from './job.ts'

/** A job while it is locked. */
export interface JobState extends JobView {
  /** The database's clock under the lock. */
  now: EpochMs
  decidedTo: EpochMs | null
  /** The latest slot that has a record; null: none, or none of the last days. */
  recordedAt: EpochMs | null
  /** Late slots that still wait to run, from and to included. */
  owed: { from: EpochMs; to: EpochMs } | null
  /** The decided parts of the owed range: skips, and slots that ran, in order. */
  owedDecided: readonly { from: EpochMs; to: EpochMs }[]
  /** The graph it belongs to; null: none. */
  graphId: string | null
}

/** Slots that do not run, as one run of equal skips under one version. */
export interface SkippedRange {
  from: EpochMs
  /** Included. */
  to: EpochMs
  count: number
  reason: SkipReason
  version: number
  /** Of slots that a pause skipped; absent: nothing is known of it. */
  pause?: SkippingPause
}

/** Of executions that end with their job. */
export const jobDeletedMessage = 'The job was deleted.'

/** A write to a job. */
export interface JobWrite {
  by: string
  key: string | null
  /** Its number is one above the present one. Null: the definition stays as it is. */
  version: JobVersion | null
  status: JobStatus
  slotAt: EpochMs | null
  decidedTo: EpochMs | null
  runs: number
  pause: Pause | null
  skips: readonly SkippedRange[]
  /** The owed slots are among `skips` now. */
  dropsOwed: boolean
  /** Executions that do not run yet are cancelled. */
  cancelsPending: boolean
  /** Executions that run are cancelled too. */
  cancelsRunning: boolean
}

/** Why a job cannot be changed so. */
export type ChangeRefusal = 'deleted' | 'completed'

export interface JobEdit {
  by: string
  key: string | null
  version: JobVersion
}

/**
 * Not of a deleted job. An edit that leaves the schedule alone keeps the slot; one that changes it plans anew, after now.
 * So does one that takes on dependencies, with which there is no slot, or takes the last of them away.
 */
export function editJob(state: JobState, { by, key, version }: JobEdit): JobWrite {
  assert(state.status !== 'DELETED', 'a deleted job is not edited')
  const kept = { ...stayAs(state, by), key, version }
  const isSame = isSameSchedule(state, version)
  if (isSame && isDependent(state) === isDependent(version)) return kept
  const settled = settle(state, state.now, state.status === 'PAUSED' ? 'paused' : 'edited')
  // Runs are counted from when the schedule has a limit of them.
  const runs = isSame || state.schedule.max_runs !== undefined ? settled.runs : 0
  const planned = planSlot(state, version, { decidedTo: settled.decidedTo, runs })
  return { ...kept, ...settled, runs, ...planned }
}

/** The status and next slot of a job after its slots are planned anew. */
function planSlot(
  state: JobState,
  version: JobVersion,
  { decidedTo, runs }: { decidedTo: EpochMs; runs: number },
): Pick<JobWrite, 'status' | 'slotAt' | 'pause'> {
  const isPaused = state.status === 'PAUSED'
  const unended = { status: isPaused ? 'PAUSED' : 'ACTIVE', pause: isPaused ? state.pause : null } as const
  if (isDependent(version)) return { ...unended, slotAt: null }
  assert(hasSchedule(version), 'a job without dependencies has a schedule')
  const isOver = runs >= (version.schedule.max_runs ?? Number.POSITIVE_INFINITY)
  // While its last execution is under way, one that counts from that end goes on awaiting it.
  const awaits = !isOver && isAwaiting(state) && isAfterCompletion(version.schedule)
  const schedule = compileStored(version)
  const slotAt = schedule === null || isOver || awaits ? null : nextSlot(schedule, decidedTo)
  if (slotAt === null && !awaits) return { status: 'COMPLETED', slotAt, pause: null }
  return { ...unended, slotAt }
}

export interface PauseOrder {
  by: string
  reason: string | null
  until: EpochMs | null
  /** Shown as its beginning. Default: now. */
  since?: EpochMs
}

/** Stops new slots. Of a paused job only reason and end change. */
export function pauseJob(
  state: JobState,
  { by, reason, until, since: from = state.now }: PauseOrder,
): JobWrite | ChangeRefusal {
  if (state.status === 'DELETED') return 'deleted'
  if (state.status === 'COMPLETED') return 'completed'
  if (state.status === 'PAUSED') {
    const since = state.pause?.since ?? state.now
    return { ...stayAs(state, by), pause: { since, reason, by, until } }
  }
  const pause = { since: from, reason, by, until }
  const settled = settle({ ...state, pause }, state.now, 'paused')
  const slotAt = slotAfter(state, settled.decidedTo)
  return { ...stayAs(state, by), ...settled, status: 'PAUSED', slotAt, pause }
}

/**
 * The slots of the pause are skipped; later slots fire. With `at`, which lies in the past, as if it had been resumed
 * then: a slot since is late, not skipped. Null: it is active already.
 */
export function resumeJob(
  state: JobState,
  { by, at }: { by: string; at: EpochMs | null },
): JobWrite | ChangeRefusal | null {
  if (state.status === 'DELETED') return 'deleted'
  if (state.status === 'COMPLETED') return 'completed'
  if (state.status === 'ACTIVE') return null
  const settled = settle(state, at === null ? state.now : ((at - 1) as EpochMs), 'paused')
  const slotAt = slotAfter(state, settled.decidedTo)
  // Without a slot one that counts from the end of its last execution awaits that, and one that runs after others waits
  // for them.
  const isOver = slotAt === null && !isAfterCompletion(state.schedule) && !isDependent(state)
  const status = isOver ? 'COMPLETED' : 'ACTIVE'
  return { ...stayAs(state, by), ...settled, status, slotAt, pause: null }
}

/** Nothing fires any more. Null: it is deleted already, and running executions are to go on. */
export function deleteJob(
  state: JobState,
  { by, cancelRunning = false }: { by: string; cancelRunning?: boolean },
): JobWrite | null {
  if (state.status === 'DELETED') return cancelRunning ? { ...stayAs(state, by), cancelsRunning: true } : null
  const settled = settle(state, state.now, state.status === 'PAUSED' ? 'paused' : 'deleted')
  const gone = { status: 'DELETED', slotAt: null, pause: null, cancelsPending: true } as const
  return { ...stayAs(state, by), ...settled, ...gone, cancelsRunning: cancelRunning }
}

/** The job as it is after the write; null: as it is. */
export function applyWrite(state: JobState, write: JobWrite | null): JobView {
  const { now, decidedTo: _to, recordedAt: _at, owed: _owed, owedDecided: _decided, ...known } = state
  const { graphId: _graph, ...view } = known
  if (write === null) return view
  const { key, version, status, slotAt, runs, pause, by } = write
  return { ...view, ...version, key, status, slotAt, runs, pause, updatedAt: now, updatedBy: by }
}

/** Whether both fire at the same instants. */
export function isSameSchedule(
  a: Pick<JobVersion, 'schedule' | 'anchorAt'>,
  b: Pick<JobVersion, 'schedule' | 'anchorAt'>,
): boolean {
  return a.anchorAt === b.anchorAt && sortedText(a.schedule) === sortedText(b.schedule)
}

function sortedText(schedule: object): string {
  return JSON.stringify(Object.entries(schedule).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function stayAs(state: JobState, by: string): JobWrite {
  const { key, status, slotAt, decidedTo, runs, pause } = state
  const none = { version: null, skips: [], dropsOwed: false, cancelsPending: false, cancelsRunning: false }
  return { by, key, status, slotAt, decidedTo, runs, pause, ...none }
}

function isAwaiting(state: JobState): boolean {
  const { status, slotAt, schedule } = state
  const isUnended = status === 'ACTIVE' || status === 'PAUSED'
  return slotAt === null && isUnended && isAfterCompletion(schedule) && !isDependent(state)
}

/** Whether it runs after others and so has no slots. */
function isDependent({ dependsOn }: Pick<JobVersion, 'dependsOn'>): boolean {
  return dependsOn.length > 0
}

/** Every slot up to `until` that has no record gets one. */
function settle(state: JobState, until: EpochMs, reason: SkipReason) {
  const decided = decidedBy(state)
  const decidedTo = Math.max(decided, until) as EpochMs
  const skip = (ranges: readonly { from: EpochMs; to: EpochMs }[]) => toSkips(state, ranges, reason)
  const owed = state.owed === null ? [] : skip(without(state.owed, state.owedDecided))
  const first = firstUndecided(state)
  const skips = first === null || first > until ? owed : [...owed, ...skip([{ from: first, to: until }])]
  // Owed slots had been counted as if they ran.
  const uncounted = owed.reduce((sum, { count }) => sum + count, 0)
  return {
    decidedTo,
    skips,
    dropsOwed: state.owed !== null,
    runs: Math.max(0, state.runs - uncounted),
  }
}

/** Every slot up to here has its record. */
function decidedBy({ decidedTo, recordedAt }: JobState): EpochMs {
  return Math.max(decidedTo ?? -1, recordedAt ?? -1) as EpochMs
}

/** The first slot without a record; null: there is none. */
export function firstUndecided(state: JobState): EpochMs | null {
  const decided = decidedBy(state)
  if (state.slotAt === null || state.slotAt > decided || isAfterCompletion(state.schedule))
    return state.slotAt
  const schedule = compileStored(state)
  return schedule === null ? null : nextSlot(schedule, decided)
}

function slotAfter(state: JobState, after: EpochMs): EpochMs | null {
  if (state.slotAt === null || state.slotAt > after) return state.slotAt
  if (isAfterCompletion(state.schedule)) return slotAfterEnd(state, after)
  const schedule = compileStored(state)
  return schedule === null ? null : nextSlot(schedule, after)
}

function toSkips(
  state: JobState,
  ranges: readonly { from: EpochMs; to: EpochMs }[],
  reason: SkipReason,
): SkippedRange[] {
  const { version } = state
  const pause = reason === 'paused' ? pauseOf(state) : null
  const cause = { reason, version, ...(pause && { pause }) }
  // Its slots are on no grid, and it has one at a time.
  if (isAfterCompletion(state.schedule))
    return ranges.map(({ from }) => ({ from, to: from, count: 1, ...cause }))
  const schedule = compileStored(state)
  if (schedule === null) return []
  return ranges.flatMap((range) => {
    const from = nextSlot(schedule, (range.from - 1) as EpochMs)
    const to = previousSlot(schedule, (range.to + 1) as EpochMs)
    if (from === null || to === null || from > to) return []
    return [{ from, to, count: countSlots(schedule, { from, to: (to + 1) as EpochMs }), ...cause }]
  })
}

function pauseOf({ pause }: JobState): SkippingPause | null {
  return pause && { since: pause.since, by: pause.by, reason: pause.reason }
}

/** The rest of a range when parts of it, in order, are taken out. */
function without(range: { from: EpochMs; to: EpochMs }, parts: JobState['owedDecided']) {
  const left: { from: EpochMs; to: EpochMs }[] = []
  let from = range.from
  for (const part of parts) {
    if (part.from > from) left.push({ from, to: (part.from - 1) as EpochMs })
    from = Math.max(from, part.to + 1) as EpochMs
  }
  if (from <= range.to) left.push({ from, to: range.to })
  return left
}

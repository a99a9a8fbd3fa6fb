// Releasing in memory: the facts about a job with waiting executions, and the effects of a plan on it.
import { bufferMax } from '../../src/domain/jobs/job.ts'
import { rankOf } from '../../src/domain/queue/rank.ts'
import {
  isOfOpenRun,
  supersededMessage,
  type WaitingExecution,
  type WaitingJob,
  waitingMax,
} from '../../src/domain/queue/release.ts'
import { routeOf } from '../../src/domain/queue/route.ts'
import { type EpochMs, epochMs } from '../../src/lib/time/epoch.ts'
import type { Released, ReleaseOrder } from '../../src/ports/maintenance.ts'
import { cancelAll, findUnderWay, isCancelled, type UnderWay, unendedOf } from './cancel.ts'
import { hostOfUncharged } from './held-back.ts'
import { makeLive } from './insert-live.ts'
import { recordsWithin } from './jobs.ts'
import { calendarsOf } from './named-calendars.ts'
import type { JobRow, LiveRow, RunRootRow } from './rows.ts'
import { addSkip } from './slots.ts'
import { graphOfRoot, isAwaiting, type MemoryStore } from './store.ts'

export function waitingJobOf(store: MemoryStore, job: JobRow): WaitingJob {
  const { owed, cursor } = job
  const version = job.versions.get(job.version)!
  const underWay = underWayOf(job)
  // Where overlap is allowed runs are in nobody's way.
  const runs = version.overlapPolicy === 'ALLOW' ? [] : runsUnderWay(store, job)
  const operations = new Set([...underWay.map(operationOf), ...runs.map((run) => run.operationId)])
  const [operation] = operations
  const isUncancelled = (one: UnderWay) => !isCancelled(one)
  const isGoing = (run: RunRootRow) => !isStopping(store, run)
  return {
    ...version,
    now: store.now(),
    isDeleted: cursor.status === 'DELETED',
    calendars: calendarsOf(store, version)?.entries ?? null,
    underWay: underWay.length,
    uncancelled: underWay.filter(isUncancelled).length + runs.filter(isGoing).length,
    underWayOf: operations.size === 1 ? operation! : null,
    graphId: graphOfRoot(cursor),
    runsUnderWay: runs.length,
    runsFrom: firstSlotOf(store, runs),
    waiting: firstWaiting(job, runs.length > 0),
    owed: owed === null ? null : { ...owed },
    owedDecided: owed === null ? [] : recordsWithin(job, owed),
    awaits: isAwaiting(cursor) ? { endedAt: endOfLast(store, job) } : null,
  }
}

export function applyRelease(store: MemoryStore, job: JobRow, order: ReleaseOrder): Released {
  const done: Released = { ready: order.go.length, cancelled: false, planned: false, more: false }
  for (const executionId of order.go) store.changeLive(store.live.get(executionId)!, { state: 'ready' })
  if (order.owed !== null) releaseOwed(store, job, { ...order, owed: order.owed }, done)
  if (order.cancel !== null) cancelSuperseded(store, job, order.cancel, done)
  if (order.next !== null) planNext(store, job, order.next, done)
  return done
}

function underWayOf(job: JobRow): UnderWay[] {
  return unendedOf(job).filter((one) => one.kind === 'batch' || one.row.state !== 'waiting')
}

/** Runs that do not wait for their first execution to be let go. */
function runsUnderWay(store: MemoryStore, { jobId }: JobRow): RunRootRow[] {
  const runs = [...(store.runRoots.get(jobId)?.values() ?? [])]
  return runs.filter(({ executionId }) => store.live.get(executionId)?.state !== 'waiting')
}

/** Null: there is no run, or one was not started by a slot. */
function firstSlotOf(store: MemoryStore, runs: readonly RunRootRow[]): EpochMs | null {
  const slots = runs.map(({ runId, executionId }) => {
    const started = store.graphRuns.get(runId) ?? store.live.get(executionId)
    return started?.kind === 'slot' ? started.slot : null
  })
  if (!slots.every((slot) => slot !== null)) return null
  return slots.toSorted((a, b) => a - b)[0] ?? null
}

/** It is being cancelled, or will be once somebody looks at it. */
function isStopping(store: MemoryStore, { runId }: RunRootRow): boolean {
  if (store.graphRuns.get(runId)?.status === 'CANCELLING') return true
  return store.runNotes.get(runId)?.some(({ what }) => what === 'cancel') ?? false
}

function operationOf(found: UnderWay): string | null {
  return found.kind === 'batch' ? null : found.row.operationId
}

function firstWaiting({ waiting, versions, version }: JobRow, hasRuns: boolean): WaitingExecution[] {
  // There all slots but the latest may have to go.
  const cancels = versions.get(version)!.overlapPolicy === 'CANCEL_RUNNING'
  const slotsMax = cancels ? bufferMax + 1 : waitingMax
  const byRank = waiting.take(waiting.size)
  const slots = byRank.filter(({ kind }) => kind === 'slot').toSorted((a, b) => a.slot - b.slot)
  const inRun = byRank.filter((row) => hasRuns && isOfOpenRun(row))
  const first = new Set([...byRank.slice(0, waitingMax), ...slots.slice(0, slotsMax), ...inRun.slice(0, 1)])
  return [...first].map(toWaiting)
}

function toWaiting(row: LiveRow): WaitingExecution {
  const { executionId, kind, slot, rank, operationId, concurrencyKey } = row
  return { executionId, kind, inRun: isOfOpenRun(row), slot, rank, operationId, concurrencyKey }
}

/** When the execution of its last slot ended, and the run that it started; null: it has not. */
function endOfLast(store: MemoryStore, { jobId, latest, owed, cursor }: JobRow): EpochMs | null {
  if (owed !== null || (latest !== null && findUnderWay(store, latest.executionId) !== null)) return null
  const runs = [...(store.runRoots.get(jobId)?.values() ?? [])]
  if (runs.some(({ executionId }) => executionId === latest?.executionId)) return null
  const last = latest === null ? undefined : store.log.of(latest.executionId).at(-1)
  const decidedTo = cursor.decidedTo!
  // An execution that ended before is not the awaited one: its slot was skipped, or the job was paused since. It counts
  // from now.
  if (last === undefined || last.recordedAt < decidedTo) return store.now()
  // A result may come late. Instants decided meanwhile stay decided: a slot among them would never fire.
  const run = last.runId === null ? undefined : store.graphRuns.get(last.runId)
  return epochMs(Math.max(run?.finishedAt ?? last.finishedAt ?? last.recordedAt, decidedTo))
}

// Not in a batch: batches are for slots that fire on time, many jobs at once.
function releaseOwed(
  store: MemoryStore,
  job: JobRow,
  { owed, executions }: ReleaseOrder & { owed: NonNullable<ReleaseOrder['owed']> },
  done: Released,
): void {
  const { jobId, tenantId, version } = job
  const definition = job.versions.get(version)!
  const { concurrencyKey } = definition
  const enqueuedAt = store.now()
  for (const [index, slot] of owed.slots.entries()) {
    const { executionId, lane, priority, runId } = executions[index]!
    const queued = {
      route: routeOf(definition),
      lane,
      priority,
      enqueuedAt,
      rank: rankOf(enqueuedAt, priority),
    }
    const identity = { executionId, jobId, version, tenantId, kind: 'slot', slot } as const
    store.addSlot(job, { slot, executionId, reason: null })
    const host = hostOfUncharged(store, tenantId)
    store.addLive(makeLive({ ...identity, ...queued, state: owed.state, concurrencyKey, runId, host }))
  }
  for (const range of owed.skips) addSkip(job, { ...range })
  store.setOwed(job, owed.left)
  if (owed.state === 'ready') done.ready += owed.slots.length
  else if (owed.slots.length > 0) done.more = true
}

function cancelSuperseded(
  store: MemoryStore,
  job: JobRow,
  { waiting, underWay, bySlot }: NonNullable<ReleaseOrder['cancel']>,
  done: Released,
): void {
  const message = supersededMessage(bySlot)
  // Before any of them ends: afterwards waiting executions could not be told from released ones.
  const runs = underWay ? runsUnderWay(store, job).filter((run) => !isStopping(store, run)) : []
  for (const { runId, jobId, executionId } of runs)
    store.addRunNote({ runId, what: 'cancel', jobId, executionId, at: store.now(), message })
  const older = waiting.map((executionId) => ({ kind: 'live', row: store.live.get(executionId)! }) as const)
  const settled = cancelAll(store, older, message)
  for (const one of underWay ? underWayOf(job) : []) {
    const ended = cancelAll(store, [one], message)
    settled.push(...ended)
    if (ended.length === 0) done.cancelled = true
    else done.more = true
  }
  if (settled.length > 0) done.settled = settled
}

function planNext(
  store: MemoryStore,
  { cursor }: JobRow,
  { slotAt, dueAt }: NonNullable<ReleaseOrder['next']>,
  done: Released,
): void {
  store.changeCursor(cursor, { slotAt, dueAt, ...(slotAt === null ? { status: 'COMPLETED' } : {}) })
  if (slotAt === null) return
  store.noteChange(cursor)
  done.planned = true
}

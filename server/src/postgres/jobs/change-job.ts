// Changes a job under its lock: fires, triggers and other changes of it wait meanwhile, so decisions about its slots
// remain valid.
import assert from 'node:assert/strict'
import { type GraphPart, type GraphRefusal, isGraphRefusal } from '../../domain/graphs/graph.ts'
import {
  changesGraph,
  type GraphChange,
  type GraphWrite,
  planGraphChange,
} from '../../domain/graphs/graph-change.ts'
import { type ActiveJobsRefusal, countsAsActive } from '../../domain/jobs/active-jobs.ts'
import { hasOwnRows, type JobVersion, searchTextOf } from '../../domain/jobs/job.ts'
import { applyWrite, type JobState, type JobWrite } from '../../domain/jobs/job-change.ts'
import { versionsAnEdit } from '../../domain/jobs/kept-versions.ts'
import { routeOf } from '../../domain/queue/route.ts'
import { calendarNames } from '../../domain/schedule/exclusions.ts'
import { dueAtOf } from '../../domain/schedule/jitter.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import { RestartTransaction } from '../../lib/unavailable.ts'
import type { ChangeOutcome, ChangeTarget } from '../../ports/jobs.ts'
import { withPartitions } from '../connection/daily-partitions.ts'
import type { Queries, Transactions } from '../connection/database.ts'
import { isInGraph, lockGraphs, writeGraph } from '../graphs/job-graph.ts'
import { cancelOfDeleted } from '../queue/end-deleted.ts'
import type { RowOf } from '../sql/item.ts'
import { addActiveJobs, lockRoom, refuseActiveJobs } from './active-jobs.ts'
import * as statements from './change-job.sql.ts'
import { skippedItem } from './items.ts'
import { isKeyTaken, type JobRow, leanColumns, noticeMs, toDependsOn, toJobView } from './job-row.ts'
import { selectJob, selectJobIdByKey, selectQuiet } from './jobs.sql.ts'
import { pruneEdited } from './prune-versions.ts'

type Decide = (job: JobState) => JobWrite | null

export async function changeJob(
  database: Transactions,
  target: ChangeTarget,
  decide: Decide,
): Promise<ChangeOutcome> {
  try {
    const mayTouch = await mayTouchGraph(database, target)
    const outcome = await tryChange(database, target, decide, { locksGraphs: mayTouch })
    if (outcome !== 'in_graph') return outcome
    // It joined a graph since we looked. Graphs are locked before jobs, so the caller must restart its transaction with that lock.
    if (database.isNested) throw new RestartTransaction('the graph of the job')
    const again = await tryChange(database, target, decide, { locksGraphs: true })
    assert(again !== 'in_graph', 'its graph is locked')
    return again
  } catch (error) {
    if (!isKeyTaken(error)) throw error
    // Another request took the key since we looked. That has aborted the transaction, if there is one: its owner must restart it.
    if (database.isNested) throw new RestartTransaction('the key of the job', { cause: error })
    return 'key_taken'
  }
}

/** Checked without a lock: a change that touches no graph does not pay for the lock on graphs. */
async function mayTouchGraph(database: Transactions, { tenantId, jobId, dependsOn }: ChangeTarget) {
  if (dependsOn === undefined) return false
  return dependsOn.length > 0 || isInGraph(database, { tenantId, jobId })
}

/** 'in_graph': nothing was written, for the change needs the lock of the graphs. */
function tryChange(
  database: Transactions,
  target: ChangeTarget,
  decide: Decide,
  { locksGraphs }: { locksGraphs: boolean },
): Promise<ChangeOutcome | 'in_graph'> {
  const { tenantId, jobId } = target
  const parentIds = (target.dependsOn ?? []).map((one) => one.jobId)
  return withPartitions(database, 'attempts', 'today', () =>
    database.transaction(async (queries) => {
      const part = locksGraphs ? await lockGraphs(queries, { tenantId, jobId, parentIds }) : null
      const state = await lockState(queries, tenantId, jobId)
      if (state === null) return 'not_found'
      const write = decide(state)
      if (write === null) return applyWrite(state, null)
      const touches = changesGraph(state, write)
      if (touches && part === null) return 'in_graph'
      const plan = touches ? planWithin(part!, { state, write, dependsOn: target.dependsOn }) : null
      if (plan !== null && isGraphRefusal(plan)) return plan
      if (await isTaken(queries, state, write.key)) return 'key_taken'
      const full = await countChange(queries, target, { state, write })
      if (full !== null) return full
      await writeChange(queries, state, write)
      if (plan !== null) await writeGraph(queries, plan)
      if (prunesVersions(state, write)) await pruneEdited(queries, jobId, write.version!.version)
      if ((write.cancelsPending || write.cancelsRunning) && !(await isQuiet(queries, state))) {
        const cancelled = await cancelOfDeleted(queries, jobId, { running: write.cancelsRunning })
        if (cancelled.length > 0) return { ...applyWrite(state, write), cancelled }
      }
      return applyWrite(state, write)
    }),
  )
}

/** Counted after the job is locked, and only with a limit. */
async function countChange(
  queries: Queries,
  { tenantId, activeJobsMax = null }: ChangeTarget,
  { state, write }: { state: JobState; write: JobWrite },
): Promise<ActiveJobsRefusal | null> {
  const more = Number(countsAsActive(write)) - Number(countsAsActive(state))
  if (activeJobsMax === null || more === 0) return null
  if (more > 0) {
    const { room, used } = await lockRoom(queries, { tenantId, activeJobsMax })
    if (room === 0) return refuseActiveJobs(used)
  }
  await addActiveJobs(queries, tenantId, more)
  return null
}

/** Of a job in a graph, a run that starts may be about to name an earlier version: maintenance prunes these later. */
function prunesVersions({ graphId }: JobState, { version }: JobWrite): boolean {
  return version !== null && version.version % versionsAnEdit === 0 && graphId === null
}

/** Under the lock of the job, so that nothing of it can be enqueued: most deleted jobs have nothing to cancel. */
async function isQuiet(queries: Queries, { tenantId, jobId }: JobState): Promise<boolean> {
  return (await queries.query(selectQuiet, [tenantId, [jobId]])).count > 0
}

function planWithin(part: GraphPart | GraphRefusal, change: GraphChange): GraphWrite | GraphRefusal {
  return isGraphRefusal(part) ? part : planGraphChange(part, change)
}

async function isTaken(queries: Queries, { tenantId, key: present }: JobState, key: string | null) {
  if (key === null || key === present) return false
  const { count } = await queries.query(selectJobIdByKey, [tenantId, key])
  return count > 0
}

async function lockState(queries: Queries, tenantId: string, jobId: string): Promise<JobState | null> {
  const { count } = await queries.query(statements.lockJob, [tenantId, jobId])
  if (count === 0) return null
  const job = await queries.query<JobRow>(selectJob, [tenantId, jobId])
  const { rows } = await queries.query<StateRow>(statements.selectState, [jobId])
  const { now, decided_to, recorded_at, owed_from, owed_to, owed_decided, graph_id } = rows[0]!
  return {
    ...toJobView(job.rows[0]!),
    now,
    decidedTo: decided_to,
    recordedAt: recorded_at,
    owed: owed_from === null ? null : { from: owed_from, to: owed_to! },
    owedDecided: owed_decided ?? [],
    graphId: graph_id,
  }
}

async function writeChange(queries: Queries, state: JobState, write: JobWrite): Promise<void> {
  const { jobId } = state
  const { version, pause, key } = write
  if (version !== null) {
    const dependsOn = toDependsOn(version)
    const { leanExecution, payloadBytes } = leanColumns(version.execution)
    await queries.query(statements.insertVersion, [
      jobId,
      version.version,
      version.tenantId,
      version.name,
      version.description,
      version.tags,
      JSON.stringify(version.schedule),
      version.anchorAt,
      JSON.stringify(version.execution),
      JSON.stringify(version.retryPolicy),
      version.priority,
      version.overlapPolicy,
      version.misfirePolicy,
      version.misfireWindowSeconds,
      JSON.stringify(version.metadata),
      version.jitterSeconds,
      version.concurrencyLimit,
      version.concurrencyKey?.key ?? null,
      version.concurrencyKey?.limit ?? null,
      calendarNames(version.schedule),
      routeOf(version),
      hasOwnRows(version),
      dependsOn && JSON.stringify(dependsOn),
      state.now,
      write.by,
      version.impliedDst,
      leanExecution && JSON.stringify(leanExecution),
      payloadBytes,
    ])
  }
  const { name, tags } = version ?? state
  await queries.query(statements.writeJob, [
    jobId,
    version?.version ?? state.version,
    state.now,
    write.by,
    key,
    name,
    tags,
    searchTextOf({ name, key, tags }),
    pause?.since ?? null,
    pause?.reason ?? null,
    pause?.by ?? null,
    pause?.until ?? null,
    write.status,
    write.slotAt,
    noticeMs,
    write.decidedTo,
    skippedItem.encode(write.skips.map(toSkippedItem)),
    write.dropsOwed,
    version !== null && mayBeScattered(state, version),
    write.slotAt === null ? null : dueAtOf(version ?? state, write.slotAt),
    write.runs,
  ])
}

function toSkippedItem({
  from,
  to,
  count,
  pause,
  ...skip
}: JobWrite['skips'][number]): RowOf<typeof skippedItem> {
  const paused = { pausedMs: pause?.since ?? null, pausedBy: pause?.by ?? null }
  return { ...skip, fromMs: from, toMs: to, slotCount: count, ...paused, pauseReason: pause?.reason ?? null }
}

/** Whether executions of it may from now on be in other batches than that of its latest slot. */
function mayBeScattered(before: JobVersion, after: JobVersion): boolean {
  if (hasOwnRows(before)) return false
  return hasOwnRows(after) || (before.overlapPolicy === 'ALLOW' && after.overlapPolicy !== 'ALLOW')
}

interface StateRow {
  now: EpochMs
  decided_to: EpochMs | null
  recorded_at: EpochMs | null
  owed_from: EpochMs | null
  owed_to: EpochMs | null
  owed_decided: { from: EpochMs; to: EpochMs }[] | null
  graph_id: string | null
}

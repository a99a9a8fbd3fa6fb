// Advances locked runs by their notes: nodes go or are skipped, runs are cancelled or end. Locked besides, in this
// order and each kind at once: the cursors of jobs that go, then rows of `live`.
import { takeAffordable } from '../../domain/graphs/affordable.ts'
import { skipMessageOf, unmetOf } from '../../domain/graphs/graph-run.ts'
import type { JobStatus } from '../../domain/jobs/job.ts'
import type { RunTools, Stepped } from '../../ports/graph-runs.ts'
import type { Queries } from '../connection/database.ts'
import { cancelLiveById, settledOf } from '../queue/cancel.ts'
import { type SettledRow, toSettled } from '../queue/settled-row.ts'
import type { RowOf } from '../sql/item.ts'
import * as statements from './advance-runs.sql.ts'
import { nodeToGoItem, planItem, runItem, skippedNodeItem, strayItem, unfiredItem } from './items.ts'
import { type HeldRun, toLetters, withNodes } from './rows.ts'
import { type NoteRow, RunInStep } from './run-step.ts'

/** Read at once, each run an equal share; the rest is read by the next step. */
const notesMax = 20_000
/** Rows that one step writes for runs it has not made itself, unless a single run has more: about half a second. */
const nodesMax = 2_000

export function noSteps(): Stepped {
  return { ready: 0, waiting: false, cancelled: false, over: [], settled: [] }
}

export interface AdvanceOptions extends Pick<RunTools, 'laneOf'> {
  /** Statuses of all jobs that may go, if their cursors are locked already. */
  statuses?: ReadonlyMap<string, JobStatus>
  /** They are cancelled, and this is said of it. */
  cancelMessage?: string
}

export async function advanceRuns(
  queries: Queries,
  runs: readonly HeldRun[],
  { laneOf, statuses, cancelMessage }: AdvanceOptions,
): Promise<Stepped> {
  if (runs.length === 0) return noSteps()
  const all = runs.map((run) => new RunInStep(run))
  if (cancelMessage !== undefined) for (const work of all) work.cancel(cancelMessage)
  const hasUnread = await readNotes(queries, all)
  await findUnrun(queries, all)
  for (const work of all) work.decide()
  const works = takeWritable(all)
  const known = statuses ?? (await lockMembers(queries, works))
  for (const work of works) work.decide(known)
  await lockNodes(queries, works, known)
  const stepped = noSteps()
  if (hasUnread || works.length < all.length) stepped.left = true
  await cancelNodes(queries, works, stepped)
  await letNodesGo(queries, works, laneOf, stepped)
  await skipNodes(queries, works, stepped)
  await moveStrays(queries, works, stepped)
  await write(queries, works, stepped)
  return stepped
}

/** Returns whether some run may have more. */
async function readNotes(queries: Queries, works: readonly RunInStep[]): Promise<boolean> {
  const byId = new Map(works.map((work) => [work.run.runId, work]))
  const ofRunMax = Math.ceil(notesMax / byId.size)
  const { rows } = await queries.query<NoteRow>(statements.selectNotes, [[...byId.keys()], ofRunMax])
  for (const row of rows) byId.get(row.run_id)!.take(row)
  return Map.groupBy(rows, (row) => row.run_id)
    .values()
    .some((notes) => notes.length === ofRunMax)
}

/** Finds the fate of roots that have not fired. */
async function findUnrun(queries: Queries, works: readonly RunInStep[]): Promise<void> {
  const byId = new Map(works.map((work) => [work.run.runId, work]))
  const items = works.flatMap(({ run: { runId, slot, states, graph }, changes }) =>
    states.flatMap((state, nodeIndex) => {
      if (state !== 'unfired' || changes.has(nodeIndex)) return []
      return [{ runId, jobId: graph.plan.nodes[nodeIndex]!.jobId, slotMs: slot }]
    }),
  )
  if (items.length === 0) return
  const { rows } = await queries.query<UnrunRow>(statements.selectUnrun, [unfiredItem.encode(items)])
  for (const { run_id, job_id } of rows) {
    const { run, changes } = byId.get(run_id)!
    changes.set(run.nodeIndexes.get(job_id)!, 'unrun')
  }
}

/**
 * As many runs as one step can write, in the given order. The notes of the others stay; small runs are not held up by
 * large ones. A run that was just made is among them in any case: only now is it looked at as a whole.
 */
function takeWritable(works: readonly RunInStep[]): RunInStep[] {
  const isMade = ({ run }: RunInStep) => run.look.length > 0
  const others = works.filter((work) => !isMade(work))
  const taken = new Set(takeAffordable(others, sizeOf, nodesMax))
  return works.filter((work) => isMade(work) || taken.has(work))
}

function sizeOf(work: RunInStep): number {
  const { go, skip } = work.step
  // With a root that has fired all of the plan is written.
  const plan = work.fired.size > 0 ? work.run.graph.plan.nodes.length : 0
  return go.length + skip.length + work.cancelIds().length + plan
}

/** Locks the jobs of the nodes that would be released, and returns their statuses. */
async function lockMembers(queries: Queries, works: readonly RunInStep[]): Promise<Map<string, JobStatus>> {
  const jobIds = works.flatMap(({ run, step }) =>
    step.go.map((nodeIndex) => run.graph.plan.nodes[nodeIndex]!.jobId),
  )
  return lockStatuses(queries, jobIds)
}

export async function lockStatuses(
  queries: Queries,
  jobIds: readonly string[],
): Promise<Map<string, JobStatus>> {
  if (jobIds.length === 0) return new Map()
  const { rows } = await queries.query<StatusRow>(statements.lockMembers, [[...new Set(jobIds)]])
  const statuses = new Map(rows.map((row) => [row.job_id, row.status]))
  const paused = rows.filter(({ status }) => status === 'PAUSED').map((row) => row.job_id)
  if (paused.length === 0) return statuses
  const over = await queries.query<{ job_id: string }>(statements.selectPausedNoMore, [paused])
  for (const { job_id } of over.rows) statuses.set(job_id, 'ACTIVE')
  return statuses
}

async function lockNodes(
  queries: Queries,
  works: readonly RunInStep[],
  statuses: ReadonlyMap<string, JobStatus>,
): Promise<void> {
  const ids = works.flatMap((work) => [
    ...[...work.step.go, ...work.step.skip].map((nodeIndex) => work.executionOf(nodeIndex)!),
    ...work.cancelIds(),
    ...work.strays.keys(),
  ])
  if (ids.length === 0) return
  const { rows } = await queries.query<{ execution_id: string }>(statements.lockNodes, [ids])
  const locked = new Set(rows.map((row) => row.execution_id))
  for (const work of works) work.leaveOut(locked, statuses)
}

async function cancelNodes(queries: Queries, works: readonly RunInStep[], stepped: Stepped): Promise<void> {
  const concerned = works.filter((work) => work.cancelIds().length > 0)
  // A cancel of many runs has the same message for all.
  for (const [message, group] of Map.groupBy(concerned, (work) => work.cancelMessage!)) {
    const targets = new Map(group.flatMap(cancelTargetsOf))
    const cancelled = await cancelLiveById(queries, [...targets.keys()], message)
    stepped.settled.push(...settledOf(cancelled))
    for (const { executionId, runs } of cancelled) {
      if (runs) {
        stepped.cancelled = true
        continue
      }
      const { work, nodeIndex } = targets.get(executionId)!
      if (nodeIndex !== undefined) work.changes.set(nodeIndex, 'cancelled')
      work.ended.push(executionId)
      stepped.waiting = true
    }
  }
  for (const work of concerned) work.decide()
}

function cancelTargetsOf(work: RunInStep): [string, { work: RunInStep; nodeIndex: number | undefined }][] {
  const nodeIndexes = new Map(work.cancels.map((nodeIndex) => [work.executionOf(nodeIndex), nodeIndex]))
  return work.cancelIds().map((id) => [id, { work, nodeIndex: nodeIndexes.get(id) }])
}

async function letNodesGo(
  queries: Queries,
  works: readonly RunInStep[],
  laneOf: RunTools['laneOf'],
  stepped: Stepped,
): Promise<void> {
  const items = works
    .flatMap(({ run, step }) => step.go.map((nodeIndex) => ({ run, node: run.graph.plan.nodes[nodeIndex]! })))
    .map(({ run, node: { executionId, role } }, number) => {
      // A resume has checked: except for the run itself nothing of its roots is under way.
      return { number, executionId, lane: laneOf(run.tenantId), isFree: role === 'root' }
    })
  if (items.length === 0) return
  const { rows } = await queries.query<{ state: string }>(statements.letNodesGo, [nodeToGoItem.encode(items)])
  const ready = rows.filter((row) => row.state === 'ready').length
  stepped.ready += ready
  if (ready < rows.length) stepped.waiting = true
}

async function skipNodes(queries: Queries, works: readonly RunInStep[], stepped: Stepped): Promise<void> {
  if (works.every(({ step }) => step.skip.length === 0)) return
  const nameOf = await readNames(queries, works)
  const items = works.flatMap((work) => {
    const { states, skip } = work.step
    return skip.map((nodeIndex) => {
      const executionId = work.executionOf(nodeIndex)!
      work.ended.push(executionId)
      const message = skipMessageOf(work.run.graph, states, nodeIndex, nameOf)
      return { executionId, reason: states[nodeIndex]!, message }
    })
  })
  const { rows } = await queries.query<SettledRow>(statements.skipNodes, [skippedNodeItem.encode(items)])
  stepped.settled.push(...rows.map((row) => toSettled(row, 'skipped')))
}

/** Names of the parents whose dependency rule is not met, for the messages of skipped nodes. */
async function readNames(queries: Queries, works: readonly RunInStep[]): Promise<(jobId: string) => string> {
  const unmet = works.flatMap(({ run, step }) =>
    step.skip.map((nodeIndex) => unmetOf(run.graph, step.states, nodeIndex)?.parentId),
  )
  const jobIds = [...new Set(unmet)].filter((jobId) => jobId !== undefined)
  if (jobIds.length === 0) return (jobId) => jobId
  const { rows } = await queries.query<{ job_id: string; name: string }>(statements.selectNames, [jobIds])
  const names = new Map(rows.map((row) => [row.job_id, row.name]))
  return (jobId) => names.get(jobId) ?? jobId
}

/**
 * Roots that fired into a run of which they are no nodes get a run of their own, except roots cancelled with it.
 */
async function moveStrays(queries: Queries, works: readonly RunInStep[], stepped: Stepped): Promise<void> {
  const items = works.flatMap(({ run: { runId }, strays, late }) =>
    Array.from(strays, ([executionId, jobId]) => {
      return { runId, executionId, jobId, stays: late.includes(executionId) }
    }),
  )
  if (items.length === 0) return
  await queries.query(statements.moveRoots, [strayItem.encode(items)])
  // They no longer hold back other executions, or their runs still have to be created.
  stepped.waiting = true
}

async function write(queries: Queries, works: readonly RunInStep[], stepped: Stepped): Promise<void> {
  const plans = works.filter(({ fired }) => fired.size > 0).map(toPlanItem)
  if (plans.length > 0) await queries.query(statements.writePlans, [planItem.encode(plans)])
  const changed = works.filter((work) => !work.isOver && work.isChanged())
  const noteIds = works.flatMap((work) => work.noteIds)
  if (changed.length === 0 && noteIds.length === 0) return
  await queries.query(statements.writeRuns, [
    runItem.encode(changed.map(toRunItem)),
    noteIds,
    works.flatMap(({ ended }) => ended),
  ])
  for (const { step } of changed) if (step.over !== null) stepped.over.push(step.over)
  if (stepped.over.length > 0) stepped.waiting = true
}

function toPlanItem({ run, fired }: RunInStep): RowOf<typeof planItem> {
  const { nodes } = withNodes(run, fired).graph.plan
  return {
    runId: run.runId,
    versions: nodes.map(({ version }) => version),
    executionIds: nodes.map(({ executionId }) => executionId),
  }
}

function toRunItem(work: RunInStep): RowOf<typeof runItem> {
  const { states, over } = work.step
  return {
    runId: work.run.runId,
    status: work.status(),
    cancelMessage: work.cancelMessage,
    states: toLetters(states),
    unfired: states.includes('unfired'),
    isOver: over !== null,
  }
}

interface UnrunRow {
  run_id: string
  job_id: string
}

interface StatusRow {
  job_id: string
  status: JobStatus
}

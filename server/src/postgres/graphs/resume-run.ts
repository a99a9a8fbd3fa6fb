// Resumes an ended run: new executions, of the present versions of their jobs, in place of the ones that did not
// succeed.

import { type NodeState, type RunNode, resumableOf } from '../../domain/graphs/graph-run.ts'
import {
  type ExecutionKind,
  idempotencyKeyOf,
  isKeyKept,
  type Outcome,
} from '../../domain/queue/execution.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import { type ResumeOutcome, type RunTools, resumesMax } from '../../ports/graph-runs.ts'
import type { Queries } from '../connection/database.ts'
import { takeDeadLetters } from '../history/dead-letters.sql.ts'
import { advanceRuns, lockStatuses } from './advance-runs.ts'
import { jobExecutionItem, repeatedNodeItem } from './items.ts'
import * as statements from './resume-run.sql.ts'
import { type HeldRun, type ReplacedPart, type RunRow, toLetters, withNodes } from './rows.ts'

/** The run is locked. */
export async function resumeRun(
  queries: Queries,
  row: RunRow,
  run: HeldRun,
  { newExecutionId, laneOf }: RunTools,
): Promise<ResumeOutcome> {
  if (row.finished_at === null) return { kind: 'not_finished', status: row.status }
  const nodeIndexes = resumableOf(run.graph, run.states)
  if (nodeIndexes.length === 0) return { kind: 'nothing' }
  if (row.resumes >= resumesMax) return { kind: 'too_often' }

  const { nodes } = run.graph.plan
  const roots = nodes.filter(({ role }) => role === 'root')
  const again = nodeIndexes.map((nodeIndex) => nodes[nodeIndex]!)
  const statuses = await lockStatuses(
    queries,
    [...roots, ...again].map(({ jobId }) => jobId),
  )
  // Earlier notes do not concern the new executions: a cancel that came too late would end the run again. A cancel
  // holds the cursor of a root, so none is on its way.
  await advanceRuns(queries, [run], { laneOf, statuses })
  const present = await queries.query<PresentRow>(statements.selectPresent, [[...statuses.keys()]])
  const jobs = new Map(present.rows.map((job) => [job.job_id, job]))
  const busy = roots.find(({ jobId }) => jobs.get(jobId)?.busy)
  if (busy !== undefined) return findOverlap(queries, busy.jobId)

  const changed = new Map<number, RunNode>()
  for (const nodeIndex of nodeIndexes) {
    const node = nodes[nodeIndex]!
    const { version } = jobs.get(node.jobId)!
    changed.set(nodeIndex, { ...node, version, executionId: newExecutionId() })
  }
  await insertAgain(queries, row, nodeIndexes, { before: nodes, after: changed })
  const revived = revive(run, nodeIndexes, changed)
  await writeRevived(queries, revived, replacedIn(nodes, nodeIndexes, row.resumes + 1))
  const { over, settled } = await advanceRuns(queries, [revived], { laneOf, statuses })
  const executionIds = nodeIndexes.map((nodeIndex) => changed.get(nodeIndex)!.executionId!)
  return { kind: 'resumed', executionIds, over, settled }
}

async function findOverlap(queries: Queries, jobId: string): Promise<ResumeOutcome> {
  const { rows } = await queries.query<BlockerRow>(statements.selectBlocker, [jobId])
  const { run_id: runId = null, execution_id: executionId = null } = rows[0] ?? {}
  return { kind: 'overlap', jobId, runId, executionId }
}

function revive(
  run: HeldRun,
  nodeIndexes: readonly number[],
  changed: ReadonlyMap<number, RunNode>,
): HeldRun {
  const states = run.states.map((state, nodeIndex): NodeState => (changed.has(nodeIndex) ? 'blocked' : state))
  return {
    ...run,
    ...withNodes(run, changed),
    states,
    look: nodeIndexes,
    status: 'RUNNING',
    cancelMessage: null,
  }
}

function replacedIn(
  nodes: readonly RunNode[],
  nodeIndexes: readonly number[],
  resume: number,
): ReplacedPart[] {
  return nodeIndexes.map((nodeIndex) => [nodeIndex, nodes[nodeIndex]!.executionId, resume])
}

async function writeRevived(
  queries: Queries,
  { runId, graph: { plan }, states }: HeldRun,
  replaced: readonly ReplacedPart[],
): Promise<void> {
  const roots = plan.nodes.filter(({ role }) => role === 'root')
  await queries.query(statements.reviveRun, [
    runId,
    toLetters(states),
    plan.nodes.map(({ version }) => version),
    plan.nodes.map(({ executionId }) => executionId),
    JSON.stringify(replaced),
    jobExecutionItem.encode(roots),
  ])
}

async function insertAgain(
  queries: Queries,
  row: RunRow,
  nodeIndexes: readonly number[],
  { before, after }: { before: readonly RunNode[]; after: ReadonlyMap<number, RunNode> },
): Promise<void> {
  const ends = await findEnds(
    queries,
    row,
    nodeIndexes.map((nodeIndex) => before[nodeIndex]!),
  )
  const items = nodeIndexes.map((nodeIndex) => {
    const node = after.get(nodeIndex)!
    const retryOf = before[nodeIndex]!.executionId
    const end = retryOf === null ? undefined : ends.get(retryOf)
    return { ...node, kind: node.role === 'root' ? 'retry' : 'dependency', retryOf, ...keptOf(end) }
  })
  await queries.query(statements.insertAgain, [row.run_id, repeatedNodeItem.encode(items)])
}

/** By execution. Its dead letter, which may have been edited, is removed with it, as with a retry. */
async function findEnds(
  queries: Queries,
  { tenant_id: tenantId, finished_at }: RunRow,
  nodes: readonly RunNode[],
): Promise<Map<string, EndRow>> {
  const items = nodes.filter(({ executionId }) => executionId !== null)
  const { rows } = await queries.query<EndRow>(statements.selectEnds, [
    jobExecutionItem.encode(items),
    finished_at,
  ])
  const ends = new Map(rows.map((end) => [end.execution_id, end]))
  const letters = await queries.query<LetterRow>(takeDeadLetters, [
    tenantId,
    items.map(({ executionId }) => executionId),
  ])
  for (const { execution_id, payload } of letters.rows) {
    const end = ends.get(execution_id)
    if (end !== undefined) ends.set(execution_id, { ...end, payload_override: payload })
  }
  return ends
}

function keptOf(end: EndRow | undefined): { idempotencyKey: string | null; payload: string | null } {
  if (end === undefined) return { idempotencyKey: null, payload: null }
  const { kind, outcome, job_id: jobId, execution_id: executionId, slot } = end
  const key = end.idempotency_key ?? idempotencyKeyOf(kind, { jobId, executionId, slot })
  return { idempotencyKey: isKeyKept(outcome) ? key : null, payload: end.payload_override }
}

interface PresentRow {
  job_id: string
  version: number
  busy: boolean
}

interface BlockerRow {
  run_id: string | null
  execution_id: string | null
}

interface EndRow {
  execution_id: string
  job_id: string
  kind: ExecutionKind
  outcome: Outcome
  slot: EpochMs
  payload_override: string | null
  idempotency_key: string | null
}

interface LetterRow {
  execution_id: string
  payload: string | null
}

// The facts about graphs for an answer to "why": the dependencies of a job, the ones that are still open, and the run
// that holds back a root. Bounded: a few reads for one question.

import { isNodeEnded, RunGraph, resumableOf } from '../../domain/graphs/graph-run.ts'
import { bufferMax, type JobView } from '../../domain/jobs/job.ts'
import type { ExecutionStatus } from '../../domain/queue/execution.ts'
import {
  type GraphFacts,
  graphFactsOf,
  type LastTurn,
  type OpenRun,
  type RunAgain,
} from '../../domain/why/why-graph.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import type { ExecutionQuery, ExecutionSummary, Executions } from '../../ports/executions.ts'
import type { GraphRuns, RunSummary } from '../../ports/graph-runs.ts'

export interface GraphFactsDeps {
  executions: Pick<Executions, 'listExecutions' | 'getExecution'>
  graphRuns: Pick<GraphRuns, 'graphOf' | 'get' | 'list'>
}

/** Of a root that does not allow overlaps one run is under way, and behind it no more wait than are buffered. */
const listedMax = bufferMax + 1
/** Of these the earliest are looked at. */
const runsMax = 5

/** Null: it depends on nothing. */
export async function findGraph(deps: GraphFactsDeps, job: JobView): Promise<GraphFacts | null> {
  if (job.dependsOn.length === 0) return null
  const [graph, last] = await Promise.all([
    deps.graphRuns.graphOf(job.tenantId, job.jobId),
    findLast(deps, job, { from: null, to: null }),
  ])
  return graphFactsOf(
    graph ?? { jobs: [], edges: [] },
    job,
    last === null ? null : await turnOf(deps, job, last),
  )
}

/** Null: it ran alone, or went well. */
async function turnOf(deps: GraphFactsDeps, job: JobView, one: ExecutionSummary): Promise<LastTurn | null> {
  const { executionId, slot, status, runId } = one
  if (runId === null || !wentWrong(status)) return null
  const message = one.skipped?.message ?? one.error?.message ?? 'nothing is known of why'
  return { executionId, slot, status, message, again: await findAgain(deps, job, one) }
}

function wentWrong(status: ExecutionStatus): status is LastTurn['status'] {
  return status === 'SKIPPED' || status === 'FAILED' || status === 'TIMED_OUT'
}

/** How to go on after an execution of a run that was skipped or failed: only if a resume would run its job again. */
export async function findAgain(
  { graphRuns }: GraphFactsDeps,
  { tenantId }: JobView,
  { executionId, runId, status }: Pick<ExecutionSummary, 'executionId' | 'runId' | 'status'>,
): Promise<RunAgain | null> {
  if (runId === null || !wentWrong(status)) return null
  const run = await graphRuns.get(tenantId, runId)
  if (run === null) return null
  // Another one may have taken its place, or it ran alone.
  const place = run.plan.findIndex((node) => node.executionId === executionId && node.role !== 'outside')
  const states = run.plan.map(({ state }) => state)
  const isAgain = resumableOf(new RunGraph({ nodes: run.plan, edges: run.edges }), states).includes(place)
  return isAgain ? { runId, isEnded: run.finishedAt !== null } : null
}

/** The latest execution with a scheduled time within that second. */
export function findAt(
  deps: GraphFactsDeps,
  job: JobView,
  second: EpochMs,
): Promise<ExecutionSummary | null> {
  return findLast(deps, job, { from: second, to: epochMs(second + 1_000) })
}

async function findLast(
  { executions }: GraphFactsDeps,
  { tenantId, jobId }: JobView,
  bounds: Pick<ExecutionQuery, 'from' | 'to'>,
): Promise<ExecutionSummary | null> {
  const any = {
    status: null,
    kind: null,
    errorType: null,
    deadLetter: null,
    workerId: null,
    tag: null,
    q: null,
  }
  const page = await executions.listExecutions({ tenantId, jobId, ...any, ...bounds, before: null, limit: 1 })
  return page?.executions[0] ?? null
}

/** The nodes that an execution still waits for in its run; null: it is in no run, or in none any more. */
export async function findOpenRun(
  { executions, graphRuns }: GraphFactsDeps,
  { tenantId }: JobView,
  executionId: string,
): Promise<OpenRun | null> {
  const runId = (await executions.getExecution(tenantId, executionId))?.runId ?? null
  const run = runId === null ? null : await graphRuns.get(tenantId, runId)
  if (run === null) return null
  const place = run.plan.findIndex((node) => node.executionId === executionId)
  const parents = run.edges.filter(({ child }) => child === place).map(({ parent }) => run.plan[parent]!)
  const open = parents.filter(({ state }) => !isNodeEnded(state))
  return { runId: run.runId, open: open.map(({ jobName: name, status }) => ({ name, status })) }
}

/** The earliest run under way that the job started, other than by executions that themselves wait. */
export async function findRunAhead(
  { graphRuns }: GraphFactsDeps,
  { tenantId, jobId }: JobView,
  waiting: ReadonlySet<string>,
): Promise<string | null> {
  const any = { tenantId, jobId, from: null, to: null, before: null, limit: listedMax }
  const [running, cancelling] = await Promise.all([
    graphRuns.list({ ...any, status: 'RUNNING' }),
    graphRuns.list({ ...any, status: 'CANCELLING' }),
  ])
  const isOwn = ({ roots }: RunSummary) => roots.some((root) => root.jobId === jobId)
  const runs = [...running.runs, ...cancelling.runs].filter(isOwn)
  const earliest = runs.toSorted((a, b) => a.createdAt - b.createdAt).slice(0, runsMax)
  for (const { runId } of earliest) {
    const node = (await graphRuns.get(tenantId, runId))?.plan.find((one) => one.jobId === jobId)
    const executionId = node?.executionId ?? null
    if (executionId !== null && !waiting.has(executionId)) return runId
  }
  return null
}

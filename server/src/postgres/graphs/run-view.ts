// The view of a run, made from its rows.

import { statusOfNode } from '../../domain/graphs/graph-run.ts'
import { countNodes, type RunCounts } from '../../domain/graphs/run-counts.ts'
import { type LiveState, type Outcome, statusOfLive, statusOfOutcome } from '../../domain/queue/execution.ts'
import type { ErrorType } from '../../domain/queue/retry.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { ParentResult, RunNodeView, RunSummary, RunView } from '../../ports/graph-runs.ts'
import type { Columns } from '../connection/columns.ts'
import { errorOf } from '../history/find-execution.ts'
import { type PlanRow, type ReplacedPart, rolesOf, statesOf, toEdges } from './rows.ts'

/** The fields of a run that have a column each. */
type Same = Omit<RunSummary, keyof RunCounts>

export interface SummaryRow extends Columns<Same> {
  roles: string
  states: string
}

/** All null but the first two: nothing was found. */
export interface ListedRow extends SummaryRow {
  picked_count: number
  seen: number
  seen_to: string | null
}

export interface RunViewRow extends SummaryRow, PlanRow {
  run_id: string
  roles: string
  cancel_message: string | null
  replaced: ReplacedPart[]
}

export interface NodeRow {
  node_index: number
  name: string
  state: LiveState | null
  live_attempt: number | null
  cancelled: boolean | null
  live_enqueued_at: EpochMs | null
  live_started_at: EpochMs | null
  outcome: Outcome | null
  attempt: number | null
  enqueued_at: EpochMs | null
  started_at: EpochMs | null
  finished_at: EpochMs | null
  duration_ms: number | null
  error_type: ErrorType | null
  error_message: string | null
}

export interface ParentRow {
  execution_id: string
  job_id: string
  job_key: string | null
  parent_id: string | null
  node_state: string
  live_state: LiveState | null
  attempt: number | null
  cancelled: boolean | null
  outcome: Outcome | null
  result: string | null
}

export function toRunSummary(row: SummaryRow): RunSummary {
  return {
    runId: row.run_id,
    kind: row.kind,
    status: row.status,
    slot: row.slot,
    roots: row.roots,
    ...countNodes(rolesOf(row.roles), statesOf(row.states)),
    resumes: row.resumes,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
  }
}

export function toRunView(row: RunViewRow, nodeRows: readonly NodeRow[]): RunView {
  const nodes = new Map(nodeRows.map((node) => [node.node_index, node]))
  const replaced = Map.groupBy(row.replaced, ([nodeIndex]) => nodeIndex)
  const roles = rolesOf(row.roles)
  const states = statesOf(row.states)
  return {
    ...toRunSummary(row),
    cancelMessage: row.cancel_message,
    plan: row.job_ids.map((jobId, nodeIndex) => ({
      jobId,
      jobName: nodes.get(nodeIndex)!.name,
      version: row.versions[nodeIndex]!,
      role: roles[nodeIndex]!,
      state: states[nodeIndex]!,
      executionId: row.execution_ids[nodeIndex]!,
      ...currentOf(nodes.get(nodeIndex)!, statusOfNode(states[nodeIndex]!)),
      replaced: (replaced.get(nodeIndex) ?? [])
        .map(([, executionId]) => executionId)
        .filter((id) => id !== null),
    })),
    edges: toEdges(row.edges),
  }
}

type Current = Pick<
  RunNodeView,
  'status' | 'attempt' | 'enqueuedAt' | 'startedAt' | 'finishedAt' | 'durationMs' | 'error' | 'skipMessage'
>

/** As the execution itself is shown; while it runs, nothing of the attempt before. */
function currentOf(row: NodeRow, statusOfState: RunNodeView['status']): Current {
  const last = {
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    durationMs: row.duration_ms,
    error: errorOf(row.error_type, row.error_message),
    skipMessage: row.outcome === 'skipped' ? row.error_message : null,
  }
  if (row.state === null) {
    const status = row.outcome === null ? statusOfState : statusOfOutcome(row.outcome)
    return { status, attempt: row.attempt ?? 0, enqueuedAt: row.enqueued_at, ...last }
  }
  const attempt = row.live_attempt!
  const status = statusOfLive(row.state, attempt, row.cancelled!)
  const isRunning = row.state === 'running' || row.state === 'awaiting'
  const running = {
    startedAt: row.live_started_at,
    finishedAt: null,
    durationMs: null,
    error: null,
    skipMessage: null,
  }
  return { status, attempt, enqueuedAt: row.live_enqueued_at, ...(isRunning ? running : last) }
}

export function toParentResult(row: ParentRow): ParentResult {
  const { live_state: live, outcome } = row
  const status =
    live !== null
      ? statusOfLive(live, row.attempt!, row.cancelled!)
      : outcome !== null
        ? statusOfOutcome(outcome)
        : statusOfNode(statesOf(row.node_state)[0]!)
  const { job_id: jobId, job_key: jobKey, parent_id: executionId, result } = row
  return { jobId, jobKey, executionId, status, result }
}

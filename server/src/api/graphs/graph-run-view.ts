// Graphs and their runs as clients see them.
import type { GraphRun, GraphRunList, JobGraph } from '@carillon/contract/graph-run.ts'
import { skipReasonOf } from '../../domain/graphs/graph-run.ts'
import { toRfc3339, toRfc3339OrNull } from '../../lib/time/epoch.ts'
import type { Graph, RunNodeView, RunSummary, RunView } from '../../ports/graph-runs.ts'
import { toScheduledTime } from '../executions/execution-view.ts'

type Node = GraphRun['nodes'][number]

export function toRunItem(run: RunSummary): GraphRunList['graph_runs'][number] {
  return {
    graph_run_id: run.runId,
    status: run.status,
    kind: run.kind,
    scheduled_time: toScheduledTime(run.slot),
    roots: run.roots.map(({ jobId, name }) => ({ job_id: jobId, job_name: name })),
    node_count: run.nodes,
    nodes_by_status: { ...run.counts },
    skipped_by_reason: { ...run.skips },
    resumes: run.resumes,
    created_at: toRfc3339(run.createdAt),
    finished_at: toRfc3339OrNull(run.finishedAt),
  }
}

export function toRun(run: RunView): GraphRun {
  const parents = Map.groupBy(run.edges, ({ child }) => child)
  const dependenciesOf = (place: number) =>
    (parents.get(place) ?? []).map(({ parent, on }) => ({ job_id: run.plan[parent]!.jobId, on }))
  return {
    ...toRunItem(run),
    cancel_message: run.cancelMessage,
    nodes: run.plan.map((node, place) => toNode(node, dependenciesOf(place))),
  }
}

function toNode(node: RunNodeView, dependsOn: Node['depends_on']): Node {
  return {
    job_id: node.jobId,
    job_name: node.jobName,
    job_version: node.version,
    role: node.role,
    status: node.status,
    skip_reason: skipReasonOf(node.state),
    skip_message: node.skipMessage,
    depends_on: dependsOn,
    execution_id: node.executionId,
    attempt_number: node.attempt,
    enqueued_at: toRfc3339OrNull(node.enqueuedAt),
    started_at: toRfc3339OrNull(node.startedAt),
    finished_at: toRfc3339OrNull(node.finishedAt),
    duration_ms: node.durationMs,
    error: node.error,
    replaced: [...node.replaced],
  }
}

export function toJobGraph({ jobs, edges }: Graph): JobGraph {
  const parents = Map.groupBy(edges, ({ childId }) => childId)
  return {
    nodes: jobs.map(({ jobId, name, status }) => ({
      job_id: jobId,
      job_name: name,
      status,
      depends_on: (parents.get(jobId) ?? []).map(({ parentId, on }) => ({ job_id: parentId, on })),
    })),
  }
}

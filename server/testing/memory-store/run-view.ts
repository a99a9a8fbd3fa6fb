// The view of a run in memory: its nodes with their executions, and the executions that an execution runs after.
import { type NodeState, statusOfNode } from '../../src/domain/graphs/graph-run.ts'
import { countNodes } from '../../src/domain/graphs/run-counts.ts'
import {
  type ParentResult,
  parentResultsMax,
  type RunNodeView,
  type RunSummary,
  type RunView,
} from '../../src/ports/graph-runs.ts'
import { summaryOfFinal, summaryOfLive } from './execution-summary.ts'
import type { GraphRunRow } from './rows.ts'
import { findEnd } from './start-run.ts'
import type { MemoryStore } from './store.ts'

export function summaryOfRun(store: MemoryStore, run: GraphRunRow): RunSummary {
  const { runId, kind, status, slot, graph, states, resumes, createdAt, finishedAt } = run
  const { nodes } = graph.plan
  const roots = nodes
    .filter(({ role }) => role === 'root')
    .map(({ jobId }) => ({ jobId, name: nameOf(store, jobId) }))
  const roles = nodes.map(({ role }) => role)
  const size = { ...countNodes(roles, states), resumes }
  return { runId, kind, status, slot, roots, ...size, createdAt, finishedAt }
}

export function viewOfRun(store: MemoryStore, run: GraphRunRow): RunView {
  return {
    ...summaryOfRun(store, run),
    cancelMessage: run.cancelMessage,
    plan: run.graph.plan.nodes.map((_, nodeIndex) => nodeView(store, run, nodeIndex)),
    edges: [...run.graph.plan.edges],
  }
}

function nodeView(store: MemoryStore, run: GraphRunRow, nodeIndex: number): RunNodeView {
  const { jobId, version, role, executionId } = run.graph.plan.nodes[nodeIndex]!
  const state = run.states[nodeIndex]!
  const replaced = run.replaced.flatMap((one) => (one.nodeIndex === nodeIndex ? (one.executionId ?? []) : []))
  const identity = { jobId, jobName: nameOf(store, jobId), version, role, state, executionId }
  const one = executionId === null ? null : summaryOf(store, executionId)
  if (one === null) {
    const times = { enqueuedAt: null, startedAt: null, finishedAt: null, durationMs: null }
    const nothing = { attempt: 0, ...times, error: null, skipMessage: null }
    return { ...identity, status: statusOfNode(state), ...nothing, replaced }
  }
  const { status, attempt, enqueuedAt, startedAt, finishedAt, durationMs, error, skipped } = one
  const times = { enqueuedAt, startedAt, finishedAt, durationMs }
  const skipMessage = skipped?.message ?? null
  return { ...identity, status, attempt, ...times, error, skipMessage, replaced }
}

function summaryOf(store: MemoryStore, executionId: string) {
  const live = store.live.get(executionId)
  if (live !== undefined) return summaryOfLive(store, live)
  const end = findEnd(store, executionId)
  return end === undefined ? null : summaryOfFinal(store, end)
}

export function nameOf(store: MemoryStore, jobId: string): string {
  const { versions, version } = store.jobs.get(jobId)!
  return versions.get(version)!.name
}

/** In the order of the edges. */
export function parentResultsOf(store: MemoryStore, run: GraphRunRow, executionId: string): ParentResult[] {
  const { graph, replaced } = run
  const { nodes } = graph.plan
  const old = replaced.find((one) => one.executionId === executionId)
  const nodeIndex =
    old?.nodeIndex ?? nodes.findIndex((node) => node.executionId === executionId && node.role !== 'outside')
  if (nodeIndex === -1) return []
  let length = 0
  return graph.parentsOf(nodeIndex).map(({ parent }) => {
    const { jobId } = nodes[parent]!
    const { executionId: parentExecution, state } = inPlace(run, parent, old?.resume ?? null)
    const one = parentExecution === null ? null : summaryOf(store, parentExecution)
    const status = one?.status ?? statusOfNode(state)
    const preview = parentExecution === null ? null : (findEnd(store, parentExecution)?.preview ?? null)
    length += preview?.length ?? 0
    const result = length <= parentResultsMax ? preview : null
    const jobKey = store.jobs.get(jobId)?.key ?? null
    return { jobId, jobKey, executionId: parentExecution, status, result }
  })
}

/**
 * The execution of a node until the run was resumed for the nth time; null: the current one. With a parent all its
 * descendants are replaced, so a child that was replaced then had run after this execution.
 */
function inPlace(
  { graph, states, replaced }: GraphRunRow,
  nodeIndex: number,
  resume: number | null,
): { executionId: string | null; state: NodeState } {
  const then =
    resume === null ? undefined : replaced.find((one) => one.nodeIndex === nodeIndex && one.resume >= resume)
  const state = states[nodeIndex]!
  if (then === undefined) return { executionId: graph.plan.nodes[nodeIndex]!.executionId, state }
  return { executionId: then.executionId, state: then.executionId === null ? 'unrun' : state }
}

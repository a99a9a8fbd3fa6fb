// Resumes an ended run in memory: new executions replace the ones that did not succeed.

import { RunGraph, type RunNode, resumableOf } from '../../src/domain/graphs/graph-run.ts'
import { executionIdAt, idempotencyKeyOf, isKeyKept } from '../../src/domain/queue/execution.ts'
import { type ResumeOutcome, type RunTools, resumesMax } from '../../src/ports/graph-runs.ts'
import type { AttemptRow, GraphRunRow, LiveRow } from './rows.ts'
import { advanceRun, nothingStepped } from './run-steps.ts'
import { compareText } from './sorted-set.ts'
import { findEnd, makeBlocked } from './start-run.ts'
import type { MemoryStore } from './store.ts'

export function resumeRun(store: MemoryStore, run: GraphRunRow, tools: RunTools): ResumeOutcome {
  const { status, graph } = run
  if (run.finishedAt === null) return { kind: 'not_finished', status }
  // Earlier notes do not concern the resumed run: a cancel that came too late would end it again.
  advanceRun(store, run, { laneOf: tools.laneOf, isNew: false }, nothingStepped())
  const nodeIndexes = resumableOf(graph, run.states)
  if (nodeIndexes.length === 0) return { kind: 'nothing' }
  if (run.resumes >= resumesMax) return { kind: 'too_often' }
  const busy = findBusyRoot(store, run)
  if (busy !== null) return findOverlap(store, busy)

  const nodes = [...graph.plan.nodes]
  for (const nodeIndex of nodeIndexes) {
    const before = nodes[nodeIndex]!
    const { version } = store.jobs.get(before.jobId)!
    nodes[nodeIndex] = { ...before, version, executionId: tools.newExecutionId() }
    store.addLive(makeAgain(store, run, nodes[nodeIndex]!, before))
    run.replaced.push({ nodeIndex, executionId: before.executionId, resume: run.resumes + 1 })
    run.states[nodeIndex] = 'blocked'
  }
  run.graph = new RunGraph({ nodes, edges: graph.plan.edges })
  Object.assign(run, { status: 'RUNNING', cancelMessage: null, finishedAt: null })
  run.resumes += 1
  const stepped = nothingStepped()
  advanceRun(store, run, { laneOf: tools.laneOf, isNew: true }, stepped)
  // Behind that: its own row is not in the way of a root.
  if (store.graphRuns.get(run.runId)?.finishedAt === null) addRoots(store, run)
  const { over, settled } = stepped
  const executionIds = nodeIndexes.map((nodeIndex) => nodes[nodeIndex]!.executionId!)
  return { kind: 'resumed', executionIds, over, settled }
}

/** A root that does not allow overlaps, and of which something is under way. */
function findBusyRoot(store: MemoryStore, { graph }: GraphRunRow): string | null {
  const isBusy = ({ jobId, role }: RunNode) => {
    const job = store.jobs.get(jobId)!
    const { overlapPolicy } = job.versions.get(job.version)!
    return role === 'root' && overlapPolicy !== 'ALLOW' && store.isBlocked(job)
  }
  return graph.plan.nodes.find(isBusy)?.jobId ?? null
}

/** The part of the job that blocks the resume: a run with the job as a root, else an execution. */
function findOverlap(store: MemoryStore, jobId: string): ResumeOutcome {
  const { live, batched } = store.jobs.get(jobId)!
  const [runId = null] = [...(store.runRoots.get(jobId)?.keys() ?? [])].toSorted(compareText)
  if (runId !== null) return { kind: 'overlap', jobId, runId, executionId: null }
  const alone = live.values().filter(({ state }) => state !== 'blocked')
  const [executionId = null] = [
    ...alone
      .map((row) => row.executionId)
      .toArray()
      .toSorted(compareText),
    ...batched.entries().map(([{ position }, { batchId }]) => executionIdAt(batchId, position)),
  ]
  return { kind: 'overlap', jobId, runId, executionId }
}

function makeAgain(store: MemoryStore, run: GraphRunRow, node: RunNode, before: RunNode): LiveRow {
  const { executionId, role } = before
  const original = executionId === null ? undefined : findEnd(store, executionId)
  return makeBlocked(store, run, node, {
    kind: role === 'root' ? 'retry' : 'dependency',
    retryOf: executionId,
    ...(original !== undefined && keptOf(store, original)),
  })
}

/** The dead letter, which may have been edited, is gone with it, as with a retry. */
function keptOf(
  store: MemoryStore,
  original: AttemptRow,
): Pick<LiveRow, 'idempotencyKey' | 'payloadOverride'> {
  const { executionId } = original
  const idempotencyKey = keptKeyOf(original)
  const letter = store.deadLetters.get(executionId)
  store.deadLetters.delete(executionId)
  if (letter !== undefined)
    return { idempotencyKey, ...('payload' in letter && { payloadOverride: letter.payload }) }
  return {
    idempotencyKey,
    ...('payloadOverride' in original && { payloadOverride: original.payloadOverride }),
  }
}

function keptKeyOf(original: AttemptRow): string | null {
  const { outcome, kind, idempotencyKey } = original
  if (!isKeyKept(outcome)) return null
  return idempotencyKey ?? idempotencyKeyOf(kind, original)
}

function addRoots(store: MemoryStore, { runId, graph }: GraphRunRow): void {
  for (const { jobId, role, executionId } of graph.plan.nodes) {
    if (role === 'root') store.addRunRoot({ jobId, runId, executionId: executionId!, operationId: null })
  }
}

// The counts of nodes that a list of runs shows: by status, and skipped nodes by reason, because a branch that was not
// taken is something else than a paused job. Outside nodes are not counted.
import type { ExecutionStatus } from '../queue/execution.ts'
import { type NodeRole, type NodeState, type SkipReason, skipReasonOf, statusOfNode } from './graph-run.ts'

export interface RunCounts {
  nodes: number
  /** By the status that `statusOfNode` gives for their state. */
  counts: Partial<Record<ExecutionStatus, number>>
  skips: Partial<Record<SkipReason, number>>
}

export function countNodes(roles: readonly NodeRole[], states: readonly NodeState[]): RunCounts {
  const own = states.filter((_, nodeIndex) => roles[nodeIndex] !== 'outside')
  const counts: RunCounts['counts'] = {}
  const skips: RunCounts['skips'] = {}
  for (const state of own) {
    const status = statusOfNode(state)
    counts[status] = (counts[status] ?? 0) + 1
    const reason = skipReasonOf(state)
    if (reason !== null) skips[reason] = (skips[reason] ?? 0) + 1
  }
  return { nodes: own.length, counts, skips }
}

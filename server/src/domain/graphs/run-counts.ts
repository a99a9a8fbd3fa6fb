// What a list of runs tells of the nodes of each: how many, by what became of them, and of those that were skipped by why: a
// branch that was not taken is something else than a job that was paused. Outside ones are not counted.
import type { ExecutionStatus } from '../queue/execution.ts'
import { type NodeRole, type NodeState, type SkipReason, skipReasonOf, statusOfNode } from './graph-run.ts'

export interface RunCounts {
  nodes: number
  /** By what `statusOfNode` says of their state. */
  counts: Partial<Record<ExecutionStatus, number>>
  skips: Partial<Record<SkipReason, number>>
}

export function countNodes(roles: readonly NodeRole[], states: readonly NodeState[]): RunCounts {
  const own = states.filter((_, place) => roles[place] !== 'outside')
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

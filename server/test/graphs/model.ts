// Computes the expected end of a run from the wording of the rules, without any of the product code: look again and
// again for a node with only ended parents, until there is none.
import type { NodeState } from '../../src/domain/graphs/graph-run.ts'
import type { Shape } from './random-graph.ts'

/** How each node would end if it went: an outcome, or why it is skipped although its turn came. */
export type Fate = Extract<
  NodeState,
  'succeeded' | 'failed' | 'timed_out' | 'cancelled' | 'paused' | 'deleted' | 'unrun' | 'absent'
>

export interface Foretold {
  states: NodeState[]
  status: 'SUCCEEDED' | 'FAILED' | 'CANCELLED'
}

export interface ModelOptions {
  /** Nodes that have ended before and stay as they are, as after a resume. */
  kept?: ReadonlyMap<number, NodeState>
  /** Nodes that are not of the run: how they ended says nothing of it. */
  outside?: ReadonlySet<number>
}

export function foretell(
  { nodes, edges }: Pick<Shape, 'nodes' | 'edges'>,
  fates: readonly Fate[],
  { kept = new Map(), outside = new Set() }: ModelOptions = {},
): Foretold {
  const states = new Map<number, NodeState>(kept)
  while (states.size < nodes) {
    for (let nodeIndex = 0; nodeIndex < nodes; nodeIndex++) {
      const parents = edges.filter(({ child }) => child === nodeIndex)
      if (states.has(nodeIndex) || parents.some(({ parent }) => !states.has(parent))) continue
      const isMet = parents.every(({ parent, on }) => isMetBy(on, states.get(parent)!))
      states.set(nodeIndex, isMet ? fates[nodeIndex]! : 'dependency')
    }
  }
  const all = Array.from({ length: nodes }, (_, nodeIndex) => states.get(nodeIndex)!)
  return { states: all, status: statusOf(all.filter((_, nodeIndex) => !outside.has(nodeIndex))) }
}

export function isMetBy(rule: string, state: NodeState): boolean {
  const hasFailed = state === 'failed' || state === 'timed_out'
  if (rule === 'success') return state === 'succeeded'
  return rule === 'failure' ? hasFailed : hasFailed || state === 'succeeded'
}

function statusOf(states: readonly NodeState[]): Foretold['status'] {
  if (states.includes('failed') || states.includes('timed_out')) return 'FAILED'
  return states.includes('cancelled') ? 'CANCELLED' : 'SUCCEEDED'
}

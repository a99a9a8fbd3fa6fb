// The nodes of a run: their current status by the live stream, the ones that a resume would run again, and which node
// is beside which.
import type { GraphRun } from '@carillon/contract/graph-run.ts'
import { endedStatuses, type ToldExecution, withEvent } from '../../live/told-execution.ts'
import type { Layout } from './layout.ts'

export type RunNode = GraphRun['nodes'][number]

export const activeStatuses: readonly string[] = ['RUNNING', 'RETRYING', 'CANCELLING']

/**
 * Applies the events since the run was read. A node that was read as ended stays so: the stream may deliver an older
 * event.
 */
export function withTold(
  nodes: readonly RunNode[],
  told: ReadonlyMap<string, ToldExecution>,
): readonly RunNode[] {
  if (told.size === 0) return nodes
  return nodes.map((node) => {
    if (node.execution_id === null || endedStatuses.includes(node.status)) return node
    return withEvent(node, told.get(node.execution_id))
  })
}

/** Ids of the jobs that depend on each job. */
export function childrenOf(
  nodes: readonly { job_id: string; depends_on: readonly { job_id: string }[] }[],
): Map<string, string[]> {
  const children = new Map<string, string[]>(nodes.map(({ job_id }) => [job_id, []]))
  for (const { job_id, depends_on } of nodes) {
    for (const parent of depends_on) children.get(parent.job_id)?.push(job_id)
  }
  return children
}

/**
 * Ids of the nodes that get new executions when the run is resumed, by the rule of the server: nodes that did not
 * succeed, and all that depend on them; a node that was skipped because of an unchanged node remains skipped.
 */
export function resumableOf(nodes: readonly RunNode[]): Set<string> {
  const starts = nodes.filter(isResumeStart).map(({ job_id }) => job_id)
  return reachedFrom(nodes, starts)
}

/** Whether a resume begins with this node, and not only comes by it. */
export function isResumeStart({ role, status, skip_reason }: RunNode): boolean {
  return role !== 'outside' && status !== 'SUCCEEDED' && skip_reason !== 'dependency'
}

/** These and all that depend on them. */
export function reachedFrom(nodes: readonly RunNode[], starts: readonly string[]): Set<string> {
  const children = childrenOf(nodes)
  const reached = new Set(starts)
  // Grows while it is walked.
  for (const id of reached) for (const child of children.get(id) ?? []) reached.add(child)
  return reached
}

export type Direction = 'left' | 'right' | 'up' | 'down'

/** The node that an arrow key leads to: a dependency, a dependent, or a neighbour of the same layer; null: none. */
export function besideOf({ nodes, edges }: Layout, id: string, direction: Direction): string | null {
  const here = nodes.get(id)
  if (here === undefined) return null
  const isAcross = direction === 'left' || direction === 'right'
  const candidates = isAcross
    ? edges
        .filter(({ from, to }) => (direction === 'right' ? from === id : to === id))
        .map(({ from, to }) => nodes.get(direction === 'right' ? to : from)!)
    : [...nodes.values()].filter(
        ({ layer, y }) => layer === here.layer && (direction === 'down' ? y > here.y : y < here.y),
      )
  const nearest = candidates.toSorted((a, b) => Math.abs(a.y - here.y) - Math.abs(b.y - here.y))[0]
  return nearest?.id ?? null
}

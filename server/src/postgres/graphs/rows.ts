// A run of a graph as PostgreSQL keeps it: parallel arrays, and a letter for each node.
import type { DependencyRule } from '../../domain/graphs/graph.ts'
import {
  NODE_LETTERS,
  type NodeRole,
  type NodeState,
  ROLE_LETTERS,
  type RunEdge,
  RunGraph,
  type RunKind,
  type RunNode,
  type RunStatus,
} from '../../domain/graphs/graph-run.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'

/** The columns that change from step to step. */
export interface RunRow {
  run_id: string
  tenant_id: string
  kind: RunKind
  slot: EpochMs
  status: RunStatus
  cancel_message: string | null
  states: string
  resumes: number
  created_at: EpochMs
  finished_at: EpochMs | null
}

/** The columns that stay the same until a root fires or the run is resumed. */
export interface PlanRow {
  run_id: string
  job_ids: string[]
  roles: string
  versions: number[]
  execution_ids: (string | null)[]
  edges: [parent: number, child: number, rule: DependencyRule][]
}

/**
 * The execution at a position until the run was resumed for the nth time; null: a root with a skipped slot had no
 * execution.
 */
export type ReplacedPart = [nodeIndex: number, executionId: string | null, resume: number]

/** A plan, and the index of each of its jobs. */
export interface IndexedGraph {
  graph: RunGraph
  nodeIndexes: ReadonlyMap<string, number>
}

/** A run that is locked by us. */
export interface HeldRun extends IndexedGraph {
  runId: string
  tenantId: string
  slot: EpochMs
  status: RunStatus
  cancelMessage: string | null
  states: readonly NodeState[]
  /** Nodes to examine, even without a note. */
  look: readonly number[]
}

export function toHeldRun(row: RunRow, indexed: IndexedGraph): HeldRun {
  return {
    ...indexed,
    runId: row.run_id,
    tenantId: row.tenant_id,
    slot: row.slot,
    status: row.status,
    cancelMessage: row.cancel_message,
    states: statesOf(row.states),
    look: [],
  }
}

export function toIndexedGraph(row: PlanRow): IndexedGraph {
  const roles = rolesOf(row.roles)
  const nodes = row.job_ids.map((jobId, nodeIndex) => ({
    jobId,
    version: row.versions[nodeIndex]!,
    role: roles[nodeIndex]!,
    executionId: row.execution_ids[nodeIndex]!,
  }))
  return indexNodes(nodes, toEdges(row.edges))
}

export function indexNodes(nodes: readonly RunNode[], edges: readonly RunEdge[]): IndexedGraph {
  const nodeIndexes = new Map(nodes.map(({ jobId }, nodeIndex) => [jobId, nodeIndex]))
  return { graph: new RunGraph({ nodes, edges }), nodeIndexes }
}

/** The same graph, in which some nodes are others. */
export function withNodes(
  { graph, nodeIndexes }: IndexedGraph,
  changed: ReadonlyMap<number, RunNode>,
): IndexedGraph {
  const { nodes, edges } = graph.plan
  return {
    graph: new RunGraph({ nodes: nodes.map((node, nodeIndex) => changed.get(nodeIndex) ?? node), edges }),
    nodeIndexes,
  }
}

export function toEdges(edges: PlanRow['edges']): RunEdge[] {
  return edges.map(([parent, child, on]) => ({ parent, child, on }))
}

export function toEdgeParts(edges: readonly RunEdge[]): PlanRow['edges'] {
  return edges.map(({ parent, child, on }) => [parent, child, on])
}

const stateByLetter = byLetter(NODE_LETTERS)
const roleByLetter = byLetter(ROLE_LETTERS)

export function statesOf(letters: string): NodeState[] {
  return Array.from(letters, (letter) => stateByLetter.get(letter)!)
}

export function rolesOf(letters: string): NodeRole[] {
  return Array.from(letters, (letter) => roleByLetter.get(letter)!)
}

export function toLetters(states: readonly NodeState[]): string {
  return states.map((state) => NODE_LETTERS[state]).join('')
}

export function toRoleLetters(nodes: readonly { role: NodeRole }[]): string {
  return nodes.map(({ role }) => ROLE_LETTERS[role]).join('')
}

function byLetter<Name extends string>(letters: Readonly<Record<Name, string>>): Map<string, Name> {
  return new Map(Object.entries<string>(letters).map(([name, letter]) => [letter, name as Name]))
}

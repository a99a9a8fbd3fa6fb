// Which job runs after which. Jobs that depend on each other, directly or through others, are one graph; its jobs that
// depend on nothing are its roots. Pure: decided while nobody else changes a dependency of the tenant.
import type { DependencyRule } from '@carillon/contract/constants.ts'
import type { JobStatus } from '../jobs/job.ts'

export type { DependencyRule } from '@carillon/contract/constants.ts'

export interface Dependency {
  jobId: string
  on: DependencyRule
}

export interface Edge {
  parentId: string
  childId: string
  on: DependencyRule
}

/** Maximum jobs in a graph. */
export const graphNodesMax = 1_000
/** Dependencies in one graph, at most: a run keeps them all. */
export const graphEdgesMax = 10_000

export interface GraphJob {
  jobId: string
  name: string
  status: JobStatus
  /** Null: it is in none. */
  graphId: string | null
}

/** All graphs that a change touches: the graph of the job, and the graphs of the jobs that it is to depend on. */
export interface GraphPart {
  jobs: readonly GraphJob[]
  /** Between any of them. */
  edges: readonly Edge[]
}

export interface NamedJob {
  jobId: string
  name: string
}

/** Why a job cannot depend on others so, or not be deleted. */
export type GraphRefusal =
  /** There is no such job, or it is deleted. */
  | { kind: 'unknown_parent'; jobId: string }
  /** Each runs before the next; the last is the first. */
  | { kind: 'cycle'; path: NamedJob[] }
  | { kind: 'too_large'; jobs: number }
  | { kind: 'too_many_edges'; edges: number }
  | { kind: 'has_dependents'; jobs: NamedJob[] }

export interface GraphPlan {
  /** Jobs that are in another graph than before, or in none; by id. */
  graphIds: ReadonlyMap<string, string | null>
}

export function isGraphRefusal(outcome: object | string): outcome is GraphRefusal {
  return typeof outcome === 'object' && 'kind' in outcome
}

/** The part contains the job, also when it is new; the job has these dependencies and no others from now on. */
export function planDependencies(
  { jobs, edges }: GraphPart,
  { jobId, dependsOn }: { jobId: string; dependsOn: readonly Dependency[] },
): GraphPlan | GraphRefusal {
  const known = new Map(jobs.map((job) => [job.jobId, job]))
  for (const { jobId: parentId } of dependsOn) {
    const parent = known.get(parentId)
    if (parent === undefined || parent.status === 'DELETED')
      return { kind: 'unknown_parent', jobId: parentId }
  }
  const kept = edges.filter(({ childId }) => childId !== jobId)
  const cycle = findCycle(kept, jobId, dependsOn)
  if (cycle !== null) {
    return { kind: 'cycle', path: cycle.map((id) => ({ jobId: id, name: known.get(id)!.name })) }
  }
  const added = dependsOn.map(({ jobId: parentId, on }) => ({ parentId, childId: jobId, on }))
  const then = [...kept, ...added]
  const graphs = graphsOf(known.keys(), then)
  const graphId = graphs.get(jobId)!
  const isHere = (id: string | null) => id !== null && id === graphId
  const size = graphs.values().filter(isHere).toArray().length
  if (size > graphNodesMax) return { kind: 'too_large', jobs: size }
  const count = then.filter(({ childId }) => isHere(graphs.get(childId)!)).length
  // A graph that has become smaller is accepted even if it is still too large.
  if (count > graphEdgesMax && then.length > edges.length) return { kind: 'too_many_edges', edges: count }
  const graphIds = new Map([...graphs].filter(([id, graph]) => known.get(id)!.graphId !== graph))
  return { graphIds }
}

/** The job depends on nothing any more, and must have nothing that depends on it. */
export function planRemoval(part: GraphPart, jobId: string): GraphPlan | GraphRefusal {
  const children = new Set(part.edges.filter((edge) => edge.parentId === jobId).map((edge) => edge.childId))
  const dependents = part.jobs
    .filter((job) => children.has(job.jobId))
    .map(({ jobId: id, name }) => ({ jobId: id, name }))
    .toSorted((a, b) => (a.jobId < b.jobId ? -1 : 1))
  if (dependents.length > 0) return { kind: 'has_dependents', jobs: dependents }
  return planDependencies(part, { jobId, dependsOn: [] })
}

/** The ids on the way from a job over its dependents back to itself; null: there is no such way. */
function findCycle(edges: readonly Edge[], jobId: string, dependsOn: readonly Dependency[]): string[] | null {
  const parents = new Set(dependsOn.map((one) => one.jobId))
  const children = Map.groupBy(edges, ({ parentId }) => parentId)
  const cameFrom = new Map<string, string | null>([[jobId, null]])
  // The keys grow while they are walked: the shortest cycle is found first.
  for (const at of cameFrom.keys()) {
    if (parents.has(at)) return [...wayTo(cameFrom, at), jobId]
    for (const { childId } of children.get(at) ?? []) {
      if (!cameFrom.has(childId)) cameFrom.set(childId, at)
    }
  }
  return null
}

function wayTo(cameFrom: ReadonlyMap<string, string | null>, end: string): string[] {
  const way: string[] = []
  for (let at: string | null = end; at !== null; at = cameFrom.get(at) ?? null) way.push(at)
  return way.reverse()
}

/** The graph of each job, which has the least id in it as its own; null: the job is alone. */
function graphsOf(jobIds: Iterable<string>, edges: readonly Edge[]): Map<string, string | null> {
  const near = new Map<string, string[]>()
  for (const { parentId, childId } of edges) {
    for (const [one, other] of [[parentId, childId] as const, [childId, parentId] as const]) {
      const list = near.get(one)
      if (list === undefined) near.set(one, [other])
      else list.push(other)
    }
  }
  const graphs = new Map<string, string | null>()
  for (const first of jobIds) {
    if (graphs.has(first)) continue
    const members = new Set([first])
    for (const at of members) for (const other of near.get(at) ?? []) members.add(other)
    const graphId = members.size === 1 ? null : [...members].reduce((least, id) => (id < least ? id : least))
    for (const id of members) graphs.set(id, graphId)
  }
  return graphs
}

// A run of a graph: each of its jobs once, in an order that its dependencies allow. Nodes and edges are pinned at its
// start. Pure: the course of a run is decided while it is locked, from the updates of its executions since. Also in the
// SDK's test kit, and so under Node 20: without Map.groupBy and the like.
import { createHash } from 'node:crypto'
import type {
  ExecutionSkipReason,
  NodeRole,
  NodeSkipReason,
  RunKind,
  RunStatus,
} from '@carillon/contract/constants.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { JobStatus, JobVersion } from '../jobs/job.ts'
import type { ExecutionStatus, Outcome } from '../queue/execution.ts'
import { isAfterCompletion } from '../schedule/after-completion.ts'
import type { DependencyRule, Edge } from './graph.ts'

export type {
  ExecutionSkipReason,
  NodeRole,
  NodeSkipReason,
  RunKind,
  RunStatus,
} from '@carillon/contract/constants.ts'

/**
 * The states of a node, and the letters they are stored as. unfired: a root with its slot still to come; blocked: its
 * dependencies are not met yet; going: it was let go and has not ended. unrun: a root with a skipped slot. absent:
 * outside, and no execution of it has ended yet.
 */
export const NODE_LETTERS = {
  unfired: 'u',
  blocked: 'b',
  going: 'g',
  succeeded: 's',
  failed: 'f',
  timed_out: 't',
  cancelled: 'c',
  dependency: 'd',
  paused: 'p',
  deleted: 'x',
  unrun: 'o',
  absent: 'n',
} as const
export type NodeState = keyof typeof NODE_LETTERS

/** As they are stored. */
export const ROLE_LETTERS: Readonly<Record<NodeRole, string>> = { root: 'r', inner: 'i', outside: 'o' }

export interface RunNode {
  jobId: string
  /** Of an outside one: that which ended. 0: none did. */
  version: number
  role: NodeRole
  /** Null: a root that has not fired, or nothing of it has ended yet. */
  executionId: string | null
}

/** By nodeIndex in the list of nodes. */
export interface RunEdge {
  parent: number
  child: number
  on: DependencyRule
}

export interface RunPlan {
  nodes: readonly RunNode[]
  edges: readonly RunEdge[]
}

/** The id of the run of all roots that fire for a slot: the same for every root and process, and sorted by the slot. */
export function runIdOfSlot(graphId: string, slot: EpochMs): string {
  const time = slot.toString(16).padStart(12, '0')
  const mixed = createHash('sha256').update(`${graphId}:${slot}`).digest('hex')
  const variant = ((Number.parseInt(mixed[3]!, 16) & 0x3) | 0x8).toString(16)
  const tail = mixed.slice(7, 19)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${mixed.slice(0, 3)}-${variant}${mixed.slice(4, 7)}-${tail}`
}

/**
 * Of a root that counts from its last end. It shares its runs with nobody: another that happens to have a slot then does
 * not know of it.
 */
export function runIdOfOwnSlot(graphId: string, jobId: string, slot: EpochMs): string {
  return runIdOfSlot(`${graphId}:${jobId}`, slot)
}

/** A job of a graph as it is now. */
export interface MemberJob extends Pick<JobVersion, 'jobId' | 'version' | 'name' | 'schedule' | 'anchorAt'> {
  status: JobStatus
}

/** The nodes and edges of a run, before its nodes have executions. */
export interface RunDraft {
  nodes: readonly Pick<RunNode, 'jobId' | 'version' | 'role'>[]
  edges: readonly RunEdge[]
}

/** The start of a run: its first root and its cause. */
export interface RunStart {
  rootId: string
  kind: RunKind
  /** It has the run for itself: it found no nodeIndex in that of its slot. */
  isAlone?: boolean
  /** Whether a job has the slot of the run as well. */
  hasSlot: (job: MemberJob) => boolean
}

/**
 * All jobs that the first root reaches; for a slot also the jobs reached by roots that have this slot too, regardless
 * of their other slots: they fire into the same run. All further dependencies of these are outside. The first root is
 * one of the members, also when it is in no graph any more.
 */
export function draftRun(members: readonly MemberJob[], edges: readonly Edge[], start: RunStart): RunDraft {
  const jobs = new Map(members.map((job) => [job.jobId, job]))
  const dependent = new Set(edges.map(({ childId }) => childId))
  // One that counts from its last end has its runs for itself: see `runIdOfOwnSlot`.
  const isOwn = start.isAlone === true || isAfterCompletion(jobs.get(start.rootId)!.schedule)
  const isShared = start.kind === 'slot' && !isOwn
  const roots = members.filter((job) => {
    if (job.jobId === start.rootId) return true
    return isShared && !dependent.has(job.jobId) && start.hasSlot(job)
  })
  const children = new Map<string, string[]>(edges.map(({ parentId }) => [parentId, []]))
  for (const { parentId, childId } of edges) children.get(parentId)!.push(childId)
  const reached = new Set(roots.map(({ jobId }) => jobId))
  for (const at of reached) for (const childId of children.get(at) ?? []) reached.add(childId)
  const wanted = edges.filter(({ childId }) => reached.has(childId) && childId !== start.rootId)
  const outside = new Set(wanted.map(({ parentId }) => parentId).filter((id) => !reached.has(id)))
  const rootIds = new Set(roots.map(({ jobId }) => jobId))
  const roleOf = (jobId: string): NodeRole =>
    rootIds.has(jobId) ? 'root' : reached.has(jobId) ? 'inner' : 'outside'
  // A parent may be missing only if an edge was read without its job: it counts as absent.
  const nodes = [...reached, ...outside].map((jobId) => ({
    jobId,
    version: jobs.get(jobId)?.version ?? 0,
    role: roleOf(jobId),
  }))
  const nodeIndexes = new Map(nodes.map(({ jobId }, nodeIndex) => [jobId, nodeIndex]))
  return {
    nodes,
    edges: wanted.map(({ parentId, childId, on }) => ({
      parent: nodeIndexes.get(parentId)!,
      child: nodeIndexes.get(childId)!,
      on,
    })),
  }
}

const unended: ReadonlySet<NodeState> = new Set<NodeState>(['unfired', 'blocked', 'going'])

export function isNodeEnded(state: NodeState): boolean {
  return !unended.has(state)
}

const meets: Readonly<Record<DependencyRule, ReadonlySet<NodeState>>> = {
  success: new Set<NodeState>(['succeeded']),
  failure: new Set<NodeState>(['failed', 'timed_out']),
  completion: new Set<NodeState>(['succeeded', 'failed', 'timed_out']),
}

/** The state of a node after this final outcome of its execution. */
export function nodeStateOf(outcome: Outcome, skipReason: ExecutionSkipReason | null): NodeState {
  // Of quota: a slot that got no budget in time, and only of a job outside the run.
  if (outcome === 'skipped') return skipReason === 'quota' ? 'unrun' : (skipReason ?? 'dependency')
  return outcome === 'lost' ? 'failed' : outcome
}

/** The status of a node that a client sees; of a node that has not ended, its execution says more. */
export function statusOfNode(state: NodeState): ExecutionStatus {
  if (state === 'blocked' || state === 'unfired') return 'WAITING_DEPENDENCIES'
  if (state === 'going') return 'PENDING'
  if (state === 'succeeded') return 'SUCCEEDED'
  if (state === 'failed') return 'FAILED'
  if (state === 'timed_out') return 'TIMED_OUT'
  return state === 'cancelled' ? 'CANCELLED' : 'SKIPPED'
}

/** Why a node was skipped, as a client sees it. slot: it is a root, and its slot was; absent: it is outside. */
export type SkipReason = NodeSkipReason | 'slot' | 'absent'

/** Null: it was not skipped. */
export function skipReasonOf(state: NodeState): SkipReason | null {
  if (state === 'unrun') return 'slot'
  const isReason = state === 'dependency' || state === 'paused' || state === 'deleted' || state === 'absent'
  return isReason ? state : null
}

/** A plan with its edges by node, for as long as it is in use. */
export class RunGraph {
  readonly plan: RunPlan
  readonly #parents: readonly (readonly RunEdge[])[]
  readonly #children: readonly (readonly RunEdge[])[]

  constructor(plan: RunPlan) {
    this.plan = plan
    const parents: RunEdge[][] = plan.nodes.map(() => [])
    const children: RunEdge[][] = plan.nodes.map(() => [])
    for (const edge of plan.edges) {
      parents[edge.child]!.push(edge)
      children[edge.parent]!.push(edge)
    }
    this.#parents = parents
    this.#children = children
  }

  parentsOf(nodeIndex: number): readonly RunEdge[] {
    return this.#parents[nodeIndex]!
  }

  childrenOf(nodeIndex: number): readonly RunEdge[] {
    return this.#children[nodeIndex]!
  }
}

export interface RunStep {
  states: NodeState[]
  /** Nodes that go now. */
  go: number[]
  /** Nodes that will not run; their states say why. */
  skip: number[]
  /** The run ends with this; null: it goes on. */
  over: RunStatus | null
}

export interface RunNews {
  /** New states of nodes, by position. A node that has ended keeps its state. */
  changes: ReadonlyMap<number, NodeState>
  /** Blocked nodes to check besides the nodes that depend on a changed one. */
  look: Iterable<number>
  /** Nothing goes any more. */
  isCancelled: boolean
  /** Of jobs that may go; absent: it goes. A paused or deleted one is skipped. */
  statusOf?: (jobId: string) => JobStatus | undefined
}

/** Each blocked node goes once all that it depends on has ended as it must, and is skipped once one has not. */
export function stepRun(graph: RunGraph, before: readonly NodeState[], news: RunNews): RunStep {
  const states = [...before]
  const step: RunStep = { states, go: [], skip: [], over: null }
  const look = new Set(news.look)
  for (const [nodeIndex, state] of news.changes) {
    if (isNodeEnded(states[nodeIndex]!)) continue
    states[nodeIndex] = state
    for (const { child } of graph.childrenOf(nodeIndex)) look.add(child)
  }
  // A cancelled run awaits nobody: a root may be held back by a run that waits for the end of this one.
  if (news.isCancelled)
    for (const [nodeIndex, state] of states.entries()) if (state === 'unfired') states[nodeIndex] = 'unrun'
  // Grows while it is walked: nodes that depend on a skipped node are checked too.
  for (const nodeIndex of look) {
    if (states[nodeIndex] !== 'blocked' || news.isCancelled) continue
    const next = judge(graph, states, nodeIndex, news)
    if (next === 'blocked') continue
    states[nodeIndex] = next
    if (next === 'going') step.go.push(nodeIndex)
    else {
      step.skip.push(nodeIndex)
      for (const { child } of graph.childrenOf(nodeIndex)) {
        // Once more, also if it was looked at before.
        look.delete(child)
        look.add(child)
      }
    }
  }
  step.over = statusOfRun(graph.plan, states, news.isCancelled)
  return step
}

function judge(graph: RunGraph, states: readonly NodeState[], nodeIndex: number, news: RunNews): NodeState {
  let isMet = true
  for (const { parent, on } of graph.parentsOf(nodeIndex)) {
    const state = states[parent]!
    if (!isNodeEnded(state)) isMet = false
    else if (!meets[on].has(state)) return 'dependency'
  }
  if (!isMet) return 'blocked'
  const status = news.statusOf?.(graph.plan.nodes[nodeIndex]!.jobId)
  if (status === 'PAUSED') return 'paused'
  return status === 'DELETED' ? 'deleted' : 'going'
}

/** Null: it has not ended. Skipped nodes alone make no run fail: a branch that was not taken is skipped too. */
function statusOfRun(
  { nodes }: RunPlan,
  states: readonly NodeState[],
  isCancelled: boolean,
): RunStatus | null {
  const own = states.filter((_, nodeIndex) => nodes[nodeIndex]!.role !== 'outside')
  if (!own.every(isNodeEnded)) return null
  if (isCancelled) return 'CANCELLED'
  if (own.some((state) => state === 'failed' || state === 'timed_out')) return 'FAILED'
  return own.includes('cancelled') ? 'CANCELLED' : 'SUCCEEDED'
}

/** The first dependency of a node that cannot be met; undefined: it was not skipped for that. */
export function unmetOf(
  graph: RunGraph,
  states: readonly NodeState[],
  nodeIndex: number,
): (RunEdge & { parentId: string }) | undefined {
  if (states[nodeIndex] !== 'dependency') return undefined
  const isUnmet = ({ parent, on }: RunEdge) => isNodeEnded(states[parent]!) && !meets[on].has(states[parent]!)
  const edge = graph.parentsOf(nodeIndex).find(isUnmet)!
  return { ...edge, parentId: graph.plan.nodes[edge.parent]!.jobId }
}

/** The message on record for a skipped node. */
export function skipMessageOf(
  graph: RunGraph,
  states: readonly NodeState[],
  nodeIndex: number,
  nameOf: (jobId: string) => string,
): string {
  const unmet = unmetOf(graph, states, nodeIndex)
  if (unmet === undefined) return `The job was ${states[nodeIndex]} when its turn came.`
  const { parent, parentId, on } = unmet
  return `It runs on ${on} of "${nameOf(parentId)}", ${endText(states[parent]!)}.`
}

function endText(state: NodeState): string {
  if (state === 'absent') return 'of which no execution has ended'
  const reason = skipReasonOf(state)
  return reason === null ? `which ended ${statusOfNode(state)}` : `which was skipped (${reason})`
}

/**
 * Nodes that get new executions when an ended run is resumed: nodes that failed, were cancelled or never had their
 * turn, and all nodes that depend on them, also nodes that ran because of such an end: an alert is to come again if its
 * parent fails again. A node that was skipped because of a node that stays as it is remains skipped. Empty: there is
 * nothing to resume.
 */
export function resumableOf(graph: RunGraph, states: readonly NodeState[]): number[] {
  const again = new Set<number>()
  for (const [nodeIndex, state] of states.entries()) {
    if (graph.plan.nodes[nodeIndex]!.role === 'outside') continue
    if (state !== 'succeeded' && state !== 'dependency') again.add(nodeIndex)
  }
  // Grows while it is walked.
  for (const nodeIndex of again) {
    for (const { child } of graph.childrenOf(nodeIndex)) again.add(child)
  }
  return [...again].toSorted((a, b) => a - b)
}

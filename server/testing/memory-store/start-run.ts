// How a run begins in memory: its nodes and edges are pinned as they are now, and each node that is to run has a row.
import type { Edge } from '../../src/domain/graphs/graph.ts'
import {
  draftRun,
  type MemberJob,
  type NodeState,
  nodeStateOf,
  type RunDraft,
  RunGraph,
  type RunKind,
  type RunNode,
} from '../../src/domain/graphs/graph-run.ts'
import { hasSlotAt } from '../../src/domain/jobs/same-slots.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { rankOf } from '../../src/domain/queue/rank.ts'
import { routeOf } from '../../src/domain/queue/route.ts'
import type { RunTools } from '../../src/ports/graph-runs.ts'
import { hostOfUncharged } from './held-back.ts'
import { makeLive } from './insert-live.ts'
import type { AttemptRow, GraphRunRow, JobRow, LiveRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

/** Makes a run from the first noted of the known roots; null: there is none. */
export function makeRun(
  store: MemoryStore,
  runId: string,
  { newExecutionId }: Pick<RunTools, 'newExecutionId'>,
): GraphRunRow | null {
  const notes = store.runNotes.get(runId)?.filter(({ what }) => what === 'root') ?? []
  const known = notes.map(({ executionId: id }) => store.live.get(id) ?? findEnd(store, id))
  const root = known.find((row) => row !== undefined)
  if (root === undefined) return null
  const { jobId, executionId, kind, slot, tenantId } = root
  const members = membersOf(store, store.jobs.get(jobId)!)
  const hasSlot = (job: MemberJob) => hasSlotAt(job, slot)
  const start = { rootId: jobId, kind: kind as RunKind, isAlone: runId === executionId, hasSlot }
  const draft = draftRun(members.map(memberOf), edgesOf(members), start)
  const { nodes, states } = indexNodes(store, draft, newExecutionId)
  const run: GraphRunRow = {
    runId,
    tenantId,
    kind: start.kind,
    slot,
    status: 'RUNNING',
    cancelMessage: null,
    graph: new RunGraph({ nodes, edges: draft.edges }),
    states,
    resumes: 0,
    replaced: [],
    createdAt: store.now(),
    finishedAt: null,
  }
  store.graphRuns.set(runId, run)
  for (const node of nodes) {
    if (node.role === 'inner') store.addLive(makeBlocked(store, run, node, { kind: 'dependency' }))
  }
  return run
}

function indexNodes(store: MemoryStore, draft: RunDraft, newExecutionId: () => string) {
  const states: NodeState[] = []
  const nodes = draft.nodes.map((node): RunNode => {
    if (node.role !== 'outside') {
      states.push(node.role === 'root' ? 'unfired' : 'blocked')
      return { ...node, executionId: node.role === 'root' ? null : newExecutionId() }
    }
    const last = lastEndOf(store, node.jobId)
    states.push(last === null ? 'absent' : nodeStateOf(last.outcome, last.skipReason))
    return { ...node, version: last?.version ?? 0, executionId: last?.executionId ?? null }
  })
  return { nodes, states }
}

/** The row of a node that is not let go yet. */
export function makeBlocked(
  store: MemoryStore,
  { runId, tenantId, slot }: Pick<GraphRunRow, 'runId' | 'tenantId' | 'slot'>,
  { jobId, version, executionId }: RunNode,
  more: Pick<LiveRow, 'kind'> & Partial<LiveRow>,
): LiveRow {
  const definition = store.versionOf({ jobId, version })
  const { priority } = definition
  const enqueuedAt = store.now()
  return makeLive({
    executionId: executionId!,
    jobId,
    version,
    tenantId,
    slot,
    state: 'blocked',
    route: routeOf(definition),
    lane: sharedLane,
    priority,
    enqueuedAt,
    rank: rankOf(enqueuedAt, priority),
    runId,
    host: hostOfUncharged(store, tenantId),
    ...more,
  })
}

/** All jobs of its graph, by id; only the job itself: it is in none. */
export function membersOf(store: MemoryStore, job: JobRow): JobRow[] {
  const { graphId } = job.cursor
  if (graphId === null) return [job]
  return store.jobs
    .values()
    .filter(({ cursor }) => cursor.graphId === graphId)
    .toArray()
    .toSorted((a, b) => compareText(a.jobId, b.jobId))
}

export function memberOf({ versions, version, cursor }: JobRow): MemberJob {
  const { jobId, name, schedule, anchorAt } = versions.get(version)!
  return { jobId, version, name, schedule, anchorAt, status: cursor.status }
}

export function edgesOf(members: readonly JobRow[]): Edge[] {
  return members.flatMap(({ jobId: childId, versions, version, cursor }) => {
    if (!cursor.depends) return []
    return versions.get(version)!.dependsOn.map(({ jobId: parentId, on }) => ({ parentId, childId, on }))
  })
}

/** How an execution ended; undefined: it has not. */
export function findEnd(store: MemoryStore, executionId: string): AttemptRow | undefined {
  const last = store.log.of(executionId).at(-1)
  return last?.final === true ? last : undefined
}

/** The latest execution of a job that has ended. */
function lastEndOf(store: MemoryStore, jobId: string): AttemptRow | null {
  const ended = [...(store.jobs.get(jobId)?.ended ?? [])]
  const last = ended.toSorted(compareText).at(-1)
  return last === undefined ? null : (findEnd(store, last) ?? null)
}

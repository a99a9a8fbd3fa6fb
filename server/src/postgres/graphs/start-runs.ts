// The start of graph runs: nodes, versions and edges are pinned as they are now, and each node that will run gets a row.
import { takeAffordable } from '../../domain/graphs/affordable.ts'
import type { Edge } from '../../domain/graphs/graph.ts'
import {
  draftRun,
  type MemberJob,
  type NodeState,
  nodeStateOf,
  type RunDraft,
  type RunKind,
  type RunNode,
} from '../../domain/graphs/graph-run.ts'
import { KnownSchedules } from '../../domain/jobs/same-slots.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { Graph, RunTools } from '../../ports/graph-runs.ts'
import type { Queries } from '../connection/database.ts'
import { type EndedRow, LatestEnded } from '../history/latest-ended.ts'
import { newNodeItem, newRunItem } from './items.ts'
import { type HeldRun, indexNodes, toEdgeParts, toLetters, toRoleLetters } from './rows.ts'
import * as statements from './start-runs.sql.ts'

/** Limit per step, unless a single run is more: rows that it makes, */
const nodesMax = 2_000
/** jobs of the graphs that it reads, */
const readMax = 2_000
/** and jobs that it examines, the jobs of a graph once for each of its runs. About half a second in all. */
const lookedAtMax = 20_000

/** Data shared by all runs that start in this step. */
export class StartMemory {
  readonly schedules = new KnownSchedules()
  readonly latest = new LatestEnded()
}

/** Makes the noted runs that are not made yet; runs that others are making are left to them. */
export async function startRuns(
  queries: Queries,
  runIds: readonly string[],
  { newExecutionId }: Pick<RunTools, 'newExecutionId'>,
  memory: StartMemory,
): Promise<Made> {
  if (runIds.length === 0) return { made: [], left: false }
  const claimed = await queries.query<{ run_id: string }>(statements.claimStarts, [runIds])
  if (claimed.rows.length === 0) return { made: [], left: false }
  const ids = claimed.rows.map((row) => row.run_id)
  const { rows } = await queries.query<StartRow>(statements.selectStarts, [ids])
  const strays = rows.flatMap((row) => row.seen ?? [])
  if (strays.length > 0) await queries.query(statements.dropNotes, [strays])
  const known = new Map(rows.filter(isKnown).map((row) => [row.run_id, row]))
  // In the order that was asked for, in which the tenants take turns.
  const starts = [...new Set(runIds)].map((runId) => known.get(runId)).filter((row) => row !== undefined)
  const drafts = await draftAll(queries, await takeReadable(queries, starts), memory.schedules)
  const latest = await memory.latest.find(queries, outsideOf(drafts))
  const runs = drafts.map((draft) => toRun(draft, latest, newExecutionId))
  return { made: await insertRuns(queries, runs), left: drafts.length < starts.length }
}

interface Made {
  made: HeldRun[]
  /** Some were too much for one step. */
  left: boolean
}

/** As many starts as one step can read the graphs of, in the given order. */
async function takeReadable(queries: Queries, starts: readonly KnownStart[]): Promise<KnownStart[]> {
  if (starts.length < 2) return [...starts]
  const jobIds = new Set(starts.map((start) => start.job_id))
  const { rows } = await queries.query<SizeRow>(statements.selectGraphSizes, [[...jobIds]])
  const sizes = new Map(rows.map((row) => [row.job_id, row]))
  const graphs = new Map(starts.map((start) => [sizes.get(start.job_id)!.graph_id, sizes.get(start.job_id)!]))
  const read = new Set(
    takeAffordable([...graphs.values()], ({ jobs }) => jobs, readMax).map((row) => row.graph_id),
  )
  const readable = starts.filter((start) => read.has(sizes.get(start.job_id)!.graph_id))
  return takeAffordable(readable, (start) => sizes.get(start.job_id)!.jobs, lookedAtMax)
}

interface Draft {
  start: KnownStart
  draft: RunDraft
}

async function draftAll(
  queries: Queries,
  starts: readonly KnownStart[],
  schedules: KnownSchedules,
): Promise<Draft[]> {
  if (starts.length === 0) return []
  const graphs = await findGraphs(
    queries,
    starts.map((start) => start.job_id),
  )
  const drafts = starts.map((start): Draft => {
    const { jobs, edges } = graphs.get(start.job_id)!
    const hasSlot = (job: MemberJob) => schedules.hasSlotAt(job, start.slot)
    const isAlone = start.run_id === start.execution_id
    return {
      start,
      draft: draftRun(jobs, edges, { rootId: start.job_id, kind: start.kind, isAlone, hasSlot }),
    }
  })
  return takeAffordable(drafts, ({ draft }) => draft.nodes.length, nodesMax)
}

/** The graphs of jobs, by job; for a job in no graph, only itself. */
export async function findGraphs(queries: Queries, jobIds: readonly string[]): Promise<Map<string, Graph>> {
  const { rows } = await queries.query<GraphRow>(statements.selectGraphs, [[...new Set(jobIds)]])
  const wanted = new Set(jobIds)
  const found = new Map<string, Graph>()
  for (const { jobs, edges } of rows) {
    const graph = { jobs, edges: edges ?? [] }
    for (const { jobId } of jobs) if (wanted.has(jobId)) found.set(jobId, graph)
  }
  return found
}

function outsideOf(drafts: readonly Draft[]): string[] {
  const nodes = drafts.flatMap(({ draft }) => draft.nodes)
  return [...new Set(nodes.filter(({ role }) => role === 'outside').map(({ jobId }) => jobId))]
}

function toRun(
  { start, draft }: Draft,
  latest: ReadonlyMap<string, EndedRow>,
  newExecutionId: () => string,
): HeldRun & { kind: RunKind } {
  const states: NodeState[] = []
  const nodes = draft.nodes.map((node): RunNode => {
    if (node.role === 'root') {
      states.push('unfired')
      return { ...node, executionId: null }
    }
    if (node.role === 'inner') {
      states.push('blocked')
      return { ...node, executionId: newExecutionId() }
    }
    const ended = latest.get(node.jobId)
    states.push(ended === undefined ? 'absent' : nodeStateOf(ended.outcome, ended.skip_reason))
    return { ...node, version: ended?.version ?? 0, executionId: ended?.execution_id ?? null }
  })
  return {
    ...indexNodes(nodes, draft.edges),
    runId: start.run_id,
    tenantId: start.tenant_id,
    kind: start.kind,
    slot: start.slot,
    status: 'RUNNING',
    cancelMessage: null,
    states,
    // Nodes that depend on jobs outside may go, or may not, even if nothing else happens.
    look: [...states.keys()],
  }
}

async function insertRuns(
  queries: Queries,
  runs: readonly (HeldRun & { kind: RunKind })[],
): Promise<HeldRun[]> {
  if (runs.length === 0) return []
  const items = runs.map(({ runId, tenantId, kind, slot, graph: { plan }, states }) => ({
    ...{ runId, tenantId, kind, slotMs: slot, states: toLetters(states), roles: toRoleLetters(plan.nodes) },
    jobIds: plan.nodes.map(({ jobId }) => jobId),
    versions: plan.nodes.map(({ version }) => version),
    executionIds: plan.nodes.map(({ executionId }) => executionId),
    edges: toEdgeParts(plan.edges),
  }))
  const nodes = runs.flatMap(({ runId, graph }) =>
    graph.plan.nodes.filter(({ role }) => role === 'inner').map((node) => ({ ...node, runId })),
  )
  const { rows } = await queries.query<{ run_id: string }>(statements.insertRuns, [
    newRunItem.encode(items),
    newNodeItem.encode(nodes),
  ])
  const made = new Set(rows.map((row) => row.run_id))
  return runs.filter(({ runId }) => made.has(runId))
}

interface KnownStart {
  run_id: string
  seen: null
  job_id: string
  execution_id: string
  kind: RunKind
  slot: EpochMs
  tenant_id: string
}

/** `seen`: the notes of a run of which no root is known. */
type StartRow = KnownStart | { run_id: string; kind: null; seen: readonly string[] }

function isKnown(row: StartRow): row is KnownStart {
  return row.kind !== null
}

interface SizeRow {
  job_id: string
  graph_id: string
  jobs: number
}

interface GraphRow {
  jobs: MemberJob[]
  edges: Edge[] | null
}

// Dependencies between jobs. Edges and graphs of a tenant change under one lock, acquired before any job is locked: so no two
// changes make a cycle together, and the graphs as read hold until the commit. The jobs are locked too: none of them
// fires into a graph that it is no longer in, and none is deleted while another starts to depend on it.
import {
  type Edge,
  type GraphJob,
  type GraphPart,
  type GraphRefusal,
  graphNodesMax,
  isGraphRefusal,
} from '../../domain/graphs/graph.ts'
import { type GraphWrite, planGraphCreate } from '../../domain/graphs/graph-change.ts'
import type { Jobs, NewJob } from '../../ports/jobs.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import type { Queries, Transactions } from '../connection/database.ts'
import { addActiveJobs, lockRoom, refuseActiveJobs } from '../jobs/active-jobs.ts'
import { findRefusals } from '../jobs/create-counted.ts'
import { noticeMs, toJobItem } from '../jobs/job-row.ts'
import { insertJobs } from '../jobs/jobs.sql.ts'
import { memberItem } from './items.ts'
import * as statements from './job-graph.sql.ts'

/** A job that runs after others. Limit: of the active jobs of its tenant; null: none. */
export function createDependent(
  database: Transactions,
  job: NewJob,
  activeJobsMax: number | null,
): ReturnType<Jobs['create']> {
  const { tenantId, jobId, dependsOn } = job
  const parentIds = dependsOn.map((one) => one.jobId)
  return database.transaction(async (queries) => {
    const part = await lockGraphs(queries, { tenantId, jobId, parentIds })
    const plan = isGraphRefusal(part) ? part : planGraphCreate(part, job)
    if (isGraphRefusal(plan)) return plan
    const counted = activeJobsMax === null ? null : await lockRoom(queries, { tenantId, activeJobsMax })
    if (counted?.room === 0) return refuseActiveJobs(counted.used)
    const { count } = await queries.query(insertJobs, [`[${toJobItem(job)}]`, noticeMs])
    if (count === 0) return (await findRefusals(queries, [job], new Set())).get(jobId)!
    if (counted !== null) await addActiveJobs(queries, tenantId, 1)
    await writeGraph(queries, plan)
    return 'created'
  })
}

/** The graph of the job, if it exists, and the graphs of all its new dependencies, locked with all their jobs. */
export async function lockGraphs(
  queries: Queries,
  { tenantId, jobId, parentIds }: { tenantId: string; jobId: string; parentIds: readonly string[] },
): Promise<GraphPart | GraphRefusal> {
  await queries.query(statements.lockTenantGraphs, [tenantId])
  const { rows: found } = await queries.query<GraphIdRow>(statements.selectGraphIds, [
    tenantId,
    [jobId, ...parentIds],
  ])
  const size = await joinedSize(queries, found, jobId)
  if (size > graphNodesMax) return { kind: 'too_large', jobs: size }
  const locked = await queries.query<IdRow>(statements.lockGraphJobs, [
    found.map((row) => row.job_id),
    graphIdsOf(found),
  ])
  const jobIds = locked.rows.map((row) => row.job_id)
  const jobs = await queries.query<Columns<GraphJob>>(statements.selectGraphJobs, [jobIds])
  const edges = await queries.query<Columns<Edge>>(statements.selectEdges, [jobIds])
  return {
    jobs: jobs.rows.map(fromColumns<GraphJob>),
    edges: edges.rows.map(fromColumns<Edge>),
  }
}

/** The job with all graphs that it would join: at least so large its graph would be. Its own may lose some by the change. */
async function joinedSize(queries: Queries, found: readonly GraphIdRow[], jobId: string): Promise<number> {
  const own = found.find((row) => row.job_id === jobId)?.graph_id ?? null
  const others = found.filter((row) => row.job_id !== jobId && (own === null || row.graph_id !== own))
  const alone = others.filter((row) => row.graph_id === null)
  const graphIds = graphIdsOf(others)
  if (graphIds.length === 0) return 1 + alone.length
  const { rows } = await queries.query<{ jobs: number }>(statements.countGraphJobs, [graphIds])
  return 1 + alone.length + rows[0]!.jobs
}

function graphIdsOf(rows: readonly GraphIdRow[]): string[] {
  return [...new Set(rows.flatMap(({ graph_id }) => (graph_id === null ? [] : [graph_id])))]
}

/** After the job itself is written. */
export async function writeGraph(
  queries: Queries,
  { jobId, dependsOn, graphIds }: GraphWrite,
): Promise<void> {
  const members = Array.from(graphIds, ([jobId, graphId]) => ({ jobId, graphId }))
  await queries.query(statements.writeGraph, [
    jobId,
    dependsOn.map((one) => one.jobId),
    dependsOn.map((one) => one.on),
    memberItem.encode(members),
    noticeMs,
  ])
}

/** By a look without a lock. */
export async function isInGraph(
  queries: Queries,
  { tenantId, jobId }: { tenantId: string; jobId: string },
): Promise<boolean> {
  const { rows } = await queries.query<GraphIdRow>(statements.selectGraphIds, [tenantId, [jobId]])
  return graphIdsOf(rows).length > 0
}

interface IdRow {
  job_id: string
}

interface GraphIdRow extends IdRow {
  graph_id: string | null
}

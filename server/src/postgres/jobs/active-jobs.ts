// How many active jobs a tenant with a limit has: one row of it, locked by each change that makes a job active, and so
// exact while changes come at once. A job that completes, or that a bulk operation pauses or deletes, is not counted off
// by itself: a count that would refuse is taken anew first. Tenants without a limit have no row and pay no statement.
import type { ActiveJobsRefusal } from '../../domain/jobs/active-jobs.ts'
import type { Queries } from '../connection/database.ts'
import * as statements from './active-jobs.sql.ts'

/** Servers that have not heard of a new limit yet, and programs of before, do not count: so a count does not stand for ever. */
const ageSecondsMax = 600
/** A count that would refuse stands so long, and longer for large limits: counting takes about 0.1 s a million jobs. */
const refusingSecondsMin = 0.1
const jobsPerSecond = 100_000

export interface ActiveJobsLimit {
  tenantId: string
  activeJobsMax: number
}

/** Locks the count; answers how many more there may be. Graphs and jobs are locked before it, never after. */
export async function lockRoom(queries: Queries, limit: ActiveJobsLimit) {
  const { activeJobsMax, tenantId } = limit
  const { used, is_old, may_recount } = await lockCount(queries, limit)
  const isStanding = !is_old && (used < activeJobsMax || !may_recount)
  const now = isStanding ? used : await recount(queries, tenantId)
  return { used: now, room: Math.max(0, activeJobsMax - now) }
}

/** Counted at most as often as a refusal counts. */
export async function readActiveJobs(queries: Queries, limit: ActiveJobsLimit): Promise<number> {
  const { used, may_recount } = await lockCount(queries, limit)
  return may_recount ? recount(queries, limit.tenantId) : used
}

async function lockCount(queries: Queries, { tenantId, activeJobsMax }: ActiveJobsLimit): Promise<CountRow> {
  const refusingSeconds = Math.max(refusingSecondsMin, activeJobsMax / jobsPerSecond)
  const values = [tenantId, ageSecondsMax, refusingSeconds]
  const found = await queries.query<CountRow>(statements.lockActiveJobs, values)
  if (found.rows[0] !== undefined) return found.rows[0]
  await queries.query(statements.beginActiveJobs, [tenantId])
  return (await queries.query<CountRow>(statements.lockActiveJobs, values)).rows[0]!
}

async function recount(queries: Queries, tenantId: string): Promise<number> {
  const { rows } = await queries.query<{ used: number }>(statements.recountActiveJobs, [tenantId])
  return rows[0]!.used
}

/** After `lockRoom` when it adds some. Without a row there is nothing to count. */
export async function addActiveJobs(queries: Queries, tenantId: string, more: number): Promise<void> {
  await queries.query(statements.addActiveJobs, [tenantId, more])
}

export function refuseActiveJobs(used: number): ActiveJobsRefusal {
  return { refusal: 'active_jobs_full', used }
}

interface CountRow {
  used: number
  is_old: boolean
  may_recount: boolean
}

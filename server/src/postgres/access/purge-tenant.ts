// Deletes the rows of a tenant, a bounded number at a time, and looks anew each time: nothing says how far the purge is but
// the rows that are left. Rows that hang on others go before them. The jobs come last, some at a time, with all
// that is left of them.
import type { Sql } from '../../lib/sql.ts'
import type { Purged } from '../../ports/tenant-ends.ts'
import type { Queries } from '../connection/database.ts'
import * as statements from './purge-tenant.sql.ts'

/** Of a table, in a step. A step ends once it has deleted so many rows, of all tables together. */
const rowsMax = 5_000
/** Their logs and attempts are many rows each. */
const executionsMax = 500
/** Bundles of code. */
const artifactsMax = 10
const jobsMax = 50

const ownRows: readonly Sql[] = [
  statements.purgeDeadLetters,
  statements.purgeRunNotes,
  statements.purgeFailureGroups,
  statements.purgeJobHealth,
  statements.purgeLateSlots,
  statements.purgeTenantActivity,
  statements.purgeIdempotencyKeys,
  statements.purgeCalendars,
  statements.purgeActiveJobs,
  statements.purgeBudget,
  statements.purgeStorageUsage,
  statements.purgeLogDays,
  statements.purgeFormerWorkers,
  statements.purgeWorkers,
  // Before the keys that they stand for.
  statements.purgeSessions,
  statements.purgeSessionCodes,
  statements.purgeApiKeys,
]

const rowsOfJobs: readonly Sql[] = [
  statements.purgeSlots,
  statements.purgeSkips,
  statements.purgeJobDays,
  statements.purgeJobActivity,
  statements.purgeRootsOfJobs,
  statements.purgeCatchups,
  statements.purgeChanges,
  statements.purgeVersionNotes,
  statements.purgeEdges,
  statements.purgeVersions,
]

/** `operationId`: of the purge, which shows its progress to the end. */
export async function purgeSome(
  queries: Queries,
  tenantId: string,
  operationId: string,
): Promise<Purged | 'under_way'> {
  // Jobs are locked before anything else of a tenant. A job of which something is under way keeps all its history.
  const jobIds = await lockJobs(queries, tenantId)
  if (jobIds === null) return 'under_way'
  let rows = await purgeRecords(queries, tenantId)
  if (rows > 0) return { rows, jobs: 0 }
  const parts: { statement: Sql; values: unknown[]; limit: number }[] = [
    ...ownRows.map((statement) => ({ statement, values: [tenantId, rowsMax], limit: rowsMax })),
    { statement: statements.purgeArtifacts, values: [tenantId, artifactsMax], limit: artifactsMax },
    { statement: statements.purgeOperations, values: [tenantId, rowsMax, operationId], limit: rowsMax },
    ...rowsOfJobs.map((statement) => ({ statement, values: [jobIds, rowsMax], limit: rowsMax })),
  ]
  rows = await purgeRuns(queries, tenantId)
  for (const { statement, values, limit } of parts) {
    const { count } = await queries.query(statement, values)
    rows += count
    if (count === limit || rows >= rowsMax) return { rows, jobs: 0 }
  }
  if (jobIds.length === 0) return { rows, jobs: 0 }
  await queries.query(statements.purgeCursors, [jobIds])
  await queries.query(statements.purgeJobs, [jobIds])
  return { rows: rows + 2 * jobIds.length, jobs: jobIds.length }
}

/** The next jobs; null: something of them is under way. */
async function lockJobs(queries: Queries, tenantId: string): Promise<string[] | null> {
  const { rows } = await queries.query<{ job_id: string }>(statements.selectPurgedJobs, [tenantId, jobsMax])
  const jobIds = rows.map((row) => row.job_id)
  if (jobIds.length === 0) return []
  await queries.query(statements.lockPurgedJobs, [jobIds])
  const { count } = await queries.query(statements.selectUnended, [jobIds])
  return count > 0 ? null : jobIds
}

async function purgeRecords(queries: Queries, tenantId: string): Promise<number> {
  const { rows } = await queries.query<{ execution_id: string }>(statements.selectPurgedExecutions, [
    tenantId,
    executionsMax,
  ])
  if (rows.length === 0) return 0
  const ids = rows.map((row) => row.execution_id)
  const logs = await queries.query(statements.purgeLogs, [tenantId, ids])
  const attempts = await queries.query(statements.purgeAttempts, [tenantId, ids])
  return logs.count + attempts.count
}

async function purgeRuns(queries: Queries, tenantId: string): Promise<number> {
  const { rows } = await queries.query<{ run_id: string }>(statements.selectRuns, [tenantId, rowsMax])
  if (rows.length === 0) return 0
  const ids = rows.map((row) => row.run_id)
  await queries.query(statements.purgeRunRoots, [ids])
  return (await queries.query(statements.purgeRuns, [ids])).count
}

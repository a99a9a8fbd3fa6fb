// The statements that delete the rows of a tenant, each at most a given number of them.
import { columnNames, type Fragment, fragment, type Sql, sql } from '../../lib/sql.ts'

/** Rows with a tenant_id ($1), at most $2. By ctid: not every table has an index on it. */
const deleteOwn = (name: string, table: Fragment, condition: Fragment = fragment`true`): Sql => sql(name)`
  DELETE FROM ${table} x
  WHERE x.tenant_id = $1
    AND x.ctid = ANY (ARRAY(SELECT y.ctid FROM ${table} y WHERE y.tenant_id = $1 AND ${condition} LIMIT $2))`

const table = (name: string) => columnNames([name])

export const purgeDeadLetters = deleteOwn('purgeDeadLetters', table('dead_letters'))
export const purgeFailureGroups = deleteOwn('purgeFailureGroups', table('failure_groups'))
export const purgeJobHealth = deleteOwn('purgeJobHealth', table('job_health'))
export const purgeLateSlots = deleteOwn('purgeLateSlots', table('late_slots'))
export const purgeTenantActivity = deleteOwn('purgeTenantActivity', table('tenant_activity'))
export const purgeRunNotes = deleteOwn('purgeRunNotes', table('run_notes'))
export const purgeIdempotencyKeys = deleteOwn('purgeIdempotencyKeys', table('idempotency_keys'))
export const purgeCalendars = deleteOwn('purgeCalendars', table('calendars'))
export const purgeArtifacts = deleteOwn('purgeArtifacts', table('artifacts'))
export const purgeActiveJobs = deleteOwn('purgeActiveJobs', table('active_jobs'))
export const purgeBudget = deleteOwn('purgeBudget', table('execution_budgets'))
export const purgeStorageUsage = deleteOwn('purgeStorageUsage', table('storage_usage'))
export const purgeLogDays = deleteOwn('purgeLogDays', table('log_days'))
export const purgeFormerWorkers = deleteOwn('purgeFormerWorkers', table('former_workers'))
/** A worker that still holds executions is left until it has lost them. */
export const purgeWorkers = deleteOwn(
  'purgeWorkers',
  table('workers'),
  fragment`
    NOT EXISTS (SELECT FROM live l WHERE l.worker_id = y.worker_id)
    AND NOT EXISTS (SELECT FROM batches b WHERE b.worker_id = y.worker_id)`,
)

/** All but the operation of the purge ($3). */
export const purgeOperations = sql('purgeOperations')`
  DELETE FROM operations
  WHERE operation_id = ANY (ARRAY(
    SELECT o.operation_id FROM operations o WHERE o.tenant_id = $1 AND o.operation_id <> $3 LIMIT $2
  ))`

export const purgeSessions = sql('purgeSessions')`
  DELETE FROM sessions
  WHERE hash = ANY (ARRAY(
    SELECT s.hash
    FROM api_keys key
    JOIN sessions s ON s.key_hash = key.hash
    WHERE key.tenant_id = $1 LIMIT $2
  ))`

export const purgeSessionCodes = sql('purgeSessionCodes')`
  DELETE FROM session_codes
  WHERE hash = ANY (ARRAY(
    SELECT code.hash
    FROM api_keys key
    JOIN session_codes code ON code.key_hash = key.hash
    WHERE key.tenant_id = $1 LIMIT $2
  ))`

export const purgeApiKeys = deleteOwn('purgeApiKeys', table('api_keys'))

/** The executions whose attempts and logs go next. */
export const selectPurgedExecutions = sql('selectPurgedExecutions')`
  SELECT DISTINCT recorded.execution_id
  FROM (
    SELECT a.execution_id FROM attempts a WHERE a.tenant_id = $1 ORDER BY a.execution_id LIMIT $2
  ) recorded`

export const purgeLogs = sql('purgeLogs')`
  DELETE FROM logs WHERE execution_id = ANY ($2::uuid[]) AND tenant_id = $1`

export const purgeAttempts = sql('purgeAttempts')`
  DELETE FROM attempts WHERE tenant_id = $1 AND execution_id = ANY ($2::uuid[])`

/** Runs that have not ended either: one with a root that never fires would not end. */
export const selectRuns = sql('selectRuns')`
  SELECT run_id FROM graph_runs WHERE tenant_id = $1 ORDER BY run_id LIMIT $2 FOR UPDATE`

export const purgeRunRoots = sql('purgeRunRoots')`
  DELETE FROM run_roots WHERE run_id = ANY ($1::uuid[])`

export const purgeRuns = sql('purgeRuns')`
  DELETE FROM graph_runs WHERE run_id = ANY ($1::uuid[])`

/** The jobs that go next, in the order in which cursors are locked. */
export const selectPurgedJobs = sql('selectPurgedJobs')`
  SELECT job_id FROM jobs WHERE tenant_id = $1 ORDER BY job_id LIMIT $2`

export const lockPurgedJobs = sql('lockPurgedJobs')`
  SELECT FROM cursors WHERE job_id = ANY ($1::uuid[]) ORDER BY job_id FOR UPDATE`

/** One execution of these jobs that has not ended, if there is one. */
export const selectUnended = sql('selectUnended')`
  SELECT asked.job_id
  FROM unnest($1::uuid[]) AS asked(job_id)
  WHERE EXISTS (SELECT FROM live l WHERE l.job_id = asked.job_id AND l.state <> 'blocked' OFFSET 0)
    OR EXISTS (SELECT FROM live l WHERE l.job_id = asked.job_id AND l.state = 'blocked' OFFSET 0)
    OR EXISTS (SELECT FROM batches b WHERE b.job_ids @> ARRAY[asked.job_id] OFFSET 0)
  LIMIT 1`

/** Rows of these jobs ($1), at most $2. */
const deleteOfJobs = (name: string, of: Fragment): Sql => sql(name)`
  DELETE FROM ${of} x
  WHERE x.job_id = ANY ($1::uuid[])
    AND x.ctid = ANY (ARRAY(SELECT y.ctid FROM ${of} y WHERE y.job_id = ANY ($1::uuid[]) LIMIT $2))`

export const purgeSkips = deleteOfJobs('purgeSkips', table('skips'))
export const purgeJobDays = deleteOfJobs('purgeJobDays', table('job_days'))
export const purgeJobActivity = deleteOfJobs('purgeJobActivity', table('job_activity'))
export const purgeRootsOfJobs = deleteOfJobs('purgeRootsOfJobs', table('run_roots'))
export const purgeCatchups = deleteOfJobs('purgeCatchups', table('catchups'))
export const purgeChanges = deleteOfJobs('purgeChanges', table('changes'))
export const purgeVersionNotes = deleteOfJobs('purgeVersionNotes', table('version_notes'))
export const purgeVersions = deleteOfJobs('purgeVersions', table('job_versions'))

/** A ctid is one of a partition: by the primary key. */
export const purgeSlots = sql('purgeSlots')`
  DELETE FROM slots x
  USING (SELECT y.job_id, y.slot FROM slots y WHERE y.job_id = ANY ($1::uuid[]) LIMIT $2) picked
  WHERE x.job_id = picked.job_id AND x.slot = picked.slot`

export const purgeEdges = sql('purgeEdges')`
  DELETE FROM job_edges
  WHERE (child_id, parent_id) IN (
    SELECT e.child_id, e.parent_id
    FROM job_edges e
    WHERE e.child_id = ANY ($1::uuid[]) OR e.parent_id = ANY ($1::uuid[]) LIMIT $2
  )`

export const purgeCursors = sql('purgeCursors')`
  DELETE FROM cursors WHERE job_id = ANY ($1::uuid[])`

export const purgeJobs = sql('purgeJobs')`
  DELETE FROM jobs WHERE job_id = ANY ($1::uuid[])`

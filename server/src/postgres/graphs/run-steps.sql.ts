// The statements that find, lock and prune graph runs. The statements that advance a run are in advance-runs.sql.ts.
import { type Fragment, fragment, sql } from '../../lib/sql.ts'
import { isOfUndeletedTenant } from '../sql/deleted-tenants.ts'

/** Runs with notes of a tenant, each with its oldest note: from key to key of the index, and not from note to note. */
const notedRuns = (bounds: Fragment, isPassed: Fragment): Fragment => fragment`
  WITH RECURSIVE run AS (
    (
      SELECT note.run_id, note.note_id
      FROM run_notes note
      WHERE note.tenant_id = tenant.tenant_id AND ${bounds}
      ORDER BY note.run_id, note.note_id LIMIT 1
    )
    UNION ALL
    SELECT following.run_id, following.note_id
    FROM run
    CROSS JOIN LATERAL (
      SELECT note.run_id, note.note_id
      FROM run_notes note
      WHERE note.tenant_id = tenant.tenant_id AND note.run_id > run.run_id AND ${bounds}
      ORDER BY note.run_id, note.note_id LIMIT 1
    ) following
  )
  SELECT run_id, note_id, ${isPassed} AS is_round
  FROM run
  WHERE run_id <> ALL ($2::uuid[])`

/** Tenants with notes, found in the same way. */
const notedTenants = (bounds: Fragment): Fragment => fragment`
  (SELECT note.tenant_id FROM run_notes note WHERE ${bounds} ORDER BY note.tenant_id LIMIT 1)
  UNION ALL
  SELECT following.tenant_id
  FROM noted
  CROSS JOIN LATERAL (
    SELECT note.tenant_id
    FROM run_notes note
    WHERE note.tenant_id > noted.tenant_id AND ${bounds}
    ORDER BY note.tenant_id LIMIT 1
  ) following`

// At most $1 runs with notes, but for some ($2). Each tenant has an equal share of them, its next runs by id; tenants begin
// behind one ($3) and runs behind one ($4), and go on from the start after the last. The tenants take turns, and of each
// the run comes first that was noted first. However much is noted, each run costs one look into the index.
// A tenant of which all runs are left out has a row without a run.
export const selectNoted = sql('selectNoted')`
  WITH RECURSIVE noted AS (
    ${notedTenants(fragment`note.tenant_id > $3::uuid`)}
  ), tenant AS MATERIALIZED (
    SELECT tenant_id, row_number() OVER () AS nth
    FROM (
      SELECT tenant_id
      FROM noted
      UNION ALL
      SELECT tenant_id
      FROM (
        WITH RECURSIVE noted AS (
          ${notedTenants(fragment`note.tenant_id <= $3::uuid`)}
        )
        SELECT tenant_id
        FROM noted
      ) part
    ) every LIMIT $1::int
  ), share AS MATERIALIZED (
    SELECT greatest($1::int / greatest(count(*), 1), 1) AS runs FROM tenant
  )
  SELECT tenant.tenant_id, tenant.nth, run.run_id, run.is_round, share.runs AS share
  FROM tenant
  CROSS JOIN share
  LEFT JOIN LATERAL (
    SELECT *
    FROM (
      SELECT *
      FROM (${notedRuns(fragment`note.run_id > $4::uuid`, fragment`false`)}) part
      UNION ALL
      SELECT *
      FROM (${notedRuns(fragment`note.run_id <= $4::uuid`, fragment`true`)}) part
    ) every LIMIT share.runs
  ) run ON true
  ORDER BY row_number() OVER (PARTITION BY tenant.tenant_id ORDER BY run.note_id), run.note_id`

export const selectUnfired = sql('selectUnfired')`
  SELECT run_id
  FROM graph_runs
  WHERE unfired AND run_id > $2 AND run_id <> ALL ($3::uuid[])
  ORDER BY run_id LIMIT $1`

const columns = fragment`
  run_id, tenant_id, kind, slot, status, cancel_message, states, resumes, created_at, finished_at`

/** Returns the row as it is now, also if it was changed since the statement began. */
export const lockRuns = sql('lockRuns')`
  SELECT ${columns} FROM graph_runs WHERE run_id = ANY ($1::uuid[]) ORDER BY run_id FOR UPDATE SKIP LOCKED`

/** The same for a single run of a tenant, for callers that must have it: waits for the lock. */
export const lockRun = sql('lockRun')`
  SELECT ${columns} FROM graph_runs WHERE run_id = $1 AND tenant_id = $2 FOR UPDATE`

/** The same, unless its tenant is deleted. */
export const lockRunToResume = sql('lockRunToResume')`
  SELECT ${columns}
  FROM graph_runs
  WHERE run_id = $1 AND tenant_id = $2 AND ${isOfUndeletedTenant(fragment`tenant_id`)} FOR UPDATE`

export const selectPlans = sql('selectPlans')`
  SELECT run_id, job_ids, roles, versions, execution_ids, edges
  FROM graph_runs
  WHERE run_id = ANY ($1::uuid[])`

// The oldest of each tenant.
// A CTE, not a subquery: the planner may loop over a LIMITed subquery and take more than $1 rows.
export const deleteOldRuns = sql('deleteOldRuns')`
  WITH old AS MATERIALIZED (
    SELECT g.run_id
    FROM tenants t
    JOIN tiers tier ON tier.tier = t.tier
    CROSS JOIN LATERAL (
      SELECT g.run_id
      FROM graph_runs g
      WHERE g.tenant_id = t.tenant_id AND g.finished_at < now() - tier.history_days * interval '1 day'
      ORDER BY g.finished_at LIMIT $1
    ) g LIMIT $1
  ), locked AS MATERIALIZED (
    SELECT run_id
    FROM graph_runs
    WHERE run_id = ANY (ARRAY(SELECT run_id FROM old))
    ORDER BY run_id FOR UPDATE SKIP LOCKED
  )
  -- One that was resumed meanwhile has not ended.
  DELETE FROM graph_runs
  WHERE run_id = ANY (ARRAY(SELECT run_id FROM locked)) AND num_nonnulls(finished_at) = 1`

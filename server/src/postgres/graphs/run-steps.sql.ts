// The statements that find, lock and prune runs of graphs. What is made of a run is in advance-runs.sql.ts.
import { fragment, sql } from '../../lib/sql.ts'

// The runs of the oldest notes, but for some ($2). One run has as many notes as nodes, or nearly: looking at ten times as many as are wanted
// bounds it, and what is missed now comes first next time.
export const selectNoted = sql('selectNoted')`
  WITH oldest AS MATERIALIZED (
    SELECT run_id, note_id FROM run_notes WHERE run_id <> ALL ($2::uuid[]) ORDER BY note_id LIMIT $1::int * 10
  )
  SELECT run_id FROM oldest GROUP BY run_id ORDER BY min(note_id) LIMIT $1`

export const selectUnfired = sql('selectUnfired')`
  SELECT run_id FROM graph_runs WHERE unfired AND run_id > $2 AND run_id <> ALL ($3::uuid[]) ORDER BY run_id LIMIT $1`

const columns = fragment`
  run_id, tenant_id, kind, slot, status, cancel_message, states, resumes, created_at, finished_at`

/** What is returned is the row as it is now, also if it was changed since the statement began. */
export const lockRuns = sql('lockRuns')`
  SELECT ${columns} FROM graph_runs WHERE run_id = ANY ($1::uuid[]) ORDER BY run_id FOR UPDATE SKIP LOCKED`

/** The same for one of a tenant, for whoever cannot do without it. */
export const lockRun = sql('lockRun')`
  SELECT ${columns} FROM graph_runs WHERE run_id = $1 AND tenant_id = $2 FOR UPDATE`

export const selectPlans = sql('selectPlans')`
  SELECT run_id, job_ids, roles, versions, execution_ids, edges FROM graph_runs WHERE run_id = ANY ($1::uuid[])`

// The oldest of each tenant.
// A CTE, not a subquery: the planner may loop over a LIMITed subquery and take more than $1 rows.
export const deleteOldRuns = sql('deleteOldRuns')`
  WITH old AS MATERIALIZED (
    SELECT g.run_id FROM tenants t JOIN tiers r ON r.tier = t.tier CROSS JOIN LATERAL (
      SELECT g.run_id FROM graph_runs g
      WHERE g.tenant_id = t.tenant_id AND g.finished_at < now() - r.history_days * interval '1 day'
      ORDER BY g.finished_at LIMIT $1
    ) g LIMIT $1
  ), locked AS MATERIALIZED (
    SELECT run_id FROM graph_runs WHERE run_id = ANY (ARRAY(SELECT run_id FROM old)) ORDER BY run_id FOR UPDATE SKIP LOCKED
  )
  -- One that was resumed meanwhile has not ended.
  DELETE FROM graph_runs WHERE run_id = ANY (ARRAY(SELECT run_id FROM locked)) AND num_nonnulls(finished_at) = 1`

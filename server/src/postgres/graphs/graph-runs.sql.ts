// The statements that read runs of graphs for the API.
import { fragment, sql } from '../../lib/sql.ts'
import { recordedSince } from '../sql/fragments.ts'

export const selectOwnJob = sql('selectOwnJob')`SELECT FROM cursors WHERE job_id = $2 AND tenant_id = $1`

// Roots are the first of the nodes.
const summary = fragment`
  g.run_id, g.kind, g.status, g.slot, g.roles, g.states, g.resumes, g.created_at, g.finished_at, (
    SELECT json_agg(json_build_object('jobId', u.job_id, 'name', j.name) ORDER BY u.n)
    FROM unnest(g.job_ids[:length(g.roles) - length(replace(g.roles, 'r', ''))]) WITH ORDINALITY AS u(job_id, n)
    CROSS JOIN LATERAL (SELECT j.name FROM jobs j WHERE j.job_id = u.job_id LIMIT 1) j
  ) AS roots`

export const selectRun = sql('selectRun')`
  SELECT ${summary}, g.cancel_message, g.job_ids, g.versions, g.execution_ids, g.edges, g.replaced
  FROM graph_runs g WHERE g.run_id = $2 AND g.tenant_id = $1`

const isRecent = fragment`a.recorded_at < now() + interval '1 hour'`

// The nodes of a run: the execution under way of each, and its last record, in one statement, so that an execution on
// its way from one table to the next is seen once. $2: when the run ended.
export const selectNodes = sql('selectNodes')`
  SELECT x.p AS place, j.name, l.state, l.live_attempt, l.cancelled, l.live_enqueued_at, l.live_started_at, a.outcome,
    a.attempt, a.enqueued_at, a.started_at, a.finished_at, a.duration_ms, a.error_type, a.error_message
  FROM json_to_recordset($1::json) AS x(p int, j uuid, e uuid)
  CROSS JOIN LATERAL (SELECT j.name FROM jobs j WHERE j.job_id = x.j LIMIT 1) j
  LEFT JOIN LATERAL (
    SELECT l.state, l.attempt AS live_attempt, l.cancelled_at IS NOT NULL AS cancelled, l.enqueued_at AS live_enqueued_at,
      l.started_at AS live_started_at
    FROM live l WHERE l.execution_id = x.e LIMIT 1
  ) l ON true
  LEFT JOIN LATERAL (
    SELECT * FROM attempts a
    WHERE a.job_id = x.j AND a.execution_id = x.e AND a.recorded_at >= ${recordedSince(fragment`x.e`)}
      AND a.recorded_at < coalesce(from_ms($2), now()) + interval '1 hour' AND ${isRecent}
    ORDER BY a.attempt DESC, a.final DESC LIMIT 1
  ) a ON true`

const page = fragment`
  WHERE ($3::float8 IS NULL OR s.slot >= from_ms($3)) AND ($4::float8 IS NULL OR s.slot < from_ms($4))
  ORDER BY s.run_id DESC LIMIT $5`

/** One row also when nothing was found: how many were looked at, and where that ended. */
const listed = fragment`
  SELECT o.seen, o.seen_to, p.* FROM (
    SELECT count(*) AS seen, (SELECT s.run_id FROM seen s ORDER BY s.run_id LIMIT 1) AS seen_to FROM seen
  ) o
  LEFT JOIN LATERAL (
    SELECT ${summary} FROM picked k CROSS JOIN LATERAL (SELECT * FROM graph_runs g WHERE g.run_id = k.run_id LIMIT 1) g
  ) p ON true
  ORDER BY p.run_id DESC`

// $6 bounds the rows examined: a page that found too little among them is short, and says where to go on. $7: a job.
export const listRuns = sql('listRuns')`
  WITH seen AS MATERIALIZED (
    SELECT run_id, slot, job_ids FROM graph_runs WHERE tenant_id = $1 AND run_id < $2 ORDER BY run_id DESC LIMIT $6
  ), picked AS MATERIALIZED (
    SELECT s.run_id FROM (SELECT * FROM seen WHERE $7::uuid IS NULL OR $7 = ANY (job_ids)) s ${page}
  ) ${listed}`

export const listRunsByStatus = sql('listRunsByStatus')`
  WITH seen AS MATERIALIZED (
    SELECT run_id, slot, job_ids FROM graph_runs WHERE tenant_id = $1 AND run_id < $2 AND status = $8
    ORDER BY run_id DESC LIMIT $6
  ), picked AS MATERIALIZED (
    SELECT s.run_id FROM (SELECT * FROM seen WHERE $7::uuid IS NULL OR $7 = ANY (job_ids)) s ${page}
  ) ${listed}`

// All runs of a job ($7), which the index gives in no order, if there are no more than $6.
export const listRunsOfJob = sql('listRunsOfJob')`
  WITH seen AS MATERIALIZED (
    SELECT run_id, slot, tenant_id, status FROM graph_runs WHERE job_ids @> ARRAY[$7::uuid] LIMIT $6
  ), picked AS MATERIALIZED (
    SELECT s.run_id FROM (
      SELECT * FROM seen WHERE tenant_id = $1 AND run_id < $2 AND ($8::text IS NULL OR status = $8)
    ) s ${page}
  ) ${listed}`

// The parents of executions (e) of runs (r; null: that of its row), in the order of the edges. $2: the characters of
// results given to each execution. Parents replaced since then do not count: with a parent every node after it is
// replaced, so a child that was replaced by a resume has the parents that were there until then.
export const selectParents = sql('selectParents')`
  WITH placed AS MATERIALIZED (
    SELECT x.e, g.states, g.job_ids, g.execution_ids, g.edges, g.replaced, r.resume,
      coalesce(r.place, array_position(g.execution_ids, x.e) - 1) AS place
    FROM json_to_recordset($1::json) AS x(e uuid, r uuid)
    CROSS JOIN LATERAL (
      SELECT * FROM graph_runs g
      WHERE g.run_id = coalesce(x.r, (SELECT l.run_id FROM live l WHERE l.execution_id = x.e LIMIT 1)) LIMIT 1
    ) g
    LEFT JOIN LATERAL (
      SELECT (y.one ->> 0)::int AS place, (y.one ->> 2)::int AS resume FROM json_array_elements(g.replaced) AS y(one)
      WHERE y.one ->> 1 = x.e::text LIMIT 1
    ) r ON true
  ), earlier AS MATERIALIZED (
    SELECT DISTINCT ON (p.e, y.one ->> 0) p.e, (y.one ->> 0)::int AS place, (y.one ->> 1)::uuid AS parent_id
    FROM placed p CROSS JOIN LATERAL json_array_elements(p.replaced) AS y(one)
    WHERE (y.one ->> 2)::int >= p.resume ORDER BY p.e, y.one ->> 0, (y.one ->> 2)::int
  ), edge AS MATERIALIZED (
    SELECT p.*, y.n, (y.one ->> 0)::int AS parent
    FROM placed p CROSS JOIN LATERAL json_array_elements(p.edges) WITH ORDINALITY AS y(one, n)
    WHERE (y.one ->> 1)::int = p.place
  ), parent AS MATERIALIZED (
    SELECT d.e, d.n, d.job_ids[d.parent + 1] AS job_id,
      CASE WHEN r.e IS NULL THEN d.execution_ids[d.parent + 1] ELSE r.parent_id END AS parent_id,
      -- One that had no execution was a root whose slot was skipped.
      CASE WHEN r.e IS NULL OR r.parent_id IS NOT NULL THEN substr(d.states, d.parent + 1, 1) ELSE 'o' END AS state
    FROM edge d LEFT JOIN earlier r ON r.e = d.e AND r.place = d.parent
  )
  SELECT p.e AS execution_id, p.job_id, (SELECT j.key FROM jobs j WHERE j.job_id = p.job_id LIMIT 1) AS job_key,
    p.parent_id, p.state, l.state AS live_state, l.attempt, l.cancelled, a.outcome,
    CASE WHEN sum(length(a.preview)) OVER (PARTITION BY p.e ORDER BY p.n) <= $2::bigint THEN a.preview END AS result
  FROM parent p
  LEFT JOIN LATERAL (
    SELECT l.state, l.attempt, l.cancelled_at IS NOT NULL AS cancelled FROM live l
    WHERE l.execution_id = p.parent_id LIMIT 1
  ) l ON true
  LEFT JOIN LATERAL (
    SELECT a.outcome, a.preview FROM attempts a
    WHERE a.job_id = p.job_id AND a.execution_id = p.parent_id AND a.final
      AND a.recorded_at >= ${recordedSince(fragment`p.parent_id`)} AND ${isRecent} LIMIT 1
  ) a ON true
  ORDER BY p.e, p.n`

/** No row: it was made, or there is no such run. */
export const selectStarting = sql('selectStarting')`
  SELECT FROM run_roots q JOIN jobs j ON j.job_id = q.job_id AND j.tenant_id = $1
  WHERE q.run_id = $2 AND NOT EXISTS (SELECT FROM graph_runs g WHERE g.run_id = q.run_id) LIMIT 1`

/** Of a run that nobody has made yet, for each of its roots: one that has no place in it is cancelled where it goes. */
export const noteCancel = sql('noteCancel')`
  INSERT INTO run_notes (run_id, what, job_id, execution_id, at, message, tenant_id)
  SELECT q.run_id, 'cancel', q.job_id, q.execution_id, clock_ms(), $3, $1 FROM run_roots q
  JOIN jobs j ON j.job_id = q.job_id AND j.tenant_id = $1
  WHERE q.run_id = $2 AND NOT EXISTS (SELECT FROM graph_runs g WHERE g.run_id = q.run_id)`

// The statements that make graph runs, from the notes of their roots.
import { fragment, sql } from '../../lib/sql.ts'
import { columnsOf, insertLive } from '../sql/insert.ts'

/** The maker of a run holds this lock until the commit; others leave the run to it. */
export const claimStarts = sql('claimStarts')`
  SELECT x.r AS run_id FROM unnest($1::uuid[]) AS x(r)
  WHERE pg_try_advisory_xact_lock(hashtextextended(x.r::text, 7423))`

// In a statement after claimStarts, so that a run just made by others is seen. By the first noted root among the known
// ones; a root that has ended already is found in the history, which has nothing of it from before its note. For a run
// without such a root, the notes that were seen.
export const selectStarts = sql('selectStarts')`
  SELECT x.r AS run_id, n.job_id, n.execution_id, n.kind, n.slot, n.tenant_id,
    CASE WHEN n.kind IS NULL THEN ARRAY(SELECT o.note_id FROM run_notes o WHERE o.run_id = x.r) END AS seen
  FROM unnest($1::uuid[]) AS x(r)
  LEFT JOIN LATERAL (
    SELECT n.note_id, n.job_id, n.execution_id, e.kind, e.slot, e.tenant_id FROM run_notes n
    CROSS JOIN LATERAL (
      (SELECT l.kind, l.slot, l.tenant_id FROM live l WHERE l.execution_id = n.execution_id)
      UNION ALL
      (SELECT a.kind, a.slot, a.tenant_id FROM attempts a WHERE a.job_id = n.job_id AND a.execution_id = n.execution_id
        AND a.recorded_at >= n.at - interval '1 hour' AND a.recorded_at < now() + interval '1 hour' LIMIT 1)
      LIMIT 1
    ) e
    WHERE n.run_id = x.r AND n.what = 'root' ORDER BY n.note_id LIMIT 1
  ) n ON true
  WHERE NOT EXISTS (SELECT FROM graph_runs g WHERE g.run_id = x.r)`

/** Drops the notes left by unknown runs. Only the notes that were seen: a root may have been noted since. */
export const dropNotes = sql('dropNotes')`
  WITH gone AS (DELETE FROM run_notes WHERE note_id = ANY ($1::bigint[]) RETURNING run_id, job_id, execution_id)
  DELETE FROM run_roots r USING gone g
  WHERE r.job_id = g.job_id AND r.run_id = g.run_id AND r.execution_id = g.execution_id`

// The graphs of some jobs as they are now, in one statement: edges and jobs change together. The dependencies of a job
// are read from its version, where they stand in the order in which they were given.
export const selectGraphs = sql('selectGraphs')`
  WITH graph AS MATERIALIZED (
    SELECT DISTINCT c.graph_id, CASE WHEN c.graph_id IS NULL THEN c.job_id END AS alone
    FROM unnest($1::uuid[]) AS x(j) CROSS JOIN LATERAL (SELECT * FROM cursors c WHERE c.job_id = x.j LIMIT 1) c
  ), member AS MATERIALIZED (
    SELECT coalesce(g.graph_id, g.alone) AS graph, m.job_id, m.version, m.status, m.depends FROM graph g
    CROSS JOIN LATERAL (
      SELECT c.job_id, c.version, c.status, c.depends FROM cursors c WHERE c.graph_id = g.graph_id
      UNION ALL
      SELECT c.job_id, c.version, c.status, c.depends FROM cursors c WHERE c.job_id = g.alone
    ) m
  ), defined AS MATERIALIZED (
    SELECT m.*, v.name, v.schedule, v.anchor_at, v.depends_on FROM member m CROSS JOIN LATERAL (
      SELECT * FROM job_versions v WHERE v.job_id = m.job_id AND v.version = m.version LIMIT 1
    ) v
  )
  SELECT d.graph, json_agg(json_build_object('jobId', d.job_id, 'version', d.version, 'name', d.name,
      'schedule', d.schedule, 'anchorAt', to_ms(d.anchor_at), 'status', d.status) ORDER BY d.job_id) AS jobs, (
    SELECT json_agg(json_build_object('parentId', e.one ->> 'job_id', 'childId', y.job_id, 'on', e.one ->> 'on')
      ORDER BY y.job_id, e.n)
    FROM defined y CROSS JOIN LATERAL json_array_elements(y.depends_on) WITH ORDINALITY AS e(one, n)
    WHERE y.graph = d.graph AND y.depends
  ) AS edges
  FROM defined d GROUP BY d.graph`

// How many jobs the graphs of some jobs have, each graph counted once.
export const selectGraphSizes = sql('selectGraphSizes')`
  WITH job AS MATERIALIZED (
    SELECT c.job_id, c.graph_id FROM unnest($1::uuid[]) AS x(j)
    CROSS JOIN LATERAL (SELECT * FROM cursors c WHERE c.job_id = x.j LIMIT 1) c
  ), graph AS MATERIALIZED (
    SELECT g.graph_id, (SELECT count(*) FROM cursors m WHERE m.graph_id = g.graph_id) AS jobs
    FROM (SELECT DISTINCT graph_id FROM job WHERE graph_id IS NOT NULL) g
  )
  SELECT j.job_id, coalesce(j.graph_id, j.job_id) AS graph_id, coalesce(g.jobs, 1)::int AS jobs
  FROM job j LEFT JOIN graph g ON g.graph_id = j.graph_id`

// The latest ended execution of each job, among the records of the last days ($2). An execution that was made before
// them and ended in them may not be the latest. A row for each job, also when there is none.
export const selectLatestEnded = sql('selectLatestEnded')`
  SELECT x.j AS job_id, now() AS looked_at, a.execution_id, a.version, a.outcome, a.skip_reason,
    a.execution_id >= first_id(now() - $2::int * interval '1 day' + interval '1 hour') AS is_latest
  FROM unnest($1::uuid[]) AS x(j)
  LEFT JOIN LATERAL (
    SELECT a.execution_id, a.version, a.outcome, a.skip_reason FROM attempts a
    WHERE a.job_id = x.j AND a.final AND a.recorded_at >= now() - $2::int * interval '1 day'
      AND a.recorded_at < now() + interval '1 hour'
    ORDER BY a.execution_id DESC LIMIT 1
  ) a ON true`

// $2: nodes that have a row from the start. Their key comes when they go: nobody counts them before.
export const insertRuns = sql('insertRuns')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), run AS MATERIALIZED (
    SELECT x.*, from_ms(x.s) AS slot FROM json_to_recordset($1::json) AS x(r uuid, t uuid, k text, s float8, j uuid[], roles text,
      states text, v int[], e uuid[], edges json)
  ), made AS (
    INSERT INTO graph_runs (run_id, tenant_id, kind, slot, status, job_ids, roles, states, unfired, versions, execution_ids,
      edges, created_at)
    SELECT r.r, r.t, r.k, r.slot, 'RUNNING', r.j, r.roles, r.states, true, r.v, r.e, r.edges, m.at
    FROM run r CROSS JOIN moment m
    ON CONFLICT DO NOTHING RETURNING run_id, tenant_id, slot
  ), placed AS (
    ${insertLive(
      {
        ...columnsOf(fragment`g`, 'tenant_id', 'slot', 'run_id'),
        ...columnsOf(fragment`d`, 'route', 'priority'),
        execution_id: fragment`x.e`,
        job_id: fragment`x.j`,
        version: fragment`x.v`,
        kind: fragment`'dependency'`,
        state: fragment`'blocked'`,
        lane: fragment`'shared'`,
        enqueued_at: fragment`m.at`,
      },
      fragment`
        FROM json_to_recordset($2::json) AS x(r uuid, j uuid, v int, e uuid) JOIN made g ON g.run_id = x.r CROSS JOIN moment m
        CROSS JOIN LATERAL (
          SELECT v.route, v.priority FROM job_versions v WHERE v.job_id = x.j AND v.version = x.v LIMIT 1
        ) d`,
    )}
  )
  SELECT run_id FROM made`

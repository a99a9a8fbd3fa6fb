// The statements that make graph runs, from the notes of their roots.
import { fragment, sql } from '../../lib/sql.ts'
import { hostOfUncharged } from '../sql/fragments.ts'
import { columnsOf, insertLive } from '../sql/insert.ts'
import { newNodeItem, newRunItem } from './items.ts'

/** The maker of a run holds this lock until the commit; others leave the run to it. */
export const claimStarts = sql('claimStarts')`
  SELECT asked.run_id
  FROM unnest($1::uuid[]) AS asked(run_id)
  WHERE pg_try_advisory_xact_lock(hashtextextended(asked.run_id::text, 7423))`

// In a statement after claimStarts, so that a run just made by others is seen. By the first noted root among the known
// ones; a root that has ended already is found in the history, which has nothing of it from before its note. For a run
// without such a root, the notes that were seen.
export const selectStarts = sql('selectStarts')`
  SELECT asked.run_id, note.job_id, note.execution_id, note.kind, note.slot, note.tenant_id,
    CASE
      WHEN note.kind IS NULL
        THEN ARRAY(SELECT seen.note_id FROM run_notes seen WHERE seen.run_id = asked.run_id)
    END AS seen
  FROM unnest($1::uuid[]) AS asked(run_id)
  LEFT JOIN LATERAL (
    SELECT note.note_id, note.job_id, note.execution_id, root.kind, root.slot, root.tenant_id
    FROM run_notes note
    CROSS JOIN LATERAL (
      (SELECT l.kind, l.slot, l.tenant_id FROM live l WHERE l.execution_id = note.execution_id)
      UNION ALL
      (
        SELECT a.kind, a.slot, a.tenant_id
        FROM attempts a
        WHERE a.job_id = note.job_id
          AND a.execution_id = note.execution_id
          AND a.recorded_at >= note.at - interval '1 hour'
          AND a.recorded_at < now() + interval '1 hour' LIMIT 1
      )
      LIMIT 1
    ) root
    WHERE note.run_id = asked.run_id AND note.what = 'root'
    ORDER BY note.note_id LIMIT 1
  ) note ON true
  WHERE NOT EXISTS (SELECT FROM graph_runs g WHERE g.run_id = asked.run_id)`

/** Drops the notes left by unknown runs. Only the notes that were seen: a root may have been noted since. */
export const dropNotes = sql('dropNotes')`
  WITH gone AS (
    DELETE FROM run_notes WHERE note_id = ANY ($1::bigint[]) RETURNING run_id, job_id, execution_id
  )
  DELETE FROM run_roots root
  USING gone
  WHERE root.job_id = gone.job_id AND root.run_id = gone.run_id AND root.execution_id = gone.execution_id`

// The graphs of some jobs as they are now, in one statement: edges and jobs change together. The dependencies of a job
// are read from its version, where they stand in the order in which they were given.
export const selectGraphs = sql('selectGraphs')`
  WITH graph AS MATERIALIZED (
    SELECT DISTINCT c.graph_id, CASE WHEN c.graph_id IS NULL THEN c.job_id END AS alone
    FROM unnest($1::uuid[]) AS asked(job_id)
    CROSS JOIN LATERAL (SELECT * FROM cursors c WHERE c.job_id = asked.job_id LIMIT 1) c
  ), member AS MATERIALIZED (
    SELECT coalesce(graph.graph_id, graph.alone) AS graph_id, member.job_id, member.version, member.status,
      member.depends
    FROM graph
    CROSS JOIN LATERAL (
      SELECT c.job_id, c.version, c.status, c.depends
      FROM cursors c
      WHERE c.graph_id = graph.graph_id
      UNION ALL
      SELECT c.job_id, c.version, c.status, c.depends
      FROM cursors c
      WHERE c.job_id = graph.alone
    ) member
  ), defined AS MATERIALIZED (
    SELECT member.*, v.name, v.schedule, v.anchor_at, v.depends_on
    FROM member
    CROSS JOIN LATERAL (
      SELECT * FROM job_versions v WHERE v.job_id = member.job_id AND v.version = member.version LIMIT 1
    ) v
  )
  SELECT defined.graph_id, json_agg(
      json_build_object(
        'jobId', defined.job_id, 'version', defined.version, 'name', defined.name,
        'schedule', defined.schedule, 'anchorAt', to_ms(defined.anchor_at), 'status', defined.status
      ) ORDER BY defined.job_id
    ) AS jobs,
    (
      SELECT json_agg(
          json_build_object(
            'parentId', dependency.value ->> 'job_id', 'childId', child.job_id,
            'on', dependency.value ->> 'on'
          ) ORDER BY child.job_id, dependency.nth
        )
      FROM defined child
      CROSS JOIN LATERAL json_array_elements(child.depends_on) WITH ORDINALITY AS dependency(value, nth)
      WHERE child.graph_id = defined.graph_id AND child.depends
    ) AS edges
  FROM defined
  GROUP BY defined.graph_id`

// How many jobs the graphs of some jobs have, each graph counted once.
export const selectGraphSizes = sql('selectGraphSizes')`
  WITH job AS MATERIALIZED (
    SELECT c.job_id, c.graph_id
    FROM unnest($1::uuid[]) AS asked(job_id)
    CROSS JOIN LATERAL (SELECT * FROM cursors c WHERE c.job_id = asked.job_id LIMIT 1) c
  ), graph AS MATERIALIZED (
    SELECT graph.graph_id,
      (SELECT count(*) FROM cursors member WHERE member.graph_id = graph.graph_id) AS jobs
    FROM (SELECT DISTINCT graph_id FROM job WHERE graph_id IS NOT NULL) graph
  )
  SELECT job.job_id, coalesce(job.graph_id, job.job_id) AS graph_id, coalesce(graph.jobs, 1)::int AS jobs
  FROM job
  LEFT JOIN graph ON graph.graph_id = job.graph_id`

// The latest ended execution of each job, among the records of the last days ($2). An execution that was made before
// them and ended in them may not be the latest. A row for each job, also when there is none.
export const selectLatestEnded = sql('selectLatestEnded')`
  SELECT asked.job_id, now() AS looked_at, a.execution_id, a.version, a.outcome, a.skip_reason,
    a.execution_id >= first_id(now() - $2::int * interval '1 day' + interval '1 hour') AS is_latest
  FROM unnest($1::uuid[]) AS asked(job_id)
  LEFT JOIN LATERAL (
    SELECT a.execution_id, a.version, a.outcome, a.skip_reason
    FROM attempts a
    WHERE a.job_id = asked.job_id
      AND a.final
      AND a.recorded_at >= now() - $2::int * interval '1 day'
      AND a.recorded_at < now() + interval '1 hour'
    ORDER BY a.execution_id DESC LIMIT 1
  ) a ON true`

// $2: nodes that have a row from the start. Their key comes when they go: nobody counts them before.
export const insertRuns = sql('insertRuns')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), run AS MATERIALIZED (
    SELECT run.*, from_ms(run.slot_ms) AS slot
    FROM json_to_recordset($1::json) AS run(${newRunItem.columns})
  ), made AS (
    INSERT INTO graph_runs (
      run_id, tenant_id, kind, slot, status, job_ids, roles, states, unfired, versions, execution_ids,
      edges, created_at
    )
    SELECT run.run_id, run.tenant_id, run.kind, run.slot, 'RUNNING', run.job_ids, run.roles, run.states,
      true, run.versions, run.execution_ids, run.edges, m.at
    FROM run
    CROSS JOIN moment m
    ON CONFLICT DO NOTHING
    RETURNING run_id, tenant_id, slot
  ), hosted AS MATERIALIZED (
    SELECT made.*, ${hostOfUncharged(fragment`made.tenant_id`)} AS host FROM made
  ), blocked AS (
    ${insertLive(
      {
        ...columnsOf(fragment`hosted`, 'tenant_id', 'slot', 'run_id', 'host'),
        ...columnsOf(fragment`node`, 'execution_id', 'job_id', 'version'),
        ...columnsOf(fragment`v`, 'route', 'priority'),
        kind: fragment`'dependency'`,
        state: fragment`'blocked'`,
        lane: fragment`'shared'`,
        enqueued_at: fragment`m.at`,
      },
      fragment`
        FROM json_to_recordset($2::json) AS node(${newNodeItem.columns})
        JOIN hosted ON hosted.run_id = node.run_id
        CROSS JOIN moment m
        CROSS JOIN LATERAL (
          SELECT v.route, v.priority
          FROM job_versions v
          WHERE v.job_id = node.job_id AND v.version = node.version LIMIT 1
        ) v`,
    )}
  )
  SELECT run_id
  FROM made`

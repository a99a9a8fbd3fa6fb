// The statements that read runs of graphs for the API.
import { fragment, sql } from '../../lib/sql.ts'
import { recordedSince } from '../sql/fragments.ts'
import { childItem, nodeItem } from './items.ts'

export const selectOwnJob = sql('selectOwnJob')`SELECT FROM cursors WHERE job_id = $2 AND tenant_id = $1`

// Roots are the first of the nodes.
const summary = fragment`
  g.run_id, g.kind, g.status, g.slot, g.roles, g.states, g.resumes, g.created_at, g.finished_at,
  (
    SELECT json_agg(json_build_object('jobId', root.job_id, 'name', j.name) ORDER BY root.nth)
    FROM unnest(
      g.job_ids[:length(g.roles) - length(replace(g.roles, 'r', ''))]
    ) WITH ORDINALITY AS root(job_id, nth)
    CROSS JOIN LATERAL (SELECT j.name FROM jobs j WHERE j.job_id = root.job_id LIMIT 1) j
  ) AS roots`

export const selectRun = sql('selectRun')`
  SELECT ${summary}, g.cancel_message, g.job_ids, g.versions, g.execution_ids, g.edges, g.replaced
  FROM graph_runs g
  WHERE g.run_id = $2 AND g.tenant_id = $1`

const isRecent = fragment`a.recorded_at < now() + interval '1 hour'`

// The nodes of a run: the execution under way of each, and its last record, in one statement, so that an execution on
// its way from one table to the next is seen once. $2: when the run ended.
export const selectNodes = sql('selectNodes')`
  SELECT node.node_index, j.name, l.state, l.live_attempt, l.cancelled, l.live_enqueued_at,
    l.live_started_at, a.outcome, a.attempt, a.enqueued_at, a.started_at, a.finished_at, a.duration_ms,
    a.error_type, a.error_message
  FROM json_to_recordset($1::json) AS node(${nodeItem.columns})
  CROSS JOIN LATERAL (SELECT j.name FROM jobs j WHERE j.job_id = node.job_id LIMIT 1) j
  LEFT JOIN LATERAL (
    SELECT l.state, l.attempt AS live_attempt, l.cancelled_at IS NOT NULL AS cancelled,
      l.enqueued_at AS live_enqueued_at, l.started_at AS live_started_at
    FROM live l
    WHERE l.execution_id = node.execution_id LIMIT 1
  ) l ON true
  LEFT JOIN LATERAL (
    SELECT *
    FROM attempts a
    WHERE a.job_id = node.job_id
      AND a.execution_id = node.execution_id
      AND a.recorded_at >= ${recordedSince(fragment`node.execution_id`)}
      AND a.recorded_at < coalesce(from_ms($2), now()) + interval '1 hour'
      AND ${isRecent}
    ORDER BY a.attempt DESC, a.final DESC LIMIT 1
  ) a ON true`

const page = fragment`
  WHERE ($3::float8 IS NULL OR matching.slot >= from_ms($3))
    AND ($4::float8 IS NULL OR matching.slot < from_ms($4))
  ORDER BY matching.run_id DESC LIMIT $5::int + 1`

/** One row also when nothing was found: how many were looked at, and where that ended. */
const listed = fragment`
  SELECT looked.seen, looked.seen_to, (SELECT count(*) FROM picked) AS picked_count, run.*
  FROM (
    SELECT count(*) AS seen, (SELECT run_id FROM seen ORDER BY run_id LIMIT 1) AS seen_to FROM seen
  ) looked
  LEFT JOIN LATERAL (
    SELECT *
    FROM (
      SELECT summary.*, row_number() OVER in_order AS nth,
        sum(800 + octet_length(summary.roots::text)) OVER in_order AS bytes
      FROM (
        SELECT ${summary}
        FROM picked
        CROSS JOIN LATERAL (SELECT * FROM graph_runs g WHERE g.run_id = picked.run_id LIMIT 1) g
      ) summary
      WINDOW in_order AS (ORDER BY summary.run_id DESC)
    ) bounded
    WHERE bounded.nth <= $5 AND (bounded.nth = 1 OR bounded.bytes <= $8)
  ) run ON true
  ORDER BY run.run_id DESC`

// $6 bounds the rows examined: a page that found too little among them is short, and says where to go on. $7: a job. $5:
// items of the page, $8: its bytes.
export const listRuns = sql('listRuns')`
  WITH seen AS MATERIALIZED (
    SELECT run_id, slot, job_ids
    FROM graph_runs
    WHERE tenant_id = $1 AND run_id < $2
    ORDER BY run_id DESC LIMIT $6
  ), picked AS MATERIALIZED (
    SELECT matching.run_id
    FROM (SELECT * FROM seen WHERE $7::uuid IS NULL OR $7 = ANY (job_ids)) matching ${page}
  )
  ${listed}`

export const listRunsByStatus = sql('listRunsByStatus')`
  WITH seen AS MATERIALIZED (
    SELECT run_id, slot, job_ids
    FROM graph_runs
    WHERE tenant_id = $1 AND run_id < $2 AND status = $9
    ORDER BY run_id DESC LIMIT $6
  ), picked AS MATERIALIZED (
    SELECT matching.run_id
    FROM (SELECT * FROM seen WHERE $7::uuid IS NULL OR $7 = ANY (job_ids)) matching ${page}
  )
  ${listed}`

// All runs of a job ($7), which the index gives in no order, if there are no more than $6. By a function that looks as
// the owner: under row-level security the index on arrays is not used.
export const listRunsOfJob = sql('listRunsOfJob')`
  WITH seen AS MATERIALIZED (
    SELECT g.run_id, g.slot, g.tenant_id, g.status
    FROM runs_of_job($7::uuid, $6::int) AS run_id
    CROSS JOIN LATERAL (SELECT * FROM graph_runs g WHERE g.run_id = run_id.run_id LIMIT 1) g
  ), picked AS MATERIALIZED (
    SELECT matching.run_id
    FROM (
      SELECT * FROM seen WHERE tenant_id = $1 AND run_id < $2 AND ($9::text IS NULL OR status = $9)
    ) matching ${page}
  )
  ${listed}`

// The parents of executions, of a run (null: the one of its row), in the order of the edges. $2: the characters of
// results given to each execution. Parents replaced since then do not count: with a parent every node after it is
// replaced, so a child that was replaced by a resume has the parents that were there until then.
export const selectParents = sql('selectParents')`
  WITH node AS MATERIALIZED (
    SELECT child.execution_id, g.states, g.job_ids, g.execution_ids, g.edges, g.replaced, replaced.resume,
      coalesce(replaced.node_index, array_position(g.execution_ids, child.execution_id) - 1) AS node_index
    FROM json_to_recordset($1::json) AS child(${childItem.columns})
    -- Apart from the comparison, which is no index condition under row-level security if a subquery is part of it.
    CROSS JOIN LATERAL (
      SELECT coalesce(
          child.run_id, (SELECT l.run_id FROM live l WHERE l.execution_id = child.execution_id LIMIT 1)
        ) AS run_id OFFSET 0
    ) wanted
    CROSS JOIN LATERAL (
      SELECT *
      FROM graph_runs g
      WHERE g.run_id = wanted.run_id LIMIT 1
    ) g
    LEFT JOIN LATERAL (
      SELECT (part.value ->> 0)::int AS node_index, (part.value ->> 2)::int AS resume
      FROM json_array_elements(g.replaced) AS part(value)
      WHERE part.value ->> 1 = child.execution_id::text LIMIT 1
    ) replaced ON true
  ), earlier AS MATERIALIZED (
    SELECT DISTINCT ON (node.execution_id, part.value ->> 0) node.execution_id,
      (part.value ->> 0)::int AS node_index, (part.value ->> 1)::uuid AS parent_id
    FROM node
    CROSS JOIN LATERAL json_array_elements(node.replaced) AS part(value)
    WHERE (part.value ->> 2)::int >= node.resume
    ORDER BY node.execution_id, part.value ->> 0, (part.value ->> 2)::int
  ), edge AS MATERIALIZED (
    SELECT node.*, part.nth, (part.value ->> 0)::int AS parent_index
    FROM node
    CROSS JOIN LATERAL json_array_elements(node.edges) WITH ORDINALITY AS part(value, nth)
    WHERE (part.value ->> 1)::int = node.node_index
  ), parent AS MATERIALIZED (
    SELECT edge.execution_id, edge.nth, edge.job_ids[edge.parent_index + 1] AS job_id,
      CASE
        WHEN earlier.execution_id IS NULL THEN edge.execution_ids[edge.parent_index + 1]
        ELSE earlier.parent_id
      END AS parent_id,
      -- One that had no execution was a root whose slot was skipped.
      CASE
        WHEN earlier.execution_id IS NULL OR earlier.parent_id IS NOT NULL
          THEN substr(edge.states, edge.parent_index + 1, 1)
        ELSE 'o'
      END AS node_state
    FROM edge
    LEFT JOIN earlier ON earlier.execution_id = edge.execution_id AND earlier.node_index = edge.parent_index
  )
  SELECT parent.execution_id, parent.job_id,
    (SELECT j.key FROM jobs j WHERE j.job_id = parent.job_id LIMIT 1) AS job_key, parent.parent_id,
    parent.node_state, l.state AS live_state, l.attempt, l.cancelled, a.outcome,
    CASE
      WHEN sum(length(a.preview)) OVER (PARTITION BY parent.execution_id ORDER BY parent.nth) <= $2::bigint
        THEN a.preview
    END AS result
  FROM parent
  LEFT JOIN LATERAL (
    SELECT l.state, l.attempt, l.cancelled_at IS NOT NULL AS cancelled
    FROM live l
    WHERE l.execution_id = parent.parent_id LIMIT 1
  ) l ON true
  LEFT JOIN LATERAL (
    SELECT a.outcome, a.preview
    FROM attempts a
    WHERE a.job_id = parent.job_id
      AND a.execution_id = parent.parent_id
      AND a.final
      AND a.recorded_at >= ${recordedSince(fragment`parent.parent_id`)}
      AND ${isRecent} LIMIT 1
  ) a ON true
  ORDER BY parent.execution_id, parent.nth`

/** No row: it was made, or there is no such run. */
export const selectStarting = sql('selectStarting')`
  SELECT
  FROM run_roots root
  JOIN jobs j ON j.job_id = root.job_id AND j.tenant_id = $1
  WHERE root.run_id = $2 AND NOT EXISTS (SELECT FROM graph_runs g WHERE g.run_id = root.run_id) LIMIT 1`

/** Of a run that nobody has made yet, for each of its roots: a root that is no node of it is cancelled with the run that it gets. */
export const noteCancel = sql('noteCancel')`
  INSERT INTO run_notes (run_id, what, job_id, execution_id, at, message, tenant_id)
  SELECT root.run_id, 'cancel', root.job_id, root.execution_id, clock_ms(), $3, $1
  FROM run_roots root
  JOIN jobs j ON j.job_id = root.job_id AND j.tenant_id = $1
  WHERE root.run_id = $2 AND NOT EXISTS (SELECT FROM graph_runs g WHERE g.run_id = root.run_id)`

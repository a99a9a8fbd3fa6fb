// The statements on dependencies. All changes to a tenant's dependencies are made one after the other.
import { sql } from '../../lib/sql.ts'
import { memberItem } from './items.ts'

/** Before any job: a transaction that has a job locked never waits for this. */
export const lockTenantGraphs = sql('lockTenantGraphs')`
  SELECT pg_advisory_xact_lock(hashtextextended($1, 7422))`

export const selectGraphIds = sql('selectGraphIds')`
  SELECT job_id, graph_id FROM cursors WHERE tenant_id = $1 AND job_id = ANY ($2::uuid[])`

export const countGraphJobs = sql('countGraphJobs')`
  SELECT count(*) AS jobs FROM cursors WHERE graph_id = ANY ($1::uuid[])`

/** These and all of these graphs, in the order of ids, as everywhere. */
export const lockGraphJobs = sql('lockGraphJobs')`
  SELECT job_id
  FROM cursors
  WHERE job_id = ANY (ARRAY(
    SELECT unnest($1::uuid[]) UNION SELECT job_id FROM cursors WHERE graph_id = ANY ($2::uuid[])
  ))
  ORDER BY job_id FOR NO KEY UPDATE`

// In a statement after the locks: it sees everything committed before.
export const selectGraphJobs = sql('selectGraphJobs')`
  SELECT c.job_id, j.name, c.status, c.graph_id
  FROM cursors c
  JOIN jobs j ON j.job_id = c.job_id
  WHERE c.job_id = ANY ($1::uuid[])`

export const selectEdges = sql('selectEdges')`
  SELECT parent_id, child_id, rule AS "on" FROM job_edges WHERE child_id = ANY ($1::uuid[])`

// $5: roots that are due before this many milliseconds from now are told to their schedulers, which know them as of
// another graph.
export const writeGraph = sql('writeGraph')`
  WITH gone AS (
    DELETE FROM job_edges WHERE child_id = $1 AND parent_id <> ALL ($2::uuid[])
  ), edge AS (
    INSERT INTO job_edges (child_id, parent_id, rule)
    SELECT $1, dependency.parent_id, dependency.rule
    FROM unnest($2::uuid[], $3::text[]) AS dependency(parent_id, rule)
    ON CONFLICT (child_id, parent_id) DO UPDATE SET rule = excluded.rule
  ), cursor AS (
    UPDATE cursors c
    SET graph_id = member.graph_id,
      depends = CASE WHEN c.job_id = $1 THEN cardinality($2) > 0 ELSE c.depends END
    FROM json_to_recordset($4::json) AS member(${memberItem.columns})
    WHERE c.job_id = member.job_id
    RETURNING c.partition_id, c.job_id, c.status, c.due_at
  )
  INSERT INTO changes (partition_id, job_id)
  SELECT partition_id, job_id
  FROM cursor
  WHERE status = 'ACTIVE' AND due_at < clock_timestamp() + $5 * interval '1 millisecond'
  ORDER BY job_id
  ON CONFLICT (partition_id, job_id) DO UPDATE SET job_id = excluded.job_id`

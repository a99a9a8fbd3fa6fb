// The statements that resume a run of a graph.
import { fragment, sql } from '../../lib/sql.ts'
import { hostOfUncharged, isUnderWay, recordedSince } from '../sql/fragments.ts'
import { columnsOf, insertLive } from '../sql/insert.ts'
import { jobExecutionItem, repeatedNodeItem } from './items.ts'

/** In a statement after the lock. Busy: something of it is under way, and it allows no overlaps. */
export const selectPresent = sql('selectPresent')`
  SELECT c.job_id, c.version,
    v.overlap_policy <> 'ALLOW' AND ${isUnderWay(fragment`c.job_id`, fragment`c.scattered`)} AS busy
  FROM unnest($1::uuid[]) AS asked(job_id)
  CROSS JOIN LATERAL (SELECT * FROM cursors c WHERE c.job_id = asked.job_id LIMIT 1) c
  CROSS JOIN LATERAL (
    SELECT * FROM job_versions v WHERE v.job_id = c.job_id AND v.version = c.version LIMIT 1
  ) v`

/** The blocker of a busy job: a run of which it is a root, else an execution. No row: late slots are owed. */
export const selectBlocker = sql('selectBlocker')`
  SELECT run_id, execution_id
  FROM (
    (
      SELECT 1 AS nth, root.run_id, NULL::uuid AS execution_id
      FROM run_roots root
      WHERE root.job_id = $1
      ORDER BY root.run_id LIMIT 1
    )
    UNION ALL
    (
      SELECT 2, NULL, l.execution_id
      FROM live l
      WHERE l.job_id = $1 AND l.state <> 'blocked'
      ORDER BY l.execution_id LIMIT 1
    )
    UNION ALL
    (
      SELECT 3, NULL, execution_at(b.batch_id, batched.position)
      FROM batches b
      CROSS JOIN LATERAL unnest(b.positions, b.job_ids) AS batched(position, job_id)
      WHERE b.job_ids @> ARRAY[$1::uuid] AND batched.job_id = $1 LIMIT 1
    )
  ) blocker
  ORDER BY nth LIMIT 1`

/** How executions ended, before the end ($2) of their run. A root may have ended long before its start. */
export const selectEnds = sql('selectEnds')`
  SELECT a.execution_id, a.job_id, a.kind, a.outcome, a.slot, a.payload_override::text, a.idempotency_key
  FROM json_to_recordset($1::json) AS node(${jobExecutionItem.columns})
  CROSS JOIN LATERAL (
    SELECT *
    FROM attempts a
    WHERE a.job_id = node.job_id
      AND a.execution_id = node.execution_id
      AND a.final
      AND a.recorded_at >= ${recordedSince(fragment`node.execution_id`)}
      AND a.recorded_at < from_ms($2) + interval '1 hour' LIMIT 1
  ) a`

// $2: nodes with new executions, of the present version; `retry_of` is the execution that each repeats, with its key and
// payload.
export const insertAgain = sql('insertAgain')`
  ${insertLive(
    {
      ...columnsOf(
        fragment`node`,
        'execution_id',
        'job_id',
        'version',
        'kind',
        'idempotency_key',
        'retry_of',
      ),
      ...columnsOf(fragment`g`, 'tenant_id', 'slot', 'run_id'),
      ...columnsOf(fragment`v`, 'route', 'priority'),
      state: fragment`'blocked'`,
      lane: fragment`'shared'`,
      enqueued_at: fragment`m.at`,
      payload_override: fragment`node.payload::json`,
      host: hostOfUncharged(fragment`g.tenant_id`),
    },
    fragment`
      FROM (SELECT clock_ms() AS at) m
      CROSS JOIN (SELECT * FROM graph_runs g WHERE g.run_id = $1) g
      CROSS JOIN json_to_recordset($2::json) AS node(${repeatedNodeItem.columns})
      CROSS JOIN LATERAL (
        SELECT v.route, v.priority
        FROM job_versions v
        WHERE v.job_id = node.job_id AND v.version = node.version LIMIT 1
      ) v`,
  )}`

// $5: executions that others replace; $6: the roots and their executions.
export const reviveRun = sql('reviveRun')`
  WITH revived AS (
    UPDATE graph_runs
    SET status = 'RUNNING', cancel_message = NULL, finished_at = NULL, unfired = false, states = $2,
      versions = $3, execution_ids = $4, resumes = resumes + 1,
      replaced = (replaced::jsonb || $5::jsonb)::json
    WHERE run_id = $1
    RETURNING run_id
  )
  INSERT INTO run_roots (job_id, run_id, execution_id)
  SELECT node.job_id, revived.run_id, node.execution_id
  FROM revived
  CROSS JOIN json_to_recordset($6::json) AS node(${jobExecutionItem.columns})
  ON CONFLICT (job_id, run_id) DO UPDATE SET execution_id = excluded.execution_id`

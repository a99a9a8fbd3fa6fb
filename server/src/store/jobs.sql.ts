// The statements on jobs: create, read, trigger.
import { sql } from '../lib/sql.ts'

export const insertJob = sql('insertJob')`
  WITH job AS (
    INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at)
    VALUES ($1, $2, 1, from_ms($3), from_ms($3))
  ), first AS (
    INSERT INTO job_versions (job_id, version, tenant_id, name, description, tags, schedule, anchor_at, execution,
      retry_policy, priority, overlap_policy, misfire_policy, misfire_window_seconds, metadata)
    VALUES ($1, 1, $2, $4, $5, $6, $7, from_ms($8), $9, $10, $11, $12, $13, $14, $15)
  ), noted AS (
    INSERT INTO changes (partition_id, job_id)
    SELECT $16::smallint, $1 WHERE $17 = 'ACTIVE' AND from_ms($18) < clock_timestamp() + $20 * interval '1 millisecond'
  )
  INSERT INTO cursors (job_id, partition_id, version, status, slot_at, due_at, decided_to)
  VALUES ($1, $16::smallint, 1, $17, from_ms($18), from_ms($18), from_ms($19))`

export const enqueueFirst = sql('enqueueFirst')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), taken AS (
    INSERT INTO slots (job_id, slot, execution_id) VALUES ($2, from_ms($4), $1) RETURNING slot
  )
  INSERT INTO batches (batch_id, route, lane, priority, enqueued_at, rank, positions, job_ids, versions, slots_ms)
  SELECT $1, $3, $5, $6::smallint, m.at, m.at + $6::int * interval '60 seconds', '{0}', ARRAY[$2::uuid], '{1}',
    ARRAY[to_ms(t.slot)]
  FROM moment m CROSS JOIN taken t`

export const selectJob = sql('selectJob')`
  SELECT j.job_id, j.version, j.created_at, j.updated_at, v.tenant_id, v.name, v.description, v.tags, v.schedule,
    v.anchor_at, v.execution, v.retry_policy, v.priority, v.overlap_policy, v.misfire_policy,
    v.misfire_window_seconds, v.metadata, c.status, c.slot_at, (
      SELECT s.slot FROM slots s WHERE s.job_id = j.job_id AND s.reason IS NULL ORDER BY s.slot DESC LIMIT 1
    ) AS last_run_at
  FROM jobs j
  JOIN job_versions v ON v.job_id = j.job_id AND v.version = j.version
  JOIN cursors c ON c.job_id = j.job_id
  WHERE j.tenant_id = $1 AND j.job_id = $2`

/** Fires wait while a trigger decides, and the other way round. */
export const lockCursor = sql('lockCursor')`
  SELECT c.status FROM cursors c JOIN jobs j ON j.job_id = c.job_id
  WHERE c.job_id = $2 AND j.tenant_id = $1 FOR NO KEY UPDATE OF c`

export const insertTrigger = sql('insertTrigger')`
  INSERT INTO live (execution_id, job_id, version, tenant_id, kind, state, route, lane, priority, slot, enqueued_at, rank,
    payload_override)
  SELECT $1, j.job_id, j.version, j.tenant_id, 'trigger',
    CASE WHEN v.overlap_policy <> 'ALLOW' AND (
      EXISTS (SELECT FROM live l WHERE l.job_id = j.job_id)
      OR EXISTS (SELECT FROM catchups k WHERE k.job_id = j.job_id)
      OR EXISTS (
        SELECT FROM batches b WHERE j.job_id = ANY (b.job_ids) AND b.batch_id = batch_of((
          SELECT s.execution_id FROM slots s WHERE s.job_id = j.job_id ORDER BY s.slot DESC LIMIT 1)))
    ) THEN 'waiting' ELSE 'ready' END,
    $3, $4, greatest(1, v.priority - $5::int), date_trunc('second', m.at), m.at,
    m.at + greatest(1, v.priority - $5::int) * interval '60 seconds', $6
  FROM (SELECT clock_ms() AS at) m
  CROSS JOIN jobs j JOIN job_versions v ON v.job_id = j.job_id AND v.version = j.version
  WHERE j.job_id = $2
  RETURNING enqueued_at`

// The statements that end executions which do not run yet. What is taken out of a batch or of `live` is recorded in the
// same statement: an execution is in exactly one place.
import { sql } from '../lib/sql.ts'

// $1 the job; $2 one execution of it, or null for all; $3 the batch to look into, or null for all of the job's.
// num_nulls, not IS NULL: the planner would read the whole index of waiting batches for it.
export const cancelBatched = sql('cancelBatched')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), batch AS MATERIALIZED (
    SELECT * FROM batches b WHERE b.batch_id = ANY (
      CASE WHEN $3::uuid IS NOT NULL THEN ARRAY[$3::uuid]
        ELSE ARRAY(SELECT x.batch_id FROM batches x WHERE x.job_ids @> ARRAY[$1::uuid]) END)
      AND num_nulls(b.worker_id) = 1 ORDER BY b.batch_id FOR UPDATE
  ), place AS MATERIALIZED (
    SELECT b.batch_id, b.enqueued_at, u.*, u.job_id = $1 AND ($2::uuid IS NULL OR execution_at(b.batch_id, u.place) = $2) AS goes
    FROM batch b CROSS JOIN LATERAL unnest(b.positions, b.job_ids, b.versions, b.slots_ms)
      WITH ORDINALITY AS u(place, job_id, version, slot_ms, n)
  ), rest AS MATERIALIZED (
    SELECT batch_id, array_agg(place ORDER BY n) AS positions, array_agg(job_id ORDER BY n) AS job_ids,
      array_agg(version ORDER BY n) AS versions, array_agg(slot_ms ORDER BY n) AS slots_ms
    FROM place WHERE NOT goes GROUP BY batch_id
  ), kept AS (
    UPDATE batches b SET positions = r.positions, job_ids = r.job_ids, versions = r.versions, slots_ms = r.slots_ms
    FROM rest r WHERE b.batch_id = r.batch_id AND b.batch_id = ANY (ARRAY(SELECT batch_id FROM place WHERE goes))
  ), emptied AS (
    DELETE FROM batches b WHERE b.batch_id = ANY (ARRAY(
      SELECT batch_id FROM place WHERE goes EXCEPT SELECT batch_id FROM rest))
  )
  INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
    enqueued_at, finished_at, error_type, error_message)
  SELECT m.at, j.tenant_id, p.job_id, p.version, execution_at(p.batch_id, p.place), 0, true, 'slot', 'cancelled',
    from_ms(p.slot_ms), p.enqueued_at, m.at, 'CANCELLED', $4
  FROM place p CROSS JOIN moment m JOIN jobs j ON j.job_id = p.job_id
  WHERE p.goes`

// $1 the job; $2 one execution of it, or null for all.
export const cancelLive = sql('cancelLive')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), pending AS MATERIALIZED (
    SELECT execution_id FROM live WHERE job_id = $1 AND state <> 'running' AND ($2::uuid IS NULL OR execution_id = $2)
    ORDER BY execution_id FOR UPDATE
  ), gone AS (
    DELETE FROM live l WHERE l.execution_id = ANY (ARRAY(SELECT execution_id FROM pending)) RETURNING l.*
  )
  INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
    enqueued_at, finished_at, error_type, error_message, payload_override, idempotency_key, retry_of)
  SELECT m.at, g.tenant_id, g.job_id, g.version, g.execution_id, g.attempt, true, g.kind, 'cancelled', g.slot,
    g.enqueued_at, m.at, 'CANCELLED', $3, g.payload_override, g.idempotency_key, g.retry_of
  FROM gone g CROSS JOIN moment m`

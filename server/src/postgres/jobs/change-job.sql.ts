// The statements that change a job: lock it, read it, write the decision.
import { sql } from '../../lib/sql.ts'
import { skippedItem } from './items.ts'

/** Taken first: reads after the lock see everything committed before it. */
export const lockJob = sql('lockJob')`
  SELECT c.job_id FROM cursors c WHERE c.job_id = $2 AND c.tenant_id = $1 FOR NO KEY UPDATE`

export const selectState = sql('selectState')`
  SELECT clock_ms() AS now, c.decided_to, c.graph_id, catchup.from_slot AS owed_from,
    catchup.to_slot AS owed_to,
    (SELECT s.slot FROM slots s WHERE s.job_id = c.job_id ORDER BY s.slot DESC LIMIT 1) AS recorded_at,
    (
      SELECT json_agg(
          json_build_object(
            'from', to_ms(decided.from_slot), 'to', to_ms(decided.to_slot)
          ) ORDER BY decided.from_slot
        )
      FROM (
        SELECT skip.from_slot, skip.to_slot
        FROM skips skip
        WHERE skip.job_id = c.job_id
          AND skip.from_slot <= catchup.to_slot
          AND skip.to_slot >= catchup.from_slot
        UNION ALL
        -- Of a time when it allowed overlaps.
        SELECT s.slot, s.slot
        FROM slots s
        WHERE s.job_id = c.job_id
          AND s.slot BETWEEN catchup.from_slot AND catchup.to_slot
          AND s.reason IS NULL
      ) decided
    ) AS owed_decided
  FROM cursors c
  LEFT JOIN catchups catchup ON catchup.job_id = c.job_id AND catchup.from_slot <= catchup.to_slot
  WHERE c.job_id = $1`

export const insertVersion = sql('insertVersion')`
  INSERT INTO job_versions (
    job_id, version, tenant_id, name, description, tags, schedule, anchor_at, execution, retry_policy,
    priority, overlap_policy, misfire_policy, misfire_window_seconds, metadata, jitter_seconds,
    concurrency_limit, concurrency_key, concurrency_key_limit, calendars, route, own_rows, depends_on,
    created_at, created_by, implied_dst, lean_execution, payload_bytes
  )
  VALUES (
      $1, $2, $3, $4, $5, $6, $7, from_ms($8), $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
      $21, $22, $23, from_ms($24), $25, $26, $27, $28
    )`

// $15: the job is due before this many milliseconds from now, so its scheduler is told. A note of the change before that
// nobody has taken yet is written anew, not left alone: it is locked then, and not taken before we commit. $19:
// executions of it may be in other batches than that of its latest slot.
export const writeJob = sql('writeJob')`
  WITH job AS (
    UPDATE jobs
    SET version = $2, updated_at = from_ms($3), updated_by = $4, key = $5, name = $6, tags = $7,
      search = $8, paused_at = from_ms($9), pause_reason = $10, paused_by = $11, resume_at = from_ms($12),
      deleted_at = CASE WHEN $13 = 'DELETED' THEN coalesce(deleted_at, from_ms($3)) END
    WHERE job_id = $1
  ), cursor AS (
    UPDATE cursors
    SET version = $2, status = $13, slot_at = from_ms($14), due_at = from_ms($20),
      decided_to = from_ms($16), scattered = scattered OR $19, runs = $21
    WHERE job_id = $1
    RETURNING partition_id
  ), skipped AS (
    INSERT INTO skips (
      job_id, from_slot, to_slot, slot_count, reason, version, paused_at, paused_by, pause_reason
    )
    SELECT $1, from_ms(skip.from_ms), from_ms(skip.to_ms), skip.slot_count, skip.reason, skip.version,
      from_ms(skip.paused_ms), skip.paused_by, skip.pause_reason
    FROM json_to_recordset($17::json) AS skip(${skippedItem.columns})
    ON CONFLICT DO NOTHING
  ), dropped AS (DELETE FROM catchups WHERE job_id = $1 AND $18)
  INSERT INTO changes (partition_id, job_id)
  SELECT partition_id, $1
  FROM cursor
  WHERE $13 = 'ACTIVE' AND from_ms($20) < clock_timestamp() + $15 * interval '1 millisecond'
  ON CONFLICT (partition_id, job_id) DO UPDATE SET job_id = excluded.job_id`

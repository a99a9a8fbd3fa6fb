// The statements on dead letters.
import { sql } from '../lib/sql.ts'

// $6: of the last error. $7 and $8: bounds of when it died.
export const selectDeadLetters = sql('selectDeadLetters')`
  SELECT execution_id, job_id, job_name, reason, died_at, attempts, errors, payload::text, edited_at, redrive_at,
    run_id
  FROM dead_letters
  WHERE tenant_id = $1 AND execution_id < $3 AND ($2::uuid IS NULL OR job_id = $2) AND ($5::text IS NULL OR reason = $5)
    AND ($6::text IS NULL OR errors -> -1 ->> 'type' = $6)
    AND died_at >= $7::timestamptz AND died_at < $8::timestamptz
  ORDER BY execution_id DESC LIMIT $4`

export const countDeadLetters = sql('countDeadLetters')`
  SELECT count(*) AS total, (SELECT min(died_at) FROM dead_letters WHERE tenant_id = $1) AS oldest_at FROM (
    SELECT FROM dead_letters
    WHERE tenant_id = $1 AND ($2::uuid IS NULL OR job_id = $2) AND ($4::text IS NULL OR reason = $4)
      AND ($5::text IS NULL OR errors -> -1 ->> 'type' = $5)
      AND died_at >= $6::timestamptz AND died_at < $7::timestamptz
    LIMIT $3
  ) d`

export const selectDeadLetter = sql('selectDeadLetter')`
  SELECT execution_id, job_id, job_name, reason, died_at, attempts, errors, payload::text, edited_at, redrive_at,
    run_id
  FROM dead_letters WHERE tenant_id = $1 AND execution_id = $2`

export const editDeadLetter = sql('editDeadLetter')`
  UPDATE dead_letters SET payload = $3, edited_at = clock_ms() WHERE tenant_id = $1 AND execution_id = $2
  RETURNING execution_id, job_id, job_name, reason, died_at, attempts, errors, payload::text, edited_at, redrive_at,
    run_id`

export const selectLetterJobs = sql('selectLetterJobs')`
  SELECT execution_id, job_id FROM dead_letters WHERE tenant_id = $1 AND execution_id = ANY ($2::uuid[])`

/** Taken, not read: two redrives of one letter make one execution. */
export const takeDeadLetters = sql('takeDeadLetters')`
  DELETE FROM dead_letters WHERE tenant_id = $1 AND execution_id = ANY ($2::uuid[])
  RETURNING execution_id, job_id, kind, slot, idempotency_key, payload::text`

/** Of deleted jobs: nothing will redrive them. */
export const stopRedrives = sql('stopRedrives')`
  UPDATE dead_letters SET redrive_at = NULL WHERE tenant_id = $1 AND execution_id = ANY ($2::uuid[])`

export const selectDueLetters = sql('selectDueLetters')`
  SELECT tenant_id, execution_id FROM dead_letters WHERE redrive_at <= (SELECT clock_timestamp()) ORDER BY redrive_at LIMIT $1`

export const discardDeadLetter = sql('discardDeadLetter')`
  DELETE FROM dead_letters WHERE tenant_id = $1 AND execution_id = $2`

export const selectDeadLetterDepth = sql('selectDeadLetterDepth')`
  SELECT (SELECT count(*) FROM (SELECT FROM dead_letters LIMIT $1) d) AS count,
    (SELECT min(died_at) FROM dead_letters) AS oldest_at`

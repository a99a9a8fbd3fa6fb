// The statements on dead letters.
import { type Fragment, fragment, sql } from '../../lib/sql.ts'
import { boundedPage, pageIds, pickedCount } from '../sql/bounded-page.ts'

const columnsWith = (payload: Fragment) => fragment`
  execution_id, job_id, job_name, reason, died_at, attempts, errors, ${payload} AS payload, edited_at,
  redrive_at, run_id`

const columns = columnsWith(fragment`payload::text`)

// $6: of the last error. $7 and $8: bounds of when it died. $4: items of the page, $9: its bytes, $10: whether with
// payloads.
export const selectDeadLetters = sql('selectDeadLetters')`
  ${boundedPage({
    picked: fragment`
      SELECT execution_id AS id
      FROM dead_letters
      WHERE tenant_id = $1
        AND execution_id < $3
        AND ($2::uuid IS NULL OR job_id = $2)
        AND ($5::text IS NULL OR reason = $5)
        AND ($6::text IS NULL OR errors -> -1 ->> 'type' = $6)
        AND died_at >= $7::timestamptz
        AND died_at < $8::timestamptz
      ORDER BY execution_id DESC LIMIT $4 + 1`,
    item: fragment`
      SELECT 500 + octet_length(json_build_array(job_name, errors)::text) + CASE
          WHEN $10::boolean THEN coalesce(octet_length(payload::text), 0)
          ELSE 0
        END AS bytes
      FROM dead_letters
      WHERE tenant_id = $1 AND execution_id = picked.ids[page.nth + 1]`,
    itemsMax: fragment`$4`,
    bytesMax: fragment`$9`,
  })}
  SELECT letter.*, ${pickedCount} AS picked_count
  FROM ${pageIds}
  CROSS JOIN LATERAL (
    SELECT ${columnsWith(fragment`CASE WHEN $10 THEN payload::text END`)}
    FROM dead_letters
    WHERE tenant_id = $1 AND execution_id = listed.id LIMIT 1
  ) letter
  ORDER BY listed.nth`

export const countDeadLetters = sql('countDeadLetters')`
  SELECT count(*) AS total, (SELECT min(died_at) FROM dead_letters WHERE tenant_id = $1) AS oldest_at
  FROM (
    SELECT
    FROM dead_letters
    WHERE tenant_id = $1
      AND ($2::uuid IS NULL OR job_id = $2)
      AND ($4::text IS NULL OR reason = $4)
      AND ($5::text IS NULL OR errors -> -1 ->> 'type' = $5)
      AND died_at >= $6::timestamptz
      AND died_at < $7::timestamptz LIMIT $3
  ) matching`

// $2: how many letters are looked at, the newest first. $4: how many of a cluster are named. How many there are at all is
// known by one more than are looked at.
export const clusterDeadLetters = sql('clusterDeadLetters')`
  WITH looked AS MATERIALIZED (
    SELECT execution_id, job_id, job_name, died_at, errors -> -1 AS error,
      row_number() OVER (ORDER BY execution_id DESC) AS nth
    FROM (
      SELECT *
      FROM dead_letters
      WHERE tenant_id = $1
      ORDER BY tenant_id DESC, execution_id DESC LIMIT $2 + 1
    ) newest
  ), shaped AS MATERIALIZED (
    SELECT execution_id, job_id, job_name, died_at, error ->> 'type' AS error_type,
      left(error ->> 'message', 500) AS message, (error ->> 'httpStatus')::int AS http_status,
      error_shape(coalesce(error ->> 'message', '')) AS shape
    FROM looked
    WHERE nth <= $2
  ), cluster AS (
    SELECT job_id, error_type, http_status, count(*) AS count, min(died_at) AS oldest_at,
      max(died_at) AS newest_at,
      (array_agg(execution_id ORDER BY execution_id DESC))[1:$4] AS execution_ids,
      (array_agg(job_name ORDER BY execution_id DESC))[1] AS job_name,
      (array_agg(message ORDER BY execution_id DESC))[1] AS message
    FROM shaped
    GROUP BY job_id, error_type, http_status, shape
  )
  SELECT cluster.*, (SELECT count(*) FROM looked) <= $2 AS complete
  FROM cluster
  ORDER BY cluster.count DESC, cluster.newest_at DESC, cluster.job_id, cluster.execution_ids LIMIT $3`

export const selectDeadLetter = sql('selectDeadLetter')`
  SELECT ${columns} FROM dead_letters WHERE tenant_id = $1 AND execution_id = $2`

export const editDeadLetter = sql('editDeadLetter')`
  UPDATE dead_letters
  SET payload = $3, edited_at = clock_ms()
  WHERE tenant_id = $1 AND execution_id = $2
  RETURNING ${columns}`

export const selectLetterJobs = sql('selectLetterJobs')`
  SELECT execution_id, job_id FROM dead_letters WHERE tenant_id = $1 AND execution_id = ANY ($2::uuid[])`

/** Taken, not read: two redrives of the same letter make one execution. */
export const takeDeadLetters = sql('takeDeadLetters')`
  DELETE FROM dead_letters
  WHERE tenant_id = $1 AND execution_id = ANY ($2::uuid[])
  RETURNING execution_id, job_id, kind, slot, idempotency_key, payload::text`

/** Of deleted jobs: nothing will redrive them. */
export const stopRedrives = sql('stopRedrives')`
  UPDATE dead_letters SET redrive_at = NULL WHERE tenant_id = $1 AND execution_id = ANY ($2::uuid[])`

export const selectDueLetters = sql('selectDueLetters')`
  SELECT tenant_id, execution_id
  FROM dead_letters
  WHERE redrive_at <= (SELECT clock_timestamp())
    AND tenant_id <> ALL (ARRAY(SELECT gone.tenant_id FROM deleted_tenants gone))
  ORDER BY redrive_at LIMIT $1`

export const discardDeadLetter = sql('discardDeadLetter')`
  DELETE FROM dead_letters WHERE tenant_id = $1 AND execution_id = $2`

export const selectDeadLetterDepth = sql('selectDeadLetterDepth')`
  SELECT (SELECT count(*) FROM (SELECT FROM dead_letters LIMIT $1) letter) AS count,
    (SELECT min(died_at) FROM dead_letters) AS oldest_at`

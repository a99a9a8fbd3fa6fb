// The statements on operations.
import { type Fragment, fragment, sql } from '../../lib/sql.ts'

const columnsWith = (options: Fragment) => fragment`
  operation_id, tenant_id, kind, status, filter, ${options} AS options, total, total_capped, done, skipped,
  after, error, created_by, created_at, finished_at`

const columns = columnsWith(fragment`options`)

/** The options of a trigger are a payload, which no list carries. */
const listedOptions = fragment`CASE WHEN kind = 'trigger' THEN '{}' ELSE options END`

// At most $9 unfinished ones of a tenant. Two requests at one moment may pass the limit by one: it is a bound, not a quota.
export const insertOperation = sql('insertOperation')`
  INSERT INTO operations (
    operation_id, tenant_id, kind, status, filter, options, total, total_capped, created_by, created_at,
    next_at
  )
  SELECT $1, $2, $3, 'RUNNING', $4, $5, $6, $7, $8, from_ms($10), clock_ms()
  WHERE (
    SELECT count(*) FROM (SELECT FROM operations WHERE tenant_id = $2 AND status = 'RUNNING' LIMIT $9) o
  ) < $9`

export const selectOperation = sql('selectOperation')`
  SELECT ${columns} FROM operations WHERE tenant_id = $1 AND operation_id = $2`

export const selectOperations = sql('selectOperations')`
  SELECT ${columnsWith(listedOptions)}
  FROM operations
  WHERE tenant_id = $1 AND operation_id < $2
  ORDER BY operation_id DESC LIMIT $3`

export const countOperations = sql('countOperations')`
  SELECT count(*) AS total FROM (SELECT FROM operations WHERE tenant_id = $1 LIMIT $2) o`

/** The end of a tenant, and its restore, go on in any case. */
export const cancelOperation = sql('cancelOperation')`
  UPDATE operations
  SET status = 'CANCELLED', finished_at = clock_ms(), next_at = NULL
  WHERE tenant_id = $1 AND operation_id = $2 AND status = 'RUNNING' AND NOT starts_with(kind, 'tenant_')
  RETURNING kind`

/** An operation locked by another process is already being worked on. None of a deleted tenant goes on. */
export const takeOperation = sql('takeOperation')`
  SELECT ${columns}
  FROM operations
  WHERE status = 'RUNNING'
    AND next_at <= (SELECT clock_timestamp())
    AND tenant_id <> ALL (ARRAY(SELECT gone.tenant_id FROM deleted_tenants gone))
  ORDER BY next_at, operation_id LIMIT 1 FOR UPDATE SKIP LOCKED`

export const advanceOperation = sql('advanceOperation')`
  UPDATE operations
  SET done = done + $2, skipped = skipped + $3, after = coalesce($4, after), failures = 0, error = $6,
    status = CASE
      WHEN $6::text IS NOT NULL THEN 'FAILED'
      WHEN $4::text IS NULL THEN 'COMPLETED'
      ELSE status
    END,
    finished_at = CASE WHEN $4::text IS NULL OR $6 IS NOT NULL THEN clock_ms() END,
    next_at = CASE
      WHEN $4::text IS NOT NULL AND $6 IS NULL THEN clock_ms() + $5 * interval '1 millisecond'
    END
  WHERE operation_id = $1
  RETURNING ${columns}`

/** $4 by how much it has come closer to being given up. */
export const delayOperation = sql('delayOperation')`
  UPDATE operations
  SET failures = failures + $4, status = CASE WHEN failures + $4 >= $2 THEN 'FAILED' ELSE status END,
    error = CASE WHEN failures + $4 >= $2 THEN $3 END,
    finished_at = CASE WHEN failures + $4 >= $2 THEN clock_ms() END,
    next_at = CASE WHEN failures + $4 < $2 THEN clock_ms() + interval '1 second' END
  WHERE operation_id = $1 AND status = 'RUNNING'
  RETURNING ${columns}`

export const selectNextOperation = sql('selectNextOperation')`
  SELECT min(next_at) AS at FROM operations WHERE status = 'RUNNING'`

/** But for the operations that a deleted tenant still names. */
export const pruneOperations = sql('pruneOperations')`
  DELETE FROM operations
  WHERE operation_id = ANY (ARRAY(
    SELECT operation_id
    FROM operations
    WHERE finished_at < clock_timestamp() - make_interval(days => $1)
      AND operation_id <> ALL (ARRAY(SELECT work.operation_id FROM tenant_work work))
    ORDER BY finished_at LIMIT $2
  ))`

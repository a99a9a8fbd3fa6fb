// The daily partitions of `slots` and `attempts`.
import { sql } from '../../lib/sql.ts'

export const makeDay = sql('makeDay')`SELECT make_day($1, $2::date) AS made`

export const makeToday = sql('makeToday')`
  SELECT make_day($1, (clock_timestamp() AT TIME ZONE 'UTC')::date + n) FROM generate_series(-1, 1) AS n`

/** Days of a table, oldest first; after an interrupted removal a day is detaching, or detached and not dropped. */
export const selectDays = sql('selectDays')`
  SELECT c.relname AS name,
    CASE WHEN i.inhrelid IS NULL THEN 'detached' WHEN i.inhdetachpending THEN 'detaching' ELSE 'attached' END AS state
  FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
  WHERE c.relkind = 'r' AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = $1::text::regclass)
    AND c.relname ~ ('^' || $1 || '_[0-9]{8}$')
  ORDER BY c.relname`

/** The oldest execution that still waits in a batch: its slot must not be forgotten. */
export const oldestBatch = sql('oldestBatch')`SELECT min(enqueued_at) AS at FROM batches WHERE kind = 'slot'`

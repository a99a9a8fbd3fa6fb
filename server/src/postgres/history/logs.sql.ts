// The statements on logs of attempts. A row holds the lines that were sent at once.
import { sql } from '../../lib/sql.ts'
import { logDayItem, logItem, logRangeItem } from './items.ts'

// One writer per attempt at a time: the amount already stored decides how much is kept. Taken from 256 locks, in order:
// as many locks as there are attempts would fill the server's lock table.
export const lockLogs = sql('lockLogs')`
  SELECT pg_advisory_xact_lock(7422, locked.bucket)
  FROM (
    SELECT DISTINCT hashtext(asked.execution_id::text) & 255 AS bucket
    FROM unnest($1::uuid[]) AS asked(execution_id)
    ORDER BY bucket
  ) locked`

/** Of each attempt: how many bytes there are, the rows that have any of the lines asked for, and the limit of its tenant. */
export const selectLogRanges = sql('selectLogRanges')`
  SELECT asked.number, tier.storage_bytes_max AS storage_limit, coalesce(sum(log.bytes), 0) AS bytes,
    coalesce(
      json_agg(json_build_array(log.first_line, log.line_count)) FILTER (
        WHERE log.first_line < asked.first_line + asked.line_count
        AND log.first_line + log.line_count > asked.first_line
      ),
      '[]'
    ) AS ranges
  FROM json_to_recordset($1::json) AS asked(${logRangeItem.columns})
  LEFT JOIN LATERAL (
    SELECT *
    FROM logs log
    WHERE log.execution_id = asked.execution_id AND log.attempt = asked.attempt
    ORDER BY log.first_line
  ) log ON true
  LEFT JOIN LATERAL (
    SELECT tier.storage_bytes_max
    FROM tenants t
    JOIN tiers tier ON tier.tier = t.tier
    WHERE t.tenant_id = asked.tenant_id LIMIT 1
  ) tier ON true
  GROUP BY asked.number, tier.storage_bytes_max`

// Of tenants with a limit, last in the transaction and in the order of tenants: others that log for them wait only for
// the commit.
export const addLogBytes = sql('addLogBytes')`
  INSERT INTO log_days AS d (tenant_id, day, bytes)
  SELECT item.tenant_id, item.day::date, item.bytes::bigint
  FROM json_to_recordset($1::json) AS item(${logDayItem.columns})
  ORDER BY item.tenant_id, item.day
  ON CONFLICT (tenant_id, day) DO UPDATE SET bytes = d.bytes + excluded.bytes`

// A day whose last execution is past the retention. Few rows: one a day and tenant.
export const pruneLogDays = sql('pruneLogDays')`
  DELETE FROM log_days WHERE day < (clock_timestamp() AT TIME ZONE 'UTC' - $1 * interval '1 day')::date`

// Lines as a text in the text: escapes in a line are not parsed on the way.
export const insertLogs = sql('insertLogs')`
  INSERT INTO logs (tenant_id, execution_id, attempt, first_line, line_count, bytes, lines)
  SELECT item.tenant_id, item.execution_id, item.attempt, item.first_line, item.line_count, item.bytes,
    item.lines::json
  FROM json_to_recordset($1::json) AS item(${logItem.columns})
  ON CONFLICT DO NOTHING`

// Behind line $5 of attempt $4, no more rows than have one line more than asked for ($6), and of these no more than begin
// within the bytes of a page ($7). $3: of this attempt, or of all. A row that begins before the page does not count.
export const selectLogs = sql('selectLogs')`
  SELECT attempt, first_line, lines, picked_count
  FROM (
    SELECT attempt, first_line, lines, count(*) OVER () AS picked_count,
      sum(bytes) OVER (ORDER BY attempt, first_line) - bytes AS bytes_before
    FROM (
      SELECT attempt, first_line, lines,
        CASE WHEN attempt = $4 AND first_line <= $5 THEN 0 ELSE octet_length(lines::text) END AS bytes
      FROM (
        SELECT attempt, first_line, lines, sum(behind) OVER (ORDER BY attempt, first_line) - behind AS before
        FROM (
          SELECT attempt, first_line, lines,
            CASE
              WHEN attempt = $4 THEN least(line_count, first_line + line_count - 1 - $5)
              ELSE line_count
            END AS behind
          FROM logs
          WHERE tenant_id = $1
            AND execution_id = $2
            AND ($3::int IS NULL OR attempt = $3)
            AND (attempt > $4 OR (attempt = $4 AND first_line + line_count - 1 > $5))
        ) ranged
      ) ranged
      WHERE before <= $6
    ) picked
  ) picked
  WHERE bytes_before <= $7
  ORDER BY attempt, first_line`

// By the id of the execution, which tells when it was made. A CTE, not a subquery: the planner may loop over a LIMITed
// subquery and take more than $2 rows.
export const pruneLogs = sql('pruneLogs')`
  WITH old AS MATERIALIZED (
    SELECT execution_id, attempt, first_line
    FROM logs
    WHERE execution_id < (SELECT first_id(clock_ms() - $1 * interval '1 day'))
    ORDER BY execution_id LIMIT $2
  )
  DELETE FROM logs log
  USING old
  WHERE log.execution_id = old.execution_id
    AND log.attempt = old.attempt
    AND log.first_line = old.first_line`

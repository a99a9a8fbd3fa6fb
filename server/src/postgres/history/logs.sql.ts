// The statements on logs of attempts. A row holds the lines that were sent at once.
import { sql } from '../../lib/sql.ts'

// One writer per attempt at a time: the amount already stored decides how much is kept. Taken from 256 locks, in order:
// as many locks as there are attempts would fill the server's lock table.
export const lockLogs = sql('lockLogs')`
  SELECT pg_advisory_xact_lock(7422, x.bucket) FROM (
    SELECT DISTINCT hashtext(e::text) & 255 AS bucket FROM unnest($1::uuid[]) AS x(e) ORDER BY bucket) x`

/** Of each attempt: how many bytes there are, and the rows that have lines from $1.l on to $1.l + $1.c. */
export const selectLogRanges = sql('selectLogRanges')`
  SELECT x.i, coalesce(sum(l.bytes), 0) AS bytes, coalesce(json_agg(json_build_array(l.first_line, l.line_count))
    FILTER (WHERE l.first_line < x.l + x.c AND l.first_line + l.line_count > x.l), '[]') AS ranges
  FROM json_to_recordset($1::json) AS x(i int, e uuid, n int, l int, c int)
  LEFT JOIN LATERAL (
    SELECT * FROM logs l WHERE l.execution_id = x.e AND l.attempt = x.n ORDER BY l.first_line
  ) l ON true
  GROUP BY x.i`

// Lines as a text in the text: escapes in a line are not parsed on the way.
export const insertLogs = sql('insertLogs')`
  INSERT INTO logs (tenant_id, execution_id, attempt, first_line, line_count, bytes, lines)
  SELECT x.t, x.e, x.n, x.l, x.c, x.b, x.lines::json
  FROM json_to_recordset($1::json) AS x(t uuid, e uuid, n int, l int, c int, b int, lines text)
  ON CONFLICT DO NOTHING`

// Behind line $5 of attempt $4, no more rows than have as many lines as are asked for ($6). $3: of this attempt, or of all.
export const selectLogs = sql('selectLogs')`
  SELECT attempt, first_line, lines FROM (
    SELECT attempt, first_line, lines, sum(behind) OVER (ORDER BY attempt, first_line) - behind AS before FROM (
      SELECT attempt, first_line, lines,
        CASE WHEN attempt = $4 THEN least(line_count, first_line + line_count - 1 - $5) ELSE line_count END AS behind
      FROM logs WHERE tenant_id = $1 AND execution_id = $2 AND ($3::int IS NULL OR attempt = $3)
        AND (attempt > $4 OR (attempt = $4 AND first_line + line_count - 1 > $5))
    ) l
  ) l WHERE before < $6 ORDER BY attempt, first_line`

// By the id of the execution, which tells when it was made. A CTE, not a subquery: the planner may loop over a LIMITed
// subquery and take more than $2 rows.
export const pruneLogs = sql('pruneLogs')`
  WITH old AS MATERIALIZED (
    SELECT execution_id, attempt, first_line FROM logs
    WHERE execution_id < (SELECT first_id(clock_ms() - $1 * interval '1 day')) ORDER BY execution_id LIMIT $2
  )
  DELETE FROM logs l USING old o
  WHERE l.execution_id = o.execution_id AND l.attempt = o.attempt AND l.first_line = o.first_line`

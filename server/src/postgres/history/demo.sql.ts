// The statements that write the past of the demo world. Nothing else writes a past.
import { sql } from '../../lib/sql.ts'

/** $1: the maker of the world; $2: the keys of its jobs; $3: the key prefix of copies. */
export const selectWorld = sql('selectWorld')`
  SELECT EXISTS (SELECT FROM jobs WHERE created_by = $1) AS filled,
    EXISTS (SELECT FROM jobs WHERE key LIKE $3 || '%') AS copied,
    (SELECT name FROM jobs WHERE coalesce(key, '') <> ALL ($2::text[]) AND coalesce(key, '') NOT LIKE $3 || '%' LIMIT 1)
      AS stranger`

export const selectWorldJobs = sql('selectWorldJobs')`
  SELECT j.key, j.job_id, j.tenant_id, v.version, v.name, v.schedule, v.retry_policy, to_ms(v.anchor_at) AS anchor_ms,
    c.graph_id
  FROM jobs j JOIN job_versions v ON v.job_id = j.job_id AND v.version = j.version JOIN cursors c ON c.job_id = j.job_id
  WHERE j.key = ANY ($1::text[]) AND j.deleted_at IS NULL`

/** $2: the first of the days up to today. */
export const makePastDays = sql('makePastDays')`
  SELECT make_day($1, d::date)
  FROM generate_series($2::date, (clock_timestamp() AT TIME ZONE 'UTC')::date, interval '1 day') AS d`

/** Removes the remains of an interrupted fill. */
export const clearPast = sql('clearPast')`
  WITH x AS MATERIALIZED (
    SELECT x."jobId" AS job_id, from_ms(x."madeAt") AS made_at
    FROM json_to_recordset($1::json) AS x("jobId" uuid, "madeAt" float8)
  ), ended AS (
    DELETE FROM attempts a USING x WHERE a.job_id = x.job_id AND a.recorded_at < x.made_at
  ), fired AS (
    DELETE FROM slots s USING x WHERE s.job_id = x.job_id AND s.slot < x.made_at
  ), died AS (
    DELETE FROM dead_letters d USING x WHERE d.job_id = x.job_id AND d.died_at < x.made_at
  )
  DELETE FROM graph_runs g USING x WHERE g.job_ids @> ARRAY[x.job_id] AND g.slot < x.made_at`

export const insertPastAttempts = sql('insertPastAttempts')`
  INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
    enqueued_at, started_at, finished_at, duration_ms, http_status, error_type, error_message, preview, dead_letter, run_id)
  SELECT from_ms(x."finishedAt"), x."tenantId", x."jobId", x.version, x."executionId", x.attempt, x.final, x.kind, x.outcome,
    from_ms(x.slot), from_ms(x."enqueuedAt"), from_ms(x."startedAt"), from_ms(x."finishedAt"),
    (x."finishedAt" - x."startedAt")::int, x."httpStatus", x."errorType", x."errorMessage", x.preview, x."deadLetter",
    x."runId"
  FROM json_to_recordset($1::json) AS x("tenantId" uuid, "jobId" uuid, version int, "executionId" uuid, attempt smallint,
    final boolean, kind text, outcome text, slot float8, "enqueuedAt" float8, "startedAt" float8, "finishedAt" float8,
    "httpStatus" smallint, "errorType" text, "errorMessage" text, preview text, "deadLetter" boolean, "runId" uuid)`

/** The slots that are young enough for a server to still have them. */
export const insertPastSlots = sql('insertPastSlots')`
  INSERT INTO slots (job_id, slot, execution_id)
  SELECT x."jobId", from_ms(x.slot), x."executionId"
  FROM json_to_recordset($1::json) AS x("jobId" uuid, slot float8, "executionId" uuid)
  ON CONFLICT DO NOTHING`

export const insertPastLetters = sql('insertPastLetters')`
  INSERT INTO dead_letters (execution_id, tenant_id, job_id, job_name, reason, died_at, attempts, errors, payload, kind, slot,
    run_id)
  SELECT x."executionId", x."tenantId", x."jobId", x."jobName", x.reason, from_ms(x."diedAt"), x.attempts, x.errors,
    v.execution -> 'payload', x.kind, from_ms(x.slot), x."runId"
  FROM json_to_recordset($1::json) AS x("executionId" uuid, "tenantId" uuid, "jobId" uuid, "jobName" text, reason text,
    "diedAt" float8, attempts smallint, errors json, kind text, slot float8, "runId" uuid)
  JOIN jobs j ON j.job_id = x."jobId" JOIN job_versions v ON v.job_id = j.job_id AND v.version = j.version`

export const insertPastRuns = sql('insertPastRuns')`
  INSERT INTO graph_runs (run_id, tenant_id, kind, slot, status, job_ids, roles, states, unfired, versions, execution_ids,
    edges, created_at, finished_at)
  SELECT x."runId", x."tenantId", 'slot', from_ms(x.slot), 'SUCCEEDED', x."jobIds", x.roles, x.states, false, x.versions,
    x."executionIds", x.edges, from_ms(x."createdAt"), from_ms(x."finishedAt")
  FROM json_to_recordset($1::json) AS x("runId" uuid, "tenantId" uuid, slot float8, "jobIds" uuid[], roles text, states text,
    versions int[], "executionIds" uuid[], edges json, "createdAt" float8, "finishedAt" float8)`

/** The jobs become as old as their past, and name their maker. */
export const ageJobs = sql('ageJobs')`
  WITH x AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS x("jobId" uuid, "createdAt" float8, "anchorAt" float8)
  ), aged AS (
    UPDATE job_versions v SET anchor_at = from_ms(x."anchorAt") FROM x WHERE v.job_id = x."jobId"
  )
  UPDATE jobs j SET created_at = from_ms(x."createdAt"), updated_at = from_ms(x."createdAt"), created_by = $2, updated_by = $2
  FROM x WHERE j.job_id = x."jobId"`

export const refold = sql('refold')`SELECT refold_rollups(from_ms($1))`

/** Jobs like the one with the key $2, which differ in id, key, name, tag, partition and slot. $3: the maker; $4: created at. */
export const insertCopies = sql('insertCopies')`
  WITH x AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS x(id uuid, key text, name text, tag text, cron text, partition smallint,
      slot float8, paused boolean)
  ), model AS MATERIALIZED (
    SELECT v.* FROM jobs j JOIN job_versions v ON v.job_id = j.job_id AND v.version = j.version
    WHERE j.key = $2 AND j.deleted_at IS NULL LIMIT 1
  ), job AS (
    INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at, key, name, tags, search, created_by, updated_by,
      paused_at, paused_by)
    SELECT x.id, m.tenant_id, 1, from_ms($4), from_ms($4), x.key, x.name, ARRAY[x.tag],
      lower(x.name || E'\n' || x.key || E'\n' || x.tag), $3, $3, CASE WHEN x.paused THEN from_ms($4) END,
      CASE WHEN x.paused THEN $3 END
    FROM x CROSS JOIN model m
    RETURNING job_id
  ), version AS (
    INSERT INTO job_versions (job_id, version, tenant_id, name, tags, schedule, anchor_at, execution, retry_policy, priority,
      overlap_policy, misfire_policy, jitter_seconds, metadata, route, own_rows)
    SELECT x.id, 1, m.tenant_id, x.name, ARRAY[x.tag], json_build_object('type', 'CRON', 'cron_expression', x.cron),
      from_ms($4), m.execution, m.retry_policy, m.priority, m.overlap_policy, m.misfire_policy, 0, m.metadata, m.route, m.own_rows
    FROM x CROSS JOIN model m
  ), noted AS (
    INSERT INTO changes (partition_id, job_id) SELECT x.partition, x.id FROM x WHERE NOT x.paused
  )
  INSERT INTO cursors (job_id, tenant_id, partition_id, version, status, slot_at, due_at, decided_to)
  SELECT x.id, m.tenant_id, x.partition, 1, CASE WHEN x.paused THEN 'PAUSED' ELSE 'ACTIVE' END, from_ms(x.slot),
    from_ms(x.slot), NULL
  FROM x CROSS JOIN model m`

// The executions of copies on a single day ($1, UTC). $2: their key prefix; $3: seconds between slots; $4: only slots
// from here on; $5: whether the slots themselves are kept; $6: and only before, because since then the copies run on
// their own. Two of a hundred executions needed a second attempt, one of a thousand died.
export const insertCopiedDay = sql('insertCopiedDay')`
  WITH copy AS MATERIALIZED (
    SELECT j.job_id, j.tenant_id, j.name, c.slot_at FROM jobs j JOIN cursors c ON c.job_id = j.job_id
    WHERE j.key LIKE $2 || '%'
  ), bounds AS MATERIALIZED (
    SELECT greatest($1::timestamp AT TIME ZONE 'UTC', from_ms($4)) AS since,
      least(($1::date + 1)::timestamp AT TIME ZONE 'UTC', from_ms($6)) AS until
  ), slot AS MATERIALIZED (
    SELECT c.job_id, c.tenant_id, c.name, s.slot, md5(c.job_id::text || to_ms(s.slot)) AS hash
    FROM bounds b CROSS JOIN copy c CROSS JOIN LATERAL (
      SELECT c.slot_at - k * $3 * interval '1 second' AS slot FROM generate_series(
        greatest(1, floor(extract(epoch FROM c.slot_at - b.until) / $3))::int, ceil(extract(epoch FROM c.slot_at - b.since) / $3)::int) AS k
    ) s WHERE s.slot >= b.since AND s.slot < b.until
  ), drawn AS MATERIALIZED (
    SELECT s.*, ('x' || left(s.hash, 7))::bit(28)::int % 1000 AS luck, ('x' || substr(s.hash, 8, 7))::bit(28)::int % 900 AS ms,
      (lpad(to_hex(to_ms(s.slot)), 12, '0') || '7' || substr(s.hash, 1, 3) || '8' || substr(s.hash, 4, 13) || '00')::uuid
        AS execution_id
    FROM slot s
  ), try AS MATERIALIZED (
    SELECT d.*, n.attempt, d.luck = 0 OR (d.luck <= 20 AND n.attempt = 1) AS failed, n.attempt = 2 OR d.luck > 20 AS final,
      d.slot + (15 + (n.attempt - 1) * 2000) * interval '1 millisecond' AS started_at,
      d.slot + (55 + (n.attempt - 1) * 2000 + d.ms) * interval '1 millisecond' AS finished_at
    FROM drawn d CROSS JOIN LATERAL generate_series(1, CASE WHEN d.luck <= 20 THEN 2 ELSE 1 END) AS n(attempt)
  ), kept AS (
    INSERT INTO slots (job_id, slot, execution_id) SELECT job_id, slot, execution_id FROM drawn WHERE $5
  ), died AS (
    INSERT INTO dead_letters (execution_id, tenant_id, job_id, job_name, reason, died_at, attempts, errors, kind, slot)
    SELECT execution_id, tenant_id, job_id, name, 'MAX_RETRIES_EXCEEDED', finished_at, 2, json_build_array(json_build_object(
      'attempt', 2, 'at', to_ms(finished_at), 'type', 'HTTP_ERROR', 'message', 'Callback returned 500 Internal Server Error',
      'httpStatus', 500)), 'slot', slot
    FROM try WHERE luck = 0 AND final
  ), written AS (
    INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
      enqueued_at, started_at, finished_at, duration_ms, http_status, error_type, error_message, dead_letter)
    SELECT finished_at, tenant_id, job_id, 1, execution_id, attempt, final, 'slot',
      CASE WHEN failed THEN 'failed' ELSE 'succeeded' END, slot, slot + interval '5 milliseconds', started_at, finished_at,
      40 + ms, CASE WHEN failed THEN 500 ELSE 200 END, CASE WHEN failed THEN 'HTTP_ERROR' END,
      CASE WHEN failed THEN 'Callback returned 500 Internal Server Error' END, failed AND final
    FROM try ORDER BY finished_at
    RETURNING 1
  )
  SELECT count(*)::int AS count FROM written`

export const selectNow = sql('selectNow')`SELECT to_ms(clock_ms()) AS now`

/** As far as a loop of the server would have come by itself. */
export const selectFolded = sql('selectFolded')`
  SELECT least((SELECT folded_to FROM stats_feed), (SELECT min(folded_to) FROM rollup_feeds WHERE feed IN ('tenant', 'job')))
    > clock_ms() - interval '3 minutes' AS folded`

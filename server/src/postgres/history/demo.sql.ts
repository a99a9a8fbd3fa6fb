// The statements that write the past of the demo world. Nothing else writes a past.
import { sql } from '../../lib/sql.ts'

/** $1: the maker of the world; $2: the keys of its jobs; $3: the key prefix of copies. */
export const selectWorld = sql('selectWorld')`
  SELECT EXISTS (SELECT FROM jobs WHERE created_by = $1) AS filled,
    EXISTS (SELECT FROM jobs WHERE key LIKE $3 || '%') AS copied,
    (
      SELECT name
      FROM jobs
      WHERE coalesce(key, '') <> ALL ($2::text[]) AND coalesce(key, '') NOT LIKE $3 || '%' LIMIT 1
    ) AS stranger`

export const selectWorldJobs = sql('selectWorldJobs')`
  SELECT j.key, j.job_id, j.tenant_id, v.version, v.name, v.schedule, v.retry_policy,
    to_ms(v.anchor_at) AS anchor_ms, c.graph_id
  FROM jobs j
  JOIN job_versions v ON v.job_id = j.job_id AND v.version = j.version
  JOIN cursors c ON c.job_id = j.job_id
  WHERE j.key = ANY ($1::text[]) AND j.deleted_at IS NULL`

/** $2: the first of the days up to today. */
export const makePastDays = sql('makePastDays')`
  SELECT make_day($1, d::date)
  FROM generate_series($2::date, (clock_timestamp() AT TIME ZONE 'UTC')::date, interval '1 day') AS d`

/** Removes the remains of an interrupted fill. */
export const clearPast = sql('clearPast')`
  WITH job AS MATERIALIZED (
    SELECT job."jobId" AS job_id, from_ms(job."madeAt") AS made_at
    FROM json_to_recordset($1::json) AS job("jobId" uuid, "madeAt" float8)
  ), ended AS (
    DELETE FROM attempts a USING job WHERE a.job_id = job.job_id AND a.recorded_at < job.made_at
  ), fired AS (
    DELETE FROM slots s USING job WHERE s.job_id = job.job_id AND s.slot < job.made_at
  ), died AS (
    DELETE FROM dead_letters letter
    USING job
    WHERE letter.job_id = job.job_id AND letter.died_at < job.made_at
  )
  DELETE FROM graph_runs g
  USING job
  WHERE g.job_ids @> ARRAY[job.job_id] AND g.slot < job.made_at`

export const insertPastAttempts = sql('insertPastAttempts')`
  INSERT INTO attempts (
    recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot, enqueued_at,
    started_at, finished_at, duration_ms, http_status, error_type, error_message, preview, dead_letter,
    run_id
  )
  SELECT from_ms(past."finishedAt"), past."tenantId", past."jobId", past.version, past."executionId",
    past.attempt, past.final, past.kind, past.outcome, from_ms(past.slot), from_ms(past."enqueuedAt"),
    from_ms(past."startedAt"), from_ms(past."finishedAt"), (past."finishedAt" - past."startedAt")::int,
    past."httpStatus", past."errorType", past."errorMessage", past.preview, past."deadLetter", past."runId"
  FROM json_to_recordset($1::json) AS past(
    "tenantId" uuid, "jobId" uuid, version int, "executionId" uuid, attempt smallint, final boolean,
    kind text, outcome text, slot float8, "enqueuedAt" float8, "startedAt" float8, "finishedAt" float8,
    "httpStatus" smallint, "errorType" text, "errorMessage" text, preview text, "deadLetter" boolean,
    "runId" uuid
  )`

/** The slots that are young enough for a server to still have them. */
export const insertPastSlots = sql('insertPastSlots')`
  INSERT INTO slots (job_id, slot, execution_id)
  SELECT past."jobId", from_ms(past.slot), past."executionId"
  FROM json_to_recordset($1::json) AS past("jobId" uuid, slot float8, "executionId" uuid)
  ON CONFLICT DO NOTHING`

export const insertPastLetters = sql('insertPastLetters')`
  INSERT INTO dead_letters (
    execution_id, tenant_id, job_id, job_name, reason, died_at, attempts, errors, payload, kind, slot,
    run_id
  )
  SELECT past."executionId", past."tenantId", past."jobId", past."jobName", past.reason,
    from_ms(past."diedAt"), past.attempts, past.errors, v.execution -> 'payload', past.kind,
    from_ms(past.slot), past."runId"
  FROM json_to_recordset($1::json) AS past(
    "executionId" uuid, "tenantId" uuid, "jobId" uuid, "jobName" text, reason text, "diedAt" float8,
    attempts smallint, errors json, kind text, slot float8, "runId" uuid
  )
  JOIN jobs j ON j.job_id = past."jobId"
  JOIN job_versions v ON v.job_id = j.job_id AND v.version = j.version`

export const insertPastRuns = sql('insertPastRuns')`
  INSERT INTO graph_runs (
    run_id, tenant_id, kind, slot, status, job_ids, roles, states, unfired, versions, execution_ids, edges,
    created_at, finished_at
  )
  SELECT past."runId", past."tenantId", 'slot', from_ms(past.slot), 'SUCCEEDED', past."jobIds", past.roles,
    past.states, false, past.versions, past."executionIds", past.edges, from_ms(past."createdAt"),
    from_ms(past."finishedAt")
  FROM json_to_recordset($1::json) AS past(
    "runId" uuid, "tenantId" uuid, slot float8, "jobIds" uuid[], roles text, states text, versions int[],
    "executionIds" uuid[], edges json, "createdAt" float8, "finishedAt" float8
  )`

/** The jobs become as old as their past, and name their maker. */
export const ageJobs = sql('ageJobs')`
  WITH job AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS job("jobId" uuid, "createdAt" float8, "anchorAt" float8)
  ), aged AS (
    UPDATE job_versions v SET anchor_at = from_ms(job."anchorAt") FROM job WHERE v.job_id = job."jobId"
  )
  UPDATE jobs j
  SET created_at = from_ms(job."createdAt"), updated_at = from_ms(job."createdAt"), created_by = $2,
    updated_by = $2
  FROM job
  WHERE j.job_id = job."jobId"`

export const refold = sql('refold')`SELECT refold_rollups(from_ms($1))`

/** Jobs like the one with the key $2, which differ in id, key, name, tag, partition and slot. $3: the maker; $4: created at. */
export const insertCopies = sql('insertCopies')`
  WITH copy AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset($1::json) AS copy(
      id uuid, key text, name text, tag text, cron text, partition smallint, slot float8, paused boolean
    )
  ), model AS MATERIALIZED (
    SELECT v.*
    FROM jobs j
    JOIN job_versions v ON v.job_id = j.job_id AND v.version = j.version
    WHERE j.key = $2 AND j.deleted_at IS NULL LIMIT 1
  ), job AS (
    INSERT INTO jobs (
      job_id, tenant_id, version, created_at, updated_at, key, name, tags, search, created_by, updated_by,
      paused_at, paused_by
    )
    SELECT copy.id, model.tenant_id, 1, from_ms($4), from_ms($4), copy.key, copy.name, ARRAY[copy.tag],
      lower(copy.name || E'\n' || copy.key || E'\n' || copy.tag), $3, $3,
      CASE WHEN copy.paused THEN from_ms($4) END, CASE WHEN copy.paused THEN $3 END
    FROM copy
    CROSS JOIN model
    RETURNING job_id
  ), version AS (
    INSERT INTO job_versions (
      job_id, version, tenant_id, name, tags, schedule, anchor_at, execution, retry_policy, priority,
      overlap_policy, misfire_policy, jitter_seconds, metadata, route, own_rows
    )
    SELECT copy.id, 1, model.tenant_id, copy.name, ARRAY[copy.tag],
      json_build_object('type', 'CRON', 'cron_expression', copy.cron), from_ms($4), model.execution,
      model.retry_policy, model.priority, model.overlap_policy, model.misfire_policy, 0, model.metadata,
      model.route, model.own_rows
    FROM copy
    CROSS JOIN model
  ), noted AS (
    INSERT INTO changes (partition_id, job_id)
    SELECT copy.partition, copy.id
    FROM copy
    WHERE NOT copy.paused
  )
  INSERT INTO cursors (job_id, tenant_id, partition_id, version, status, slot_at, due_at, decided_to)
  SELECT copy.id, model.tenant_id, copy.partition, 1, CASE WHEN copy.paused THEN 'PAUSED' ELSE 'ACTIVE' END,
    from_ms(copy.slot), from_ms(copy.slot), NULL
  FROM copy
  CROSS JOIN model`

// The executions of copies on a single day ($1, UTC). $2: their key prefix; $3: seconds between slots; $4: only slots
// from here on; $5: whether the slots themselves are kept; $6: and only before, because since then the copies run on
// their own. Two of a hundred executions needed a second attempt, one of a thousand died.
export const insertCopiedDay = sql('insertCopiedDay')`
  WITH copy AS MATERIALIZED (
    SELECT j.job_id, j.tenant_id, j.name, c.slot_at
    FROM jobs j
    JOIN cursors c ON c.job_id = j.job_id
    WHERE j.key LIKE $2 || '%'
  ), bounds AS MATERIALIZED (
    SELECT greatest($1::timestamp AT TIME ZONE 'UTC', from_ms($4)) AS since,
      least(($1::date + 1)::timestamp AT TIME ZONE 'UTC', from_ms($6)) AS until
  ), slot AS MATERIALIZED (
    SELECT copy.job_id, copy.tenant_id, copy.name, past.slot,
      md5(copy.job_id::text || to_ms(past.slot)) AS hash
    FROM bounds
    CROSS JOIN copy
    CROSS JOIN LATERAL (
      SELECT copy.slot_at - steps * $3 * interval '1 second' AS slot
      FROM generate_series(
        greatest(1, floor(extract(epoch FROM copy.slot_at - bounds.until) / $3))::int,
        ceil(extract(epoch FROM copy.slot_at - bounds.since) / $3)::int
      ) AS steps
    ) past
    WHERE past.slot >= bounds.since AND past.slot < bounds.until
  ), drawn AS MATERIALIZED (
    SELECT slot.*, ('x' || left(slot.hash, 7))::bit(28)::int % 1000 AS luck,
      ('x' || substr(slot.hash, 8, 7))::bit(28)::int % 900 AS ms,
      (
        lpad(
          to_hex(to_ms(slot.slot)), 12, '0'
        ) || '7' || substr(slot.hash, 1, 3) || '8' || substr(slot.hash, 4, 13) || '00'
      )::uuid AS execution_id
    FROM slot
  ), try AS MATERIALIZED (
    SELECT drawn.*, tries.attempt, drawn.luck = 0 OR (drawn.luck <= 20 AND tries.attempt = 1) AS failed,
      tries.attempt = 2 OR drawn.luck > 20 AS final,
      drawn.slot + (15 + (tries.attempt - 1) * 2000) * interval '1 millisecond' AS started_at,
      drawn.slot + (55 + (tries.attempt - 1) * 2000 + drawn.ms) * interval '1 millisecond' AS finished_at
    FROM drawn
    CROSS JOIN LATERAL generate_series(1, CASE WHEN drawn.luck <= 20 THEN 2 ELSE 1 END) AS tries(attempt)
  ), kept AS (
    INSERT INTO slots (job_id, slot, execution_id) SELECT job_id, slot, execution_id FROM drawn WHERE $5
  ), died AS (
    INSERT INTO dead_letters (
      execution_id, tenant_id, job_id, job_name, reason, died_at, attempts, errors, kind, slot
    )
    SELECT execution_id, tenant_id, job_id, name, 'MAX_RETRIES_EXCEEDED', finished_at, 2,
      json_build_array(
        json_build_object(
          'attempt', 2, 'at', to_ms(finished_at), 'type', 'HTTP_ERROR',
          'message', 'Callback returned 500 Internal Server Error', 'httpStatus', 500
        )
      ),
      'slot', slot
    FROM try
    WHERE luck = 0 AND final
  ), written AS (
    INSERT INTO attempts (
      recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
      enqueued_at, started_at, finished_at, duration_ms, http_status, error_type, error_message, dead_letter
    )
    SELECT finished_at, tenant_id, job_id, 1, execution_id, attempt, final, 'slot',
      CASE WHEN failed THEN 'failed' ELSE 'succeeded' END, slot, slot + interval '5 milliseconds',
      started_at, finished_at, 40 + ms, CASE WHEN failed THEN 500 ELSE 200 END,
      CASE WHEN failed THEN 'HTTP_ERROR' END,
      CASE WHEN failed THEN 'Callback returned 500 Internal Server Error' END, failed AND final
    FROM try
    ORDER BY finished_at
    RETURNING 1
  )
  SELECT count(*)::int AS count
  FROM written`

export const selectNow = sql('selectNow')`SELECT to_ms(clock_ms()) AS now`

/** As far as a loop of the server would have come by itself. */
export const selectFolded = sql('selectFolded')`
  SELECT least(
      (SELECT folded_to FROM stats_feed),
      (SELECT min(folded_to) FROM rollup_feeds WHERE feed IN ('tenant', 'job'))
    ) > clock_ms() - interval '3 minutes' AS folded`

// The statements that prune the versions of jobs. A version is named by the executions that are under way, and by the
// attempts within the retention; skipped slots name its schedule. A run of a graph names versions by its nodes, each of
// which has a row of `live` until it has an attempt; a retry, a redrive, a catch-up and a resume run the current version.
import { fragment, sql } from '../../lib/sql.ts'

/** The job that has waited longest. $1: for how many milliseconds its first change is left alone. */
export const takeVersionNote = sql('takeVersionNote')`
  SELECT job_id, after_version
  FROM version_notes
  WHERE due_at <= clock_ms() - $1 * interval '1 millisecond'
  ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED`

/** The look at a job goes on behind a version ($2). */
export const moveVersionNote = sql('moveVersionNote')`
  UPDATE version_notes SET after_version = $2 WHERE job_id = $1`

/** Of a job (j) of which nothing is left to prune. */
const isDone = fragment`
  NOT EXISTS (
    SELECT FROM job_versions v WHERE v.job_id = j.job_id AND v.version < j.version
  )
  AND (j.deleted_at IS NULL OR NOT EXISTS (
    SELECT FROM job_versions v
    WHERE v.job_id = j.job_id AND v.version = j.version AND v.pruned_at IS NULL
  ))`

/** The look is over. Another one comes in a day, unless there is nothing left to prune. */
export const endVersionNote = sql('endVersionNote')`
  WITH done AS (
    DELETE FROM version_notes note
    USING jobs j
    WHERE note.job_id = $1 AND j.job_id = $1 AND ${isDone}
    RETURNING note.job_id
  )
  UPDATE version_notes
  SET after_version = 0, due_at = clock_ms() + interval '1 day'
  WHERE job_id = $1 AND NOT EXISTS (SELECT FROM done)`

// $1 job, $2 behind this version, $3 versions, $4 attempts to look at for each: a version with more of them in its time is
// kept for now, $5 milliseconds since the next version, $6 fields of an execution, $7 versions kept at most. An id is made a
// moment before its execution, or after the lock on the job: 30 s allow for the wait and for the clocks.
export const pruneVersions = sql('pruneVersions')`
  WITH facts AS MATERIALIZED (
    SELECT j.version AS present, j.deleted_at, m.at, m.at - tier.history_days * interval '1 day' AS since
    FROM (SELECT clock_ms() AS at) m
    CROSS JOIN jobs j
    JOIN tenants t ON t.tenant_id = j.tenant_id
    JOIN tiers tier ON tier.tier = t.tier
    WHERE j.job_id = $1
  ), candidate AS MATERIALIZED (
    SELECT v.version, v.version = f.present AS is_present, v.pruned_at IS NOT NULL AS is_light,
      v.version < f.present
        AND (n.created_at IS NULL OR n.created_at < f.since OR v.version <= f.present - $7::int) AS may_end,
      CASE WHEN v.version > 1 THEN v.created_at - interval '30 seconds' END AS ids_from,
      CASE WHEN v.version = f.present THEN f.deleted_at ELSE n.created_at END AS replaced_at
    FROM facts f
    CROSS JOIN LATERAL (
      SELECT version, created_at, pruned_at
      FROM job_versions
      WHERE job_id = $1 AND version > $2
      ORDER BY version LIMIT $3
    ) v
    LEFT JOIN LATERAL (
      SELECT next.created_at
      FROM job_versions next
      WHERE next.job_id = $1 AND next.version > v.version
      ORDER BY next.version LIMIT 1
    ) n ON true
  ), under_way AS MATERIALIZED (
    SELECT version FROM live WHERE job_id = $1 AND state <> 'blocked'
    UNION
    SELECT version FROM live WHERE job_id = $1 AND state = 'blocked'
    UNION
    SELECT batched.version
    FROM batches b
    CROSS JOIN LATERAL unnest(b.job_ids, b.versions) AS batched(job_id, version)
    WHERE b.job_ids @> ARRAY[$1::uuid] AND batched.job_id = $1
  ), skipped AS MATERIALIZED (
    SELECT count(*) AS count, coalesce(array_agg(DISTINCT skip.version), '{}') AS versions
    FROM (SELECT version FROM skips WHERE job_id = $1 LIMIT 50001) skip
  ), unnamed AS MATERIALIZED (
    SELECT c.version,
      c.may_end AND (SELECT count <= 50000 AND c.version <> ALL (versions) FROM skipped) AS is_over
    FROM facts f
    JOIN candidate c ON CASE
        WHEN c.is_present THEN c.replaced_at < f.since
        ELSE coalesce(c.replaced_at, '-infinity') <= f.at - $5 * interval '1 millisecond'
      END
    CROSS JOIN LATERAL (
      SELECT count(*) AS looked_at, coalesce(bool_or(a.version = c.version), false) AS named
      FROM (
        SELECT a.version
        FROM attempts a
        WHERE a.job_id = $1
          AND a.execution_id >= first_id(coalesce(c.ids_from, 'epoch'))
          AND a.execution_id < first_id(coalesce(c.replaced_at, f.at) + interval '30 seconds')
          AND a.recorded_at >= greatest(f.since, coalesce(c.ids_from, 'epoch'))
          AND a.recorded_at < f.at + interval '1 hour' LIMIT $4
      ) a
    ) history
    WHERE (c.may_end OR NOT c.is_light)
      AND NOT history.named
      AND history.looked_at < $4
      AND c.version NOT IN (SELECT version FROM under_way)
  ), gone AS (
    DELETE FROM job_versions v
    USING unnamed u
    WHERE v.job_id = $1 AND v.version = u.version AND u.is_over
  ), lightened AS (
    UPDATE job_versions v
    SET description = NULL, metadata = '{}', pruned_at = (SELECT at FROM facts),
      lean_execution = NULL, payload_bytes = 0,
      execution = (
        SELECT json_object_agg(field.key, field.value)
        FROM json_each(v.execution) field
        WHERE field.key <> ALL ($6::text[])
      )
    FROM unnamed u
    WHERE v.job_id = $1 AND v.version = u.version AND v.pruned_at IS NULL AND NOT u.is_over
  )
  SELECT count(*)::int AS looked_at, max(version) AS last FROM candidate`

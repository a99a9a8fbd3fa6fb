// The statements on the versions of jobs.
import { sql } from '../../lib/sql.ts'

/** Versions are counted from 1 without a gap, so the latest is how many there are. */
export const selectVersionCount = sql('selectVersionCount')`
  SELECT version FROM jobs WHERE tenant_id = $1 AND job_id = $2`

export const selectVersions = sql('selectVersions')`
  SELECT v.job_id, v.version, v.tenant_id, v.name, v.description, v.tags, v.schedule, v.anchor_at,
    v.execution, v.retry_policy, v.priority, v.overlap_policy, v.misfire_policy, v.misfire_window_seconds,
    v.jitter_seconds, v.concurrency_limit, v.concurrency_key, v.concurrency_key_limit, v.depends_on,
    v.metadata, v.implied_dst, CASE WHEN v.version = 1 THEN j.created_at ELSE v.created_at END AS created_at,
    CASE WHEN v.version = 1 THEN j.created_by ELSE v.created_by END AS created_by
  FROM jobs j
  JOIN job_versions v ON v.job_id = j.job_id
  WHERE j.tenant_id = $1 AND j.job_id = $2 AND v.version < $3
  ORDER BY v.version DESC LIMIT $4`

// The condition is that of the index job_versions_older, word for word.
export const selectOlderVersions = sql('selectOlderVersions')`
  SELECT v.tenant_id, v.job_id, v.version,
    c.version = v.version AND c.status IN ('ACTIVE', 'PAUSED') AS is_in_use
  FROM job_versions v
  JOIN cursors c ON c.job_id = v.job_id
  WHERE v.implied_dst IS NULL
    AND v.schedule ->> 'type' = 'CRON'
    AND v.schedule ->> 'timezone' <> 'UTC'
    AND v.schedule ->> 'cron_expression' ~ '^\\s*(\\S*[*/,-]\\S*|\\S+\\s+\\S*[*/,-]\\S*|\\S*[*/,-]\\S*\\s+\\S+)\\s+(?!\\*\\s)\\S+(\\s+\\S+){3,4}\\s*$'
    AND (v.job_id, v.version) > ($1, $2)
  ORDER BY v.job_id, v.version LIMIT $3`

export const settleOlderVersions = sql('settleOlderVersions')`
  UPDATE job_versions v
  SET implied_dst = '{}'
  FROM unnest($1::uuid[], $2::int[]) AS one(job_id, version)
  WHERE v.job_id = one.job_id AND v.version = one.version AND v.implied_dst IS NULL`

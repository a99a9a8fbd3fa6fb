// The statements on tiers. Columns are listed: `*` would break prepared statements when a tier gets another limit.
import { fragment, sql } from '../../lib/sql.ts'
import { payloadText, tierColumns, tiersRevised } from '../sql/fragments.ts'

export const selectTiers = sql(
  'selectTiers',
)`SELECT ${tierColumns} FROM tiers tier ORDER BY tier.tier LIMIT $1`

export const selectTier = sql('selectTier')`SELECT ${tierColumns} FROM tiers tier WHERE tier.tier = $1`

export const updateTier = sql('updateTier')`
  WITH revised AS (${tiersRevised})
  UPDATE tiers
  SET weight = $2, history_days = $3, payload_bytes_max = $4, retries_max = $5, interval_seconds_min = $6,
    priority_best = $7, dead_letters = $8, requests_per_second = $9, host_calls_per_second = $10,
    active_jobs_max = $11, timeout_seconds_max = $12, executions_per_minute = $13,
    concurrent_executions_max = $14, waiting_executions_max = $15, storage_bytes_max = $16
  WHERE tier = $1`

/** $17: tiers at most. */
export const insertTier = sql('insertTier')`
  INSERT INTO tiers (
    tier, weight, history_days, payload_bytes_max, retries_max, interval_seconds_min, priority_best,
    dead_letters, requests_per_second, host_calls_per_second, active_jobs_max, timeout_seconds_max,
    executions_per_minute, concurrent_executions_max, waiting_executions_max, storage_bytes_max
  )
  SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16
  WHERE (SELECT count(*) FROM tiers) < $17
  ON CONFLICT DO NOTHING`

/** Operators change tiers by hand, and tenants are few beside jobs: no index finds the tenants of a tier. */
export const selectTenantsOfTier = sql('selectTenantsOfTier')`
  SELECT t.tenant_id, t.name, count(*) OVER ()::int AS total
  FROM tenants t
  WHERE t.tier = $1 AND t.deleted_at IS NULL
  ORDER BY t.tenant_id LIMIT $2`

/** A payload is read only of a version that an older program wrote. */
const payloadBytes = fragment`coalesce(v.payload_bytes, octet_length(${payloadText}))`

// Of the latest jobs, as many as $2.
export const measureJobs = sql('measureJobs')`
  SELECT (count(*) FILTER (WHERE v.timeout_seconds > $3))::int AS timeout_jobs,
    coalesce(max(v.timeout_seconds), 0)::int AS timeout_seconds,
    (count(*) FILTER (WHERE (v.retry_policy ->> 'max_retries')::int > $4))::int AS retries_jobs,
    coalesce(max((v.retry_policy ->> 'max_retries')::int), 0) AS retries,
    (count(*) FILTER (WHERE v.priority < $5))::int AS priority_jobs,
    coalesce(min(v.priority), 10)::int AS priority,
    (count(*) FILTER (WHERE ${payloadBytes} > $6))::int AS payload_jobs,
    coalesce(max(${payloadBytes}), 0) AS payload_bytes
  FROM (
    SELECT job_id, version
    FROM jobs
    WHERE tenant_id = $1 AND deleted_at IS NULL
    ORDER BY job_id DESC LIMIT $2
  ) j
  CROSS JOIN LATERAL (
    SELECT * FROM job_versions v WHERE v.job_id = j.job_id AND v.version = j.version LIMIT 1
  ) v`

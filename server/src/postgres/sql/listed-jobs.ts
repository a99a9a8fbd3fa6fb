// The jobs of a list: the columns of a job, and a page of jobs that a statement has picked.
import { type Fragment, fragment } from '../../lib/sql.ts'
import { boundedPage, pageBytes, pageIds, pickedCount } from './bounded-page.ts'
import { isOnceUnderWay, leanExecution, payloadText, runsOnce, versionBytes } from './fragments.ts'

/** The health (h) of a job. All null: it has none. */
export const healthColumns = fragment`
  h.execution_id AS last_execution_id, h.outcome AS last_outcome, h.finished_at AS last_finished_at,
  h.http_status AS last_http_status, h.error_type AS last_error_type, h.error_message AS last_error_message,
  h.failures, h.failing_since, h.recovered_at`

/** Whether failures of a job with the cursor c count: `healthOf` of the domain is the same. */
export const countsAsFailing = fragment`
  CASE c.status
    WHEN 'DELETED' THEN false
    WHEN 'COMPLETED' THEN (
      SELECT ${runsOnce} FROM job_versions v WHERE v.job_id = c.job_id AND v.version = c.version LIMIT 1
    )
    ELSE true
  END`

/** The columns of a job (j), its current version (v) and its cursor (c). */
export const jobColumns = (execution: Fragment) => fragment`
  j.job_id, j.version, j.key, j.created_at, j.created_by, j.updated_at, j.updated_by, j.paused_at,
  j.pause_reason, j.paused_by, j.resume_at, v.tenant_id, v.name, v.description, v.tags, v.schedule,
  v.implied_dst, v.anchor_at, ${execution} AS execution, v.retry_policy, v.priority, v.overlap_policy, v.misfire_policy,
  v.misfire_window_seconds, v.jitter_seconds, v.concurrency_limit, v.concurrency_key,
  v.concurrency_key_limit, v.depends_on, v.metadata, c.status, c.slot_at, c.runs,
  greatest(
    (
      SELECT s.slot
      FROM slots s
      WHERE s.job_id = j.job_id AND s.reason IS NULL AND s.slot < now() + interval '1 hour'
      ORDER BY s.slot DESC LIMIT 1
    ),
    (
      SELECT day.last_slot
      FROM job_days day
      WHERE day.job_id = j.job_id AND day.last_slot IS NOT NULL
      ORDER BY day.day DESC LIMIT 1
    )
  ) AS last_run_at,
  ${isOnceUnderWay(fragment`j.job_id`)} AS is_under_way`

/**
 * A page of the picked jobs, with their health. $7: items, $8: bytes, $9: whether with payloads; `order` as for a bounded
 * page.
 */
export const pageOfJobs = (picked: Fragment, order?: Fragment): Fragment => fragment`
  ${boundedPage({
    picked,
    item: fragment`
      SELECT ${versionBytes(fragment`$9::boolean`)} + octet_length(
          json_build_array(j.key, j.created_by, j.updated_by, j.paused_by, j.pause_reason)::text
        ) AS bytes
      FROM jobs j
      JOIN job_versions v ON v.job_id = j.job_id AND v.version = j.version
      WHERE j.job_id = picked.ids[page.nth + 1]`,
    itemsMax: fragment`$7`,
    bytesMax: fragment`$8`,
    order,
  })}
  SELECT ${jobColumns(leanExecution)}, CASE WHEN $9 THEN ${payloadText} END AS payload,
    ${pickedCount} AS picked_count, ${pageBytes} AS page_bytes, ${healthColumns}
  FROM ${pageIds}
  CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.job_id = listed.id LIMIT 1) j
  CROSS JOIN LATERAL (
    SELECT * FROM job_versions v WHERE v.job_id = j.job_id AND v.version = j.version LIMIT 1
  ) v
  CROSS JOIN LATERAL (SELECT * FROM cursors c WHERE c.job_id = j.job_id LIMIT 1) c
  LEFT JOIN LATERAL (SELECT * FROM job_health h WHERE h.job_id = j.job_id LIMIT 1) h ON true
  ORDER BY listed.nth`

// The statements on the versions of jobs.
import { fragment, sql } from '../../lib/sql.ts'
import { boundedPage, pageIds, pickedCount } from '../sql/bounded-page.ts'
import { leanExecution, payloadText, versionBytes } from '../sql/fragments.ts'

export const selectVersionCount = sql('selectVersionCount')`
  SELECT (SELECT count(*) FROM job_versions v WHERE v.job_id = j.job_id)::int AS versions
  FROM jobs j
  WHERE j.tenant_id = $1 AND j.job_id = $2`

// $4: items of the page, $5: its bytes, $6: whether with payloads.
export const selectVersions = sql('selectVersions')`
  ${boundedPage({
    picked: fragment`
      SELECT v.version AS id
      FROM jobs j
      JOIN job_versions v ON v.job_id = j.job_id
      WHERE j.tenant_id = $1 AND j.job_id = $2 AND v.version < $3
      ORDER BY v.version DESC LIMIT $4 + 1`,
    item: fragment`
      SELECT ${versionBytes(fragment`$6::boolean`)} AS bytes
      FROM job_versions v
      WHERE v.job_id = $2 AND v.version = picked.ids[page.nth + 1]`,
    itemsMax: fragment`$4`,
    bytesMax: fragment`$5`,
  })}
  SELECT v.job_id, v.version, v.tenant_id, v.name, v.description, v.tags, v.schedule, v.anchor_at,
    ${leanExecution} AS execution, v.retry_policy, v.priority, v.overlap_policy, v.misfire_policy,
    v.misfire_window_seconds, v.jitter_seconds, v.concurrency_limit, v.concurrency_key,
    v.concurrency_key_limit, v.depends_on, v.metadata, v.implied_dst,
    CASE WHEN v.version = 1 THEN j.created_at ELSE v.created_at END AS created_at,
    CASE WHEN v.version = 1 THEN j.created_by ELSE v.created_by END AS created_by, v.pruned_at,
    CASE WHEN $6 THEN ${payloadText} END AS payload, ${pickedCount} AS picked_count
  FROM ${pageIds}
  CROSS JOIN LATERAL (
    SELECT * FROM job_versions v WHERE v.job_id = $2 AND v.version = listed.id LIMIT 1
  ) v
  CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.job_id = $2 LIMIT 1) j
  ORDER BY listed.nth`

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

// The statements on jobs: create, read, list. The statements that trigger a job are in triggers.sql.ts, the ones that
// change it in change-job.sql.ts.
import { fragment, sql } from '../../lib/sql.ts'
import { isOfUndeletedTenant } from '../sql/deleted-tenants.ts'
import { currentVersions, rankOf } from '../sql/fragments.ts'
import { columnsOf, insertLive } from '../sql/insert.ts'
import { jobColumns, pageOfJobs } from '../sql/listed-jobs.ts'
import { jobItem } from './items.ts'

// Inserts many at once: concurrent creates are committed together. A job with a key that is already taken is not in the
// answer, nor is one of a deleted tenant, and nothing of either is written.
export const insertJobs = sql('insertJobs')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), item AS MATERIALIZED (
    SELECT item.*, from_ms(item.created_ms) AS created_at, from_ms(item.slot_ms) AS slot_at,
      from_ms(item.due_ms) AS due_at, from_ms(item.first_slot_ms) AS first_slot
    FROM json_to_recordset($1::json) AS item(${jobItem.columns})
    WHERE ${isOfUndeletedTenant(fragment`item.tenant_id`)}
  ), job AS (
    INSERT INTO jobs (
      job_id, tenant_id, version, created_at, updated_at, key, name, tags, search, created_by, updated_by
    )
    SELECT job_id, tenant_id, 1, created_at, created_at, key, name, tags, search, created_by, created_by
    FROM item
    ON CONFLICT (tenant_id, key)
    WHERE key IS NOT NULL AND deleted_at IS NULL DO NOTHING
    RETURNING job_id
  ), made AS MATERIALIZED (
    SELECT item.* FROM item JOIN job ON job.job_id = item.job_id
  ), version AS (
    INSERT INTO job_versions (
      job_id, version, tenant_id, name, description, tags, schedule, anchor_at, execution, retry_policy,
      priority, overlap_policy, misfire_policy, misfire_window_seconds, jitter_seconds, concurrency_limit,
      concurrency_key, concurrency_key_limit, calendars, depends_on, metadata, route, own_rows,
      implied_dst, lean_execution, payload_bytes
    )
    SELECT job_id, 1, tenant_id, name, description, tags, schedule, from_ms(anchor_ms), execution,
      retry_policy, priority, overlap_policy, misfire_policy, misfire_window_seconds, jitter_seconds,
      concurrency_limit, concurrency_key, concurrency_key_limit, calendars, depends_on, metadata, route,
      own_rows, implied_dst, lean_execution, payload_bytes
    FROM made
  ), noted AS (
    INSERT INTO changes (partition_id, job_id)
    SELECT partition_id, job_id
    FROM made
    CROSS JOIN moment m
    WHERE status = 'ACTIVE' AND due_at < m.at + $2 * interval '1 millisecond'
  ), cursor AS (
    INSERT INTO cursors (job_id, tenant_id, partition_id, version, status, slot_at, due_at, decided_to)
    SELECT job_id, tenant_id, partition_id, 1, status, slot_at, due_at, first_slot
    FROM made
  ), taken AS (
    INSERT INTO slots (job_id, slot, execution_id)
    SELECT job_id, first_slot, execution_id
    FROM made
    WHERE execution_id IS NOT NULL
  ), enqueued AS (
    INSERT INTO batches (
      batch_id, route, lane, priority, enqueued_at, rank, positions, job_ids, versions, slots_ms
    )
    SELECT execution_id, route, lane, priority, m.at, ${rankOf(fragment`m.at`, fragment`priority`)}, '{0}',
      ARRAY[job_id], '{1}', ARRAY[first_slot_ms::bigint]
    FROM made
    CROSS JOIN moment m
    WHERE execution_id IS NOT NULL AND NOT own_rows
  ), alone AS (
    ${insertLive(
      {
        ...columnsOf(
          fragment`made`,
          'job_id',
          'tenant_id',
          'execution_id',
          'route',
          'lane',
          'priority',
          'concurrency_key',
        ),
        version: fragment`1`,
        kind: fragment`'slot'`,
        state: fragment`CASE WHEN made.limited THEN 'waiting' ELSE 'ready' END`,
        slot: fragment`made.first_slot`,
        enqueued_at: fragment`m.at`,
        key_limit: fragment`made.concurrency_key_limit`,
      },
      fragment`
        FROM made CROSS JOIN moment m WHERE made.execution_id IS NOT NULL AND made.own_rows`,
    )}
  )
  SELECT job_id
  FROM job`

/** Of these tenants ($1) the deleted ones: asked when a job was not inserted. */
export const selectDeletedTenants = sql('selectDeletedTenants')`
  SELECT tenant_id FROM deleted_tenants WHERE tenant_id = ANY ($1::uuid[])`

export const selectJob = sql('selectJob')`
  SELECT ${jobColumns(fragment`v.execution`)} FROM ${currentVersions} WHERE j.tenant_id = $1 AND j.job_id = $2`

export const selectJobIdByKey = sql('selectJobIdByKey')`
  SELECT job_id FROM jobs WHERE tenant_id = $1 AND key = $2 AND deleted_at IS NULL`

// A search looks at no more than $6 rows: a page that found too little among them is short, and says where to go on. $7:
// items of the page, $8: its bytes, $9: whether with payloads.
export const listJobs = sql('listJobs')`${pageOfJobs(fragment`
  SELECT j.job_id AS id
  FROM (
    SELECT job_id, tags, search
    FROM jobs
    WHERE tenant_id = $1 AND job_id < $2 AND deleted_at IS NULL
    ORDER BY job_id DESC LIMIT $6
  ) j
  WHERE ($3::text IS NULL OR $3 = ANY (j.tags)) AND ($4::text IS NULL OR strpos(j.search, $4) > 0)
  ORDER BY j.job_id DESC OFFSET $5 LIMIT $7 + 1`)}`

export const listJobsByStatus = sql('listJobsByStatus')`${pageOfJobs(fragment`
  SELECT c.job_id AS id
  FROM (
    SELECT job_id
    FROM cursors
    WHERE tenant_id = $1 AND job_id < $2 AND status = $10
    ORDER BY job_id DESC LIMIT $6
  ) c
  WHERE ($3::text IS NULL OR $3 = ANY ((SELECT j.tags FROM jobs j WHERE j.job_id = c.job_id)::text[]))
    AND ($4::text IS NULL OR strpos((SELECT j.search FROM jobs j WHERE j.job_id = c.job_id), $4) > 0)
  ORDER BY c.job_id DESC OFFSET $5 LIMIT $7 + 1`)}`

/** Where a look at so many rows ends; no row: all were seen. */
export const selectPickEnd = sql('selectPickEnd')`
  SELECT job_id
  FROM jobs
  WHERE tenant_id = $1 AND job_id < $2 AND deleted_at IS NULL
  ORDER BY job_id DESC OFFSET $3 LIMIT 1`

export const selectPickEndByStatus = sql('selectPickEndByStatus')`
  SELECT job_id
  FROM cursors
  WHERE tenant_id = $1 AND job_id < $2 AND status = $4
  ORDER BY job_id DESC OFFSET $3 LIMIT 1`

export const countJobs = sql('countJobs')`
  SELECT count(*) AS seen, count(*) FILTER (
      WHERE ($2::text IS NULL OR $2 = ANY (j.tags)) AND ($3::text IS NULL OR strpos(j.search, $3) > 0)
    ) AS total
  FROM (
    SELECT tags, search FROM jobs WHERE tenant_id = $1 AND deleted_at IS NULL ORDER BY job_id DESC LIMIT $4
  ) j`

export const countJobsByStatus = sql('countJobsByStatus')`
  SELECT count(*) AS seen, count(*) FILTER (
      WHERE ($2::text IS NULL OR $2 = ANY ((SELECT j.tags FROM jobs j WHERE j.job_id = c.job_id)::text[]))
      AND ($3::text IS NULL OR strpos((SELECT j.search FROM jobs j WHERE j.job_id = c.job_id), $3) > 0)
    ) AS total
  FROM (SELECT job_id FROM cursors WHERE tenant_id = $1 AND status = $5 ORDER BY job_id DESC LIMIT $4) c`

// The executions in `live` in two parts, as the indexes are.
export const selectQuiet = sql('selectQuiet')`
  SELECT c.job_id
  FROM unnest($2::uuid[]) AS asked(job_id)
  JOIN cursors c ON c.job_id = asked.job_id
  WHERE c.tenant_id = $1
    AND c.graph_id IS NULL
    AND NOT EXISTS (SELECT FROM live l WHERE l.job_id = c.job_id AND l.state <> 'blocked' OFFSET 0)
    AND NOT EXISTS (SELECT FROM live l WHERE l.job_id = c.job_id AND l.state = 'blocked' OFFSET 0)
    AND NOT EXISTS (SELECT FROM batches b WHERE b.job_ids @> ARRAY[c.job_id] OFFSET 0)`

// Not of deleted tenants. Of a tenant that was restored, slots up to then are skipped.
// The tenants in turn: one that pauses all of its jobs until the same time holds up no other. Tenants are found by skipping
// through the index, and only when a pause is over.
export const selectResumable = sql('selectResumable')`
  WITH RECURSIVE owner AS (
    SELECT (SELECT j.tenant_id FROM jobs j WHERE j.resume_at IS NOT NULL ORDER BY j.tenant_id LIMIT 1) AS tenant_id
    WHERE EXISTS (SELECT FROM jobs j WHERE j.resume_at <= (SELECT clock_timestamp()))
    UNION ALL
    SELECT (SELECT j.tenant_id FROM jobs j WHERE j.resume_at IS NOT NULL AND j.tenant_id > o.tenant_id
      ORDER BY j.tenant_id LIMIT 1)
    FROM owner o WHERE o.tenant_id IS NOT NULL
  ), over AS (
    SELECT found.*, row_number() OVER (PARTITION BY found.tenant_id ORDER BY found.until, found.job_id) AS turn
    FROM owner
    CROSS JOIN LATERAL (
      SELECT j.tenant_id, j.job_id, j.resume_at AS until
      FROM jobs j
      WHERE j.tenant_id = owner.tenant_id AND j.resume_at <= (SELECT clock_timestamp())
      ORDER BY j.resume_at LIMIT $1
    ) found
    WHERE owner.tenant_id <> ALL (ARRAY(SELECT gone.tenant_id FROM deleted_tenants gone))
  )
  SELECT o.tenant_id, o.job_id, o.until,
    greatest(o.until, (SELECT t.restored_at FROM tenants t WHERE t.tenant_id = o.tenant_id)) AS at
  FROM over o
  ORDER BY o.turn, o.until, o.job_id LIMIT $1`

// The statements that repeat executions: a retry, and redrives.
import { fragment, sql } from '../../lib/sql.ts'
import { hostOfUncharged, isLimited } from '../sql/fragments.ts'
import { columnsOf, insertLive } from '../sql/insert.ts'
import { repeatItem } from './items.ts'

// Unless overlap is allowed it waits, and is let go once nothing of its job is live. $3: the kind; $4: nobody has charged
// them.
export const insertRepeats = sql('insertRepeats')`
  ${insertLive(
    {
      ...columnsOf(fragment`d`, 'job_id', 'version', 'tenant_id', 'route', 'concurrency_key'),
      ...columnsOf(fragment`x`, 'execution_id', 'lane', 'idempotency_key', 'retry_of'),
      kind: fragment`$3`,
      state: fragment`CASE WHEN d.overlap_policy = 'ALLOW' AND NOT d.limited THEN 'ready' ELSE 'waiting' END`,
      priority: fragment`greatest(1, d.priority - $2::int)`,
      slot: fragment`from_ms(x.slot_ms)`,
      enqueued_at: fragment`m.at`,
      payload_override: fragment`x.payload::json`,
      key_limit: fragment`d.concurrency_key_limit`,
      host: fragment`CASE WHEN $4 THEN ${hostOfUncharged(fragment`d.tenant_id`)} END`,
    },
    fragment`
      FROM (SELECT clock_ms() AS at) m
      CROSS JOIN (
        SELECT ${repeatItem.named(fragment`x`)} FROM json_to_recordset($1::json) AS x(${repeatItem.columns})
      ) x
      CROSS JOIN LATERAL (
        SELECT j.job_id, j.version, j.tenant_id, v.overlap_policy, v.priority, v.route, v.concurrency_key,
          v.concurrency_key_limit, ${isLimited} AS limited
        FROM jobs j
        JOIN job_versions v ON v.job_id = j.job_id AND v.version = j.version
        WHERE j.job_id = x.job_id LIMIT 1
      ) d`,
  )}
  RETURNING enqueued_at`

/** The executions with these ids that belong to the tenant and have not ended, in a batch or as rows of their own. */
export const selectOwnUnended = sql('selectOwnUnended')`
  SELECT x.id AS execution_id FROM unnest($2::uuid[]) AS x(id)
  WHERE $1 = coalesce(
    (SELECT l.tenant_id FROM live l WHERE l.execution_id = x.id LIMIT 1),
    (SELECT j.tenant_id FROM batches b
      CROSS JOIN LATERAL unnest(b.positions, b.job_ids) AS u(position, job_id) JOIN jobs j ON j.job_id = u.job_id
      WHERE b.batch_id = batch_of(x.id) AND execution_at(b.batch_id, u.position) = x.id LIMIT 1))`

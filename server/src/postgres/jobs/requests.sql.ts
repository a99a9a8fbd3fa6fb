// The statements on idempotency keys.
import { sql } from '../../lib/sql.ts'
import { keyItem, replyItem } from './items.ts'

export const claimKeys = sql('claimKeys')`
  SELECT asked.number, claim.busy, (claim.kept).fingerprint, (claim.kept).status, (claim.kept).headers,
    (claim.kept).body, (claim.kept).created_at > clock_timestamp() - interval '24 hours' AS fresh
  FROM json_to_recordset($1::json) AS asked(${keyItem.columns})
  CROSS JOIN LATERAL claim_key(asked.tenant_id, asked.key) claim`

// One that is older than a day may still be there: it counts no more.
export const insertReplies = sql('insertReplies')`
  INSERT INTO idempotency_keys (tenant_id, key, fingerprint, status, headers, body, created_at)
  SELECT reply.tenant_id, reply.key, decode(reply.fingerprint, 'hex'), reply.status, reply.headers,
    reply.body, clock_ms()
  FROM json_to_recordset($1::json) AS reply(${replyItem.columns})
  ON CONFLICT (tenant_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, status = excluded.status,
    headers = excluded.headers, body = excluded.body, created_at = excluded.created_at`

export const deleteOldKeys = sql('deleteOldKeys')`
  WITH old AS MATERIALIZED (
    SELECT tenant_id, key
    FROM idempotency_keys
    WHERE created_at < clock_timestamp() - interval '24 hours'
    ORDER BY created_at LIMIT $1
  )
  DELETE FROM idempotency_keys kept
  USING old
  WHERE kept.tenant_id = old.tenant_id
    AND kept.key = old.key
    AND kept.created_at < clock_timestamp() - interval '24 hours'`

// The statements on idempotency keys.
import { sql } from '../../lib/sql.ts'

export const claimKeys = sql('claimKeys')`
  SELECT x.n, c.busy, (c.kept).fingerprint, (c.kept).status, (c.kept).headers, (c.kept).body,
    (c.kept).created_at > clock_timestamp() - interval '24 hours' AS fresh
  FROM json_to_recordset($1::json) AS x(n int, t uuid, k text) CROSS JOIN LATERAL claim_key(x.t, x.k) c`

// One that is older than a day may still be there: it counts no more.
export const insertReplies = sql('insertReplies')`
  INSERT INTO idempotency_keys (tenant_id, key, fingerprint, status, headers, body, created_at)
  SELECT x.t, x.k, decode(x.f, 'hex'), x.s, x.h, x.b, clock_ms()
  FROM json_to_recordset($1::json) AS x(t uuid, k text, f text, s smallint, h json, b text)
  ON CONFLICT (tenant_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, status = excluded.status,
    headers = excluded.headers, body = excluded.body, created_at = excluded.created_at`

export const deleteOldKeys = sql('deleteOldKeys')`
  WITH old AS MATERIALIZED (
    SELECT tenant_id, key FROM idempotency_keys WHERE created_at < clock_timestamp() - interval '24 hours'
    ORDER BY created_at LIMIT $1
  )
  DELETE FROM idempotency_keys k USING old o WHERE k.tenant_id = o.tenant_id AND k.key = o.key
    AND k.created_at < clock_timestamp() - interval '24 hours'`

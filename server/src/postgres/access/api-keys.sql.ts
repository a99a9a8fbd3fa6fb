// The statements on API keys. An owner is a tenant, or the nil UUID for the operators: see the index.
import { fragment, sql } from '../../lib/sql.ts'
import { tierColumns } from '../sql/fragments.ts'

const columns = fragment`
  key_id, tenant_id, name, prefix, scopes, created_at, created_by, expires_at, revoked_at, last_used_at`

/** As the index on the owner has it, word by word. */
const owner = fragment`coalesce(tenant_id, '00000000-0000-0000-0000-000000000000')`

/** Of two that make the last key an owner may have, the second waits and then counts the first. */
export const lockKeyOwner = sql('lockKeyOwner')`
  SELECT pg_advisory_xact_lock(7420, hashtext('api keys of ' || $1::uuid))`

export const countUsableKeys = sql('countUsableKeys')`
  SELECT count(*) AS total FROM api_keys WHERE ${owner} = $1::uuid AND revoked_at IS NULL`

/** Otherwise a user making and revoking keys all day would fill the disk. */
export const forgetRevokedKeys = sql('forgetRevokedKeys')`
  DELETE FROM api_keys
  WHERE key_id IN (
    SELECT key_id
    FROM api_keys
    WHERE ${owner} = $1::uuid AND revoked_at IS NOT NULL
    ORDER BY revoked_at DESC, key_id DESC OFFSET $2
  )`

export const insertKey = sql('insertKey')`
  INSERT INTO api_keys (key_id, tenant_id, name, prefix, hash, scopes, created_by, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, from_ms($8))
  RETURNING ${columns}`

export const selectKeyByHash = sql('selectKeyByHash')`
  SELECT key.key_id, key.tenant_id, key.name, key.scopes, key.expires_at, key.revoked_at,
    t.deleted_at, ${tierColumns}
  FROM api_keys key
  LEFT JOIN tenants t ON t.tenant_id = key.tenant_id
  LEFT JOIN tiers tier ON tier.tier = t.tier
  WHERE key.hash = $1`

export const selectKey = sql('selectKey')`
  SELECT ${columns} FROM api_keys WHERE ${owner} = ANY ($1::uuid[]) AND key_id = $2`

export const selectKeys = sql('selectKeys')`
  SELECT ${columns}
  FROM api_keys
  WHERE ${owner} = $1::uuid AND key_id < $2
  ORDER BY ${owner} DESC, key_id DESC LIMIT $3`

export const countKeys = sql('countKeys')`
  SELECT count(*) AS total FROM (SELECT FROM api_keys WHERE ${owner} = $1::uuid LIMIT $2) owned`

export const updateKey = sql('updateKey')`
  UPDATE api_keys
  SET name = coalesce($3, name), expires_at = CASE WHEN $4::boolean THEN from_ms($5) ELSE expires_at END
  WHERE ${owner} = ANY ($1::uuid[]) AND key_id = $2
  RETURNING ${columns}`

export const revokeKey = sql('revokeKey')`
  UPDATE api_keys
  SET revoked_at = coalesce(revoked_at, clock_ms())
  WHERE ${owner} = ANY ($1::uuid[]) AND key_id = $2`

/** Every server notes uses; the first one within a minute writes. */
export const noteKeyUse = sql('noteKeyUse')`
  UPDATE api_keys
  SET last_used_at = clock_ms()
  WHERE key_id = $1
    AND coalesce(last_used_at, '-infinity') < clock_timestamp() - $2 * interval '1 millisecond'`

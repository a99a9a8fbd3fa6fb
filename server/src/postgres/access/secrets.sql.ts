// The statements on signing keys.
import { sql } from '../../lib/sql.ts'

export const selectTokenKey = sql('selectTokenKey')`SELECT token_key FROM installation`

export const selectSigningKeys = sql('selectSigningKeys')`
  SELECT tenant_id, signing_key, signing_key_at, valid.previous_signing_key, valid.previous_until
  FROM tenants t
  LEFT JOIN LATERAL (
    SELECT t.previous_signing_key, t.previous_until WHERE t.previous_until > clock_timestamp()
  ) valid ON true
  WHERE t.tenant_id = ANY ($1::uuid[])`

// Repeated after a lost reply it changes nothing: the key before would be forgotten.
export const rotateSigningKey = sql('rotateSigningKey')`
  UPDATE tenants
  SET previous_signing_key = signing_key, previous_until = from_ms($3), signing_key = $2,
    signing_key_at = clock_ms()
  WHERE tenant_id = $1 AND signing_key <> $2`

-- What each tier allows, and API keys.

-- The defaults are those of the unlimited tier: what is older than this migration stays unlimited.
ALTER TABLE tiers
  ADD COLUMN payload_bytes_max    integer NOT NULL DEFAULT 262144 CHECK (payload_bytes_max > 0),
  ADD COLUMN retries_max          integer NOT NULL DEFAULT 100 CHECK (retries_max >= 0),
  ADD COLUMN interval_seconds_min integer NOT NULL DEFAULT 1 CHECK (interval_seconds_min > 0),
  -- The smallest number allowed; 1 is the most urgent.
  ADD COLUMN priority_best        smallint NOT NULL DEFAULT 1 CHECK (priority_best BETWEEN 1 AND 10),
  -- Whether the tenant may see its dead letters; they are kept either way.
  ADD COLUMN dead_letters         boolean NOT NULL DEFAULT true,
  -- Null: as many as it likes.
  ADD COLUMN requests_per_second  integer DEFAULT NULL CHECK (requests_per_second > 0);

INSERT INTO tiers (tier, weight, history_days, payload_bytes_max, retries_max, interval_seconds_min, priority_best,
  dead_letters, requests_per_second) VALUES
  ('free',        1,  30,   1024,  3, 60, 8, false,   10),
  ('pro',         3, 180,  10240,  5, 10, 3, true,   100),
  ('enterprise', 10, 365, 102400, 10,  1, 1, true,  1000);

-- The key itself is nowhere: its hash finds it, its prefix shows it in lists.
CREATE TABLE api_keys (
  key_id       uuid PRIMARY KEY,
  -- Null: an operator's, for every tenant.
  tenant_id    uuid REFERENCES tenants,
  name         text NOT NULL,
  prefix       text NOT NULL,
  hash         bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  scopes       text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'operate', 'admin']),
  created_at   timestamptz(3) NOT NULL DEFAULT date_trunc('milliseconds', clock_timestamp()),
  created_by   text NOT NULL,
  expires_at   timestamptz(3),
  revoked_at   timestamptz(3),
  last_used_at timestamptz(3)
) WITH (fillfactor = 80);
-- Operators' keys under the nil UUID: an index finds no `tenant_id = NULL`, and both are asked for in one way.
CREATE INDEX api_keys_by_owner ON api_keys (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), key_id);

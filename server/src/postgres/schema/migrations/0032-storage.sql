-- The storage of tenants with a limit on it, and the waiting executions of any tenant. A tenant without a limit has no
-- row here. Logs are counted by the day of their execution, as they are pruned: a table of logs is too large to sum. Logs
-- of before this migration are not counted.
CREATE TABLE storage_usage (
  tenant_id      uuid PRIMARY KEY REFERENCES tenants,
  artifact_bytes bigint NOT NULL DEFAULT 0,
  version_bytes  bigint NOT NULL DEFAULT 0,
  payload_bytes  bigint NOT NULL DEFAULT 0,
  drawn_bytes    bigint NOT NULL DEFAULT 0 CHECK (drawn_bytes >= 0),
  counted_at     timestamptz(3) NOT NULL DEFAULT '-infinity',
  count_ms       integer NOT NULL DEFAULT 0,
  counting_at    timestamptz(3)
) WITH (fillfactor = 50);
ALTER TABLE storage_usage ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON storage_usage USING (tenant_id = acting_tenant());

CREATE TABLE log_days (
  tenant_id uuid NOT NULL REFERENCES tenants,
  day       date NOT NULL,
  bytes     bigint NOT NULL,
  PRIMARY KEY (tenant_id, day)
) WITH (fillfactor = 50);
CREATE INDEX log_days_by_day ON log_days (day);
ALTER TABLE log_days ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON log_days USING (tenant_id = acting_tenant());

-- Executions that wait to be started, by tenant: one that is claimed on insert is never in it.
CREATE INDEX live_pending ON live (tenant_id) WHERE state IN ('ready', 'waiting');

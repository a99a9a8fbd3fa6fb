-- Limits of a tier on active jobs and on timeouts, and the count of each tenant's active jobs.

-- Null: no limit, which is the unlimited tier, and every tier that an operator has added.
ALTER TABLE tiers
  ADD COLUMN active_jobs_max     integer DEFAULT NULL CHECK (active_jobs_max >= 0),
  ADD COLUMN timeout_seconds_max integer DEFAULT NULL CHECK (timeout_seconds_max > 0);

UPDATE tiers SET active_jobs_max = 10000, timeout_seconds_max = 3600 WHERE tier = 'free';
UPDATE tiers SET active_jobs_max = 100000, timeout_seconds_max = 86400 WHERE tier = 'pro';
UPDATE tiers SET active_jobs_max = 1000000, timeout_seconds_max = 604800 WHERE tier = 'enterprise';

-- Only of tenants with a limit, made by the first change that is counted.
CREATE TABLE active_jobs (
  tenant_id  uuid PRIMARY KEY REFERENCES tenants,
  used       integer NOT NULL CHECK (used >= 0),
  counted_at timestamptz(3) NOT NULL
) WITH (fillfactor = 50);
ALTER TABLE active_jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON active_jobs USING (tenant_id = acting_tenant());

-- A pause with an end counts as active: it ends without a request that could be refused.
CREATE INDEX jobs_paused_until ON jobs (tenant_id) WHERE resume_at IS NOT NULL;

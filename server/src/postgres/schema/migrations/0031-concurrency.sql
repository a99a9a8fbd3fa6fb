-- Executions that run at once, by tenant: the ones whose targets will report the end are held by no worker.
CREATE INDEX live_awaiting ON live (tenant_id, caller_id) WHERE state = 'awaiting';

-- Processes with the role api, and how many requests a second each tenant with a limit sends to each of them: they divide
-- the limit among themselves by these.
CREATE TABLE api_processes (
  process_id uuid PRIMARY KEY,
  beat_at    timestamptz(3) NOT NULL,
  tenant_ids uuid[] NOT NULL,
  rates      real[] NOT NULL,
  CHECK (cardinality(tenant_ids) = cardinality(rates))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

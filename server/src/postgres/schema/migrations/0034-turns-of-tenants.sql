-- Hosts that executions wait for, by tenant: a worker visits a bounded number of a tenant's hosts in one look, so that a
-- tenant with very many neither slows the look down nor hides the hosts of others.
CREATE INDEX live_hosts ON live (route, tenant_id, host) WHERE state = 'ready' AND host IS NOT NULL AND host <> 'quota';

-- Pauses by their end within each tenant: tenants take turns when the pauses of many jobs end at once.
DROP INDEX jobs_paused_until;
CREATE INDEX jobs_paused_until ON jobs (tenant_id, resume_at) WHERE resume_at IS NOT NULL;

-- Waiting jobs of each tenant: while the release loop goes through very many, tenants with few of them have turns between.
CREATE INDEX live_waiting_of_tenant ON live (tenant_id, job_id) WHERE state = 'waiting';
CREATE INDEX cursors_awaiting_of_tenant ON cursors (tenant_id, job_id)
  WHERE status = 'ACTIVE' AND slot_at IS NULL AND NOT depends;

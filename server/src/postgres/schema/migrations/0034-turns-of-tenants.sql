-- Hosts that executions wait for, by tenant: a worker visits a bounded number of a tenant's hosts in one look, so that a
-- tenant with very many neither slows the look down nor hides the hosts of others.
CREATE INDEX live_hosts ON live (route, tenant_id, host) WHERE state = 'ready' AND host IS NOT NULL AND host <> 'quota';

-- Pauses by their end within each tenant: tenants take turns when the pauses of many jobs end at once.
DROP INDEX jobs_paused_until;
CREATE INDEX jobs_paused_until ON jobs (tenant_id, resume_at) WHERE resume_at IS NOT NULL;

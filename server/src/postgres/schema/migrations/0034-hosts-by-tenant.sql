-- Hosts that executions wait for, by tenant: a worker visits a bounded number of a tenant's hosts in one look, so that a
-- tenant with very many neither slows the look down nor hides the hosts of others.
CREATE INDEX live_hosts ON live (route, tenant_id, host) WHERE state = 'ready' AND host IS NOT NULL AND host <> 'quota';

-- Row-level security: the second wall between tenants, behind the tenant in every statement. It holds for roles that do
-- not own the tables, as `carillon_api` does not (connection/api-role.ts): they see the rows of the tenant that their
-- transaction has named in `carillon.tenant`, and without one, no row. The owner, as which everything else runs, is not
-- concerned: its statements keep their plans. Not on `live` and `cursors`: see docs/decisions/0029-row-level-security.md.
CREATE FUNCTION acting_tenant() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT nullif(current_setting('carillon.tenant', true), '')::uuid $$;

ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON tenants USING (tenant_id = acting_tenant());

ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON api_keys USING (tenant_id = acting_tenant());

ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON jobs USING (tenant_id = acting_tenant());

ALTER TABLE job_versions ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON job_versions USING (tenant_id = acting_tenant());

ALTER TABLE calendars ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON calendars USING (tenant_id = acting_tenant());

ALTER TABLE operations ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON operations USING (tenant_id = acting_tenant());

ALTER TABLE idempotency_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON idempotency_keys USING (tenant_id = acting_tenant());

ALTER TABLE artifacts ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON artifacts USING (tenant_id = acting_tenant());

ALTER TABLE workers ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON workers USING (tenant_id = acting_tenant());

ALTER TABLE former_workers ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON former_workers USING (tenant_id = acting_tenant());

ALTER TABLE graph_runs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON graph_runs USING (tenant_id = acting_tenant());

ALTER TABLE run_notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON run_notes USING (tenant_id = acting_tenant());

ALTER TABLE attempts ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON attempts USING (tenant_id = acting_tenant());

ALTER TABLE dead_letters ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON dead_letters USING (tenant_id = acting_tenant());

ALTER TABLE logs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON logs USING (tenant_id = acting_tenant());

ALTER TABLE tenant_activity ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON tenant_activity USING (tenant_id = acting_tenant());

ALTER TABLE failure_groups ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON failure_groups USING (tenant_id = acting_tenant());

ALTER TABLE late_slots ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON late_slots USING (tenant_id = acting_tenant());

-- Of runs of a job their ids, as the owner: a condition that may not be evaluated before the policy, as @> may not, is no
-- index condition under row-level security. The caller reads the rows themselves under the policy.
CREATE FUNCTION runs_of_job(job uuid, most int) RETURNS SETOF uuid LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
  SET search_path FROM CURRENT
AS $$ BEGIN RETURN QUERY SELECT g.run_id FROM graph_runs g WHERE g.job_ids @> ARRAY[job] LIMIT most; END $$;

-- The end of a tenant: deleted, restored or purged. A tombstone stays for ever, so that no id is used again; its name is
-- free for another tenant.
ALTER TABLE tenants
  ADD COLUMN deleted_at     timestamptz(3),
  ADD COLUMN purge_at       timestamptz(3),
  ADD COLUMN purge_begun_at timestamptz(3),
  ADD COLUMN purged_at      timestamptz(3),
  ADD COLUMN restored_at    timestamptz(3);
ALTER TABLE tenants DROP CONSTRAINT tenants_name_key;
CREATE UNIQUE INDEX tenants_by_name ON tenants (name) WHERE purged_at IS NULL;
CREATE INDEX tenants_deleted ON tenants (tenant_id) WHERE deleted_at IS NOT NULL;

-- Mostly empty: every fire and trigger reads all of it.
CREATE TABLE deleted_tenants (
  tenant_id uuid PRIMARY KEY REFERENCES tenants
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100);
ALTER TABLE deleted_tenants ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON deleted_tenants USING (tenant_id = acting_tenant());

-- Fires and triggers hold ROW SHARE on the table until their commit, and the lock waits for that. For a dump of the
-- database, which holds ACCESS SHARE, it does not wait.
CREATE FUNCTION fence_tenants() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE deleted_tenants IN EXCLUSIVE MODE;
END $$;

CREATE TABLE tenant_work (
  tenant_id      uuid PRIMARY KEY REFERENCES tenants,
  stage          text NOT NULL CHECK (stage IN ('stop', 'keep', 'restore', 'purge')),
  operation_id   uuid NOT NULL,
  requested_by   text NOT NULL,
  deleted_at     timestamptz(3) NOT NULL,
  cancel_running boolean NOT NULL,
  after          text,
  failures       integer NOT NULL DEFAULT 0,
  next_at        timestamptz(3) NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX tenant_work_due ON tenant_work (next_at);
ALTER TABLE tenant_work ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON tenant_work USING (tenant_id = acting_tenant());

-- An older program takes every operation that is due, and would take these for deletes of jobs: they are never due.
ALTER TABLE operations
  DROP CONSTRAINT operations_kind_check,
  DROP CONSTRAINT operations_check,
  ADD CONSTRAINT operations_kind_check CHECK (kind IN (
    'pause', 'resume', 'delete', 'trigger', 'redrive', 'cancel', 'backfill',
    'tenant_delete', 'tenant_restore', 'tenant_purge'
  )),
  ADD CONSTRAINT operations_check CHECK (
    (next_at IS NOT NULL) = (status = 'RUNNING' AND NOT starts_with(kind, 'tenant_'))
  );

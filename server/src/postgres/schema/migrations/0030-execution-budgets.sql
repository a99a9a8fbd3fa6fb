-- The budgets of tenants with a limit on executions a minute, and the executions that wait for one: rows of `live` that are
-- ready, with 'quota' as their host. See domain/tenants/execution-budget.ts.

-- One row a tenant that was ever charged. Written by draws, each a transaction of its own, and never by a fire.
CREATE TABLE execution_budgets (
  tenant_id  uuid PRIMARY KEY REFERENCES tenants,
  -- Executions that were charged and not earned back by counted_at.
  spent      double precision NOT NULL CHECK (spent >= 0),
  counted_at timestamptz(3) NOT NULL
) WITH (fillfactor = 50);
ALTER TABLE execution_budgets ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON execution_budgets USING (tenant_id = acting_tenant());

-- Grows with each change of a tier, and of the tier of a tenant: processes that remember limits see whether to ask again.
ALTER TABLE installation ADD tiers_revision integer NOT NULL DEFAULT 0;

-- Of a slot that waits for a budget: when it is skipped instead of run. Null: never.
ALTER TABLE live ADD skip_at timestamptz(3);
CREATE INDEX live_for_budget ON live (tenant_id, rank) WHERE state = 'ready' AND host = 'quota';
-- left(): of the two indexes the planner would take the other one too.
CREATE INDEX live_skipped_at ON live (skip_at) WHERE left(state, 5) = 'ready' AND host = 'quota';

-- Partitions have a constraint of their own until it is the parent's.
CREATE FUNCTION replace_check(parent text, column_name text, definition text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  named text := parent || '_' || column_name || '_check';
  one regclass;
BEGIN
  EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', parent, named);
  FOR one IN SELECT inhrelid FROM pg_inherits WHERE inhparent = parent::regclass LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I', one, named);
  END LOOP;
  EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I CHECK (%s)', parent, named, definition);
END
$$;
SELECT replace_check('slots', 'reason',
  $$reason IN ('overlap', 'misfire', 'paused', 'edited', 'deleted', 'exclusion', 'quota')$$);
SELECT replace_check('skips', 'reason',
  $$reason IN ('overlap', 'misfire', 'paused', 'edited', 'deleted', 'exclusion', 'quota')$$);
SELECT replace_check('attempts', 'skip_reason', $$skip_reason IN ('dependency', 'paused', 'deleted', 'quota')$$);
DROP FUNCTION replace_check;

-- Dependencies: a job that runs after others, and the runs of a whole graph.

-- [{"job_id": …, "on": …}, …]; null: it depends on nothing.
ALTER TABLE job_versions ADD depends_on json;

-- What undeleted jobs depend on now. All of a tenant's change under one lock, so that two changes make no cycle.
CREATE TABLE job_edges (
  child_id  uuid NOT NULL REFERENCES jobs,
  parent_id uuid NOT NULL REFERENCES jobs,
  rule      text NOT NULL CHECK (rule IN ('success', 'completion', 'failure')),
  PRIMARY KEY (child_id, parent_id),
  CHECK (child_id <> parent_id)
);
CREATE INDEX job_edges_by_parent ON job_edges (parent_id);

-- The graph it belongs to, which has the least job id in it as its own; null: none. One that depends on others never has
-- a slot; one that does not and has a graph is a root of it.
ALTER TABLE cursors ADD graph_id uuid, ADD depends boolean NOT NULL DEFAULT false;
CREATE INDEX cursors_by_graph ON cursors (graph_id) WHERE graph_id IS NOT NULL;
DROP INDEX cursors_awaiting;
CREATE INDEX cursors_awaiting ON cursors (job_id) WHERE status = 'ACTIVE' AND slot_at IS NULL AND NOT depends;

-- The run it belongs to; null: it runs alone. A blocked one waits for others of its run, and holds no concurrency key.
ALTER TABLE live ADD run_id uuid;
CREATE INDEX live_by_run ON live (run_id) WHERE run_id IS NOT NULL;
-- What is blocked is in an index of its own: a job may have very many, and who asks whether anything of it is under way
-- must not walk through them.
DROP INDEX live_by_job;
CREATE INDEX live_by_job ON live (job_id, execution_id) WHERE state <> 'blocked';
CREATE INDEX live_blocked ON live (job_id, execution_id) WHERE state = 'blocked';
ALTER TABLE attempts ADD run_id uuid,
  -- Of one that was skipped.
  ADD skip_reason text CHECK (skip_reason IN ('dependency', 'paused', 'deleted'));

-- The run it belonged to; null: it ran alone.
ALTER TABLE dead_letters ADD run_id uuid;

-- A run of a graph: its nodes, parallel in all arrays, and how they depend on each other, as they were at its start.
CREATE TABLE graph_runs (
  run_id         uuid PRIMARY KEY,
  tenant_id      uuid NOT NULL REFERENCES tenants,
  kind           text NOT NULL CHECK (kind IN ('slot', 'trigger', 'backfill')),
  slot           timestamptz(3) NOT NULL,
  status         text NOT NULL CHECK (status IN ('RUNNING', 'CANCELLING', 'SUCCEEDED', 'FAILED', 'CANCELLED')),
  -- Why it is being cancelled, or was.
  cancel_message text,
  job_ids        uuid[] NOT NULL,
  -- One letter each: see `domain/graph-run.ts`.
  roles          text NOT NULL,
  states         text NOT NULL,
  -- A root of it is still to fire. A column of its own: an index on the states would be written with every step, and the
  -- one on all its jobs with it.
  unfired        boolean NOT NULL,
  versions       integer[] NOT NULL,
  -- Null: a root that has not fired, or nothing of it has ended yet.
  execution_ids  uuid[] NOT NULL,
  -- [[parent, child, rule], …], by place in the arrays.
  edges          json NOT NULL,
  -- How often it was resumed, and the executions that others took the place of: [[place, execution id, resume], …]. Null: a
  -- root whose slot was skipped had none. Resumes count from 1.
  resumes        smallint NOT NULL DEFAULT 0,
  replaced       json NOT NULL DEFAULT '[]',
  created_at     timestamptz(3) NOT NULL,
  finished_at    timestamptz(3),
  CHECK ((finished_at IS NULL) = (status IN ('RUNNING', 'CANCELLING')))
) WITH (fillfactor = 70);
CREATE INDEX graph_runs_by_tenant ON graph_runs (tenant_id, run_id);
CREATE INDEX graph_runs_by_status ON graph_runs (tenant_id, status, run_id);
CREATE INDEX graph_runs_by_job ON graph_runs USING gin (job_ids);
CREATE INDEX graph_runs_unfired ON graph_runs (run_id) WHERE unfired;
CREATE INDEX graph_runs_over ON graph_runs (tenant_id, finished_at) WHERE finished_at IS NOT NULL;

-- The runs of each root that have not ended, those included that do not go yet: what the overlap policy of the root
-- looks at. Written with the execution of the root, gone with the end of the run.
CREATE TABLE run_roots (
  job_id       uuid NOT NULL,
  run_id       uuid NOT NULL,
  execution_id uuid NOT NULL,
  operation_id uuid,
  PRIMARY KEY (job_id, run_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX run_roots_by_run ON run_roots (run_id);
CREATE INDEX run_roots_by_operation ON run_roots (operation_id) WHERE operation_id IS NOT NULL;

-- What happened to runs and was not looked at yet. Notes are only ever added, so whoever ends an execution waits for
-- nobody; who looks at a run holds its row.
CREATE TABLE run_notes (
  note_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run_id       uuid NOT NULL,
  what         text NOT NULL CHECK (what IN ('root', 'end', 'cancel')),
  job_id       uuid NOT NULL,
  execution_id uuid NOT NULL,
  at           timestamptz(3) NOT NULL,
  -- Of a cancel.
  message      text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX run_notes_by_run ON run_notes (run_id);

-- An execution of a run is a row of `live` from its start, and whatever ends it deletes that row: one place to note it.
CREATE FUNCTION note_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    INSERT INTO run_notes (run_id, what, job_id, execution_id, at)
    VALUES (OLD.run_id, 'end', OLD.job_id, OLD.execution_id, clock_ms());
  ELSE
    -- A run that was resumed may have a row of this root already: whoever reads the note finds it a run of its own.
    INSERT INTO run_roots (job_id, run_id, execution_id, operation_id)
    VALUES (NEW.job_id, NEW.run_id, NEW.execution_id, NEW.operation_id) ON CONFLICT DO NOTHING;
    INSERT INTO run_notes (run_id, what, job_id, execution_id, at)
    VALUES (NEW.run_id, 'root', NEW.job_id, NEW.execution_id, clock_ms());
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER live_ended AFTER DELETE ON live FOR EACH ROW WHEN (OLD.run_id IS NOT NULL) EXECUTE FUNCTION note_run();
-- What a run itself makes (dependency, and retry when it is resumed) is not noted.
CREATE TRIGGER live_started AFTER INSERT ON live FOR EACH ROW
  WHEN (NEW.run_id IS NOT NULL AND NEW.kind IN ('slot', 'trigger', 'backfill')) EXECUTE FUNCTION note_run();

-- Closed sets grow. A day's table has the CHECK of its parent as its own too, so it is replaced there as well.
CREATE FUNCTION replace_check(parent text, col text, definition text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  one regclass;
  named text := parent || '_' || col || '_check';
BEGIN
  EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', parent, named);
  FOR one IN SELECT inhrelid FROM pg_inherits WHERE inhparent = parent::regclass LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I', one, named);
  END LOOP;
  EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I CHECK (%s)', parent, named, definition);
END $$;
SELECT replace_check('live', 'state', $$state IN ('blocked', 'waiting', 'ready', 'running', 'awaiting', 'retrying')$$);
SELECT replace_check('live', 'kind', $$kind IN ('slot', 'trigger', 'retry', 'redrive', 'backfill', 'dependency')$$);
SELECT replace_check('attempts', 'kind', $$kind IN ('slot', 'trigger', 'retry', 'redrive', 'backfill', 'dependency')$$);
SELECT replace_check('attempts', 'outcome',
  $$outcome IN ('succeeded', 'failed', 'timed_out', 'lost', 'cancelled', 'skipped')$$);
DROP FUNCTION replace_check;

-- Changing jobs, searching them, cancelling and retrying executions, operations, idempotency keys, statistics.

-- What lists search and filter by stands in `jobs` itself: a page looks at tens of thousands of rows, never at their
-- versions. `search` is name, key and tags in lower case. A pause belongs to the job, not to a version of it.
ALTER TABLE jobs
  ADD key          text,
  ADD name         text,
  ADD tags         text[],
  ADD search       text,
  ADD created_by   text NOT NULL DEFAULT 'operator',
  ADD updated_by   text NOT NULL DEFAULT 'operator',
  ADD deleted_at   timestamptz(3),
  ADD paused_at    timestamptz(3),
  ADD pause_reason text,
  ADD paused_by    text,
  ADD resume_at    timestamptz(3);
UPDATE jobs j SET name = v.name, tags = v.tags,
  search = lower(v.name || E'\n\n' || array_to_string(v.tags, E'\n'))
FROM job_versions v WHERE v.job_id = j.job_id AND v.version = j.version;
ALTER TABLE jobs ALTER name SET NOT NULL, ALTER tags SET NOT NULL, ALTER search SET NOT NULL;
CREATE UNIQUE INDEX jobs_by_key ON jobs (tenant_id, key) WHERE key IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX jobs_to_resume ON jobs (resume_at) WHERE resume_at IS NOT NULL;

-- tenant_id: for lists by status, which lives here only.
-- Scattered: the job once allowed overlaps, so that executions of it may be in other batches than that of its latest slot.
ALTER TABLE cursors ADD tenant_id uuid, ADD scattered boolean NOT NULL DEFAULT false;
UPDATE cursors c SET tenant_id = j.tenant_id FROM jobs j WHERE j.job_id = c.job_id;
ALTER TABLE cursors ALTER tenant_id SET NOT NULL;
CREATE INDEX cursors_by_status ON cursors (tenant_id, status, job_id);

-- For lists of what is under way of a job, newest first.
DROP INDEX live_by_job;
CREATE INDEX live_by_job ON live (job_id, execution_id);

-- A range of skips is listed slot by slot with the schedule it was skipped under.
ALTER TABLE skips ADD version integer NOT NULL DEFAULT 1;
ALTER TABLE skips ALTER version DROP DEFAULT;

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
SELECT replace_check('slots', 'reason', $$reason IN ('overlap', 'misfire', 'paused', 'edited', 'deleted')$$);
SELECT replace_check('skips', 'reason', $$reason IN ('overlap', 'misfire', 'paused', 'edited', 'deleted')$$);
SELECT replace_check('live', 'kind', $$kind IN ('slot', 'trigger', 'retry', 'redrive')$$);
SELECT replace_check('attempts', 'kind', $$kind IN ('slot', 'trigger', 'retry', 'redrive')$$);
SELECT replace_check('attempts', 'outcome', $$outcome IN ('succeeded', 'failed', 'timed_out', 'lost', 'cancelled')$$);
DROP FUNCTION replace_check;

-- The search over all executions of a tenant, newest first, and the way to one by its id; the second index finds the
-- few of a job that failed among the many that did not. Rows are appended in the order of recorded_at.
DROP INDEX attempts_by_execution;
CREATE INDEX attempts_by_tenant ON attempts (tenant_id, execution_id);
CREATE INDEX attempts_failed_by_job ON attempts (job_id, execution_id) WHERE outcome <> 'succeeded';
-- On an expression: on recorded_at itself the planner would take it for the bounds of every search and sort whole days.
CREATE INDEX attempts_by_time ON attempts USING brin ((greatest(recorded_at, '-infinity'::timestamptz)))
  WITH (pages_per_range = 16, autosummarize = on);

-- When it is redriven by itself; null: by a person, or never.
ALTER TABLE dead_letters ADD redrive_at timestamptz(3), ADD edited_at timestamptz(3);
CREATE INDEX dead_letters_by_tenant_age ON dead_letters (tenant_id, died_at);
CREATE INDEX dead_letters_to_redrive ON dead_letters (redrive_at) WHERE redrive_at IS NOT NULL;

-- The least id that was made at an instant.
CREATE FUNCTION first_id(at timestamptz) RETURNS uuid
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  AS $$ SELECT (lpad(to_hex(to_ms(at)), 12, '0') || '70008000000000000000')::uuid $$;

-- What ended of each job on each day, folded from `attempts` up to `folded_to`.
CREATE TABLE job_days (
  job_id            uuid NOT NULL REFERENCES jobs,
  day               date NOT NULL,
  succeeded         integer NOT NULL,
  failed            integer NOT NULL,
  timed_out         integer NOT NULL,
  timed             integer NOT NULL,
  duration_ms       bigint NOT NULL,
  last_execution_id uuid NOT NULL,
  last_outcome      text NOT NULL,
  last_slot         timestamptz(3),
  PRIMARY KEY (job_id, day)
) WITH (fillfactor = 70);
CREATE TABLE stats_feed (folded_to timestamptz(3) NOT NULL);
INSERT INTO stats_feed SELECT coalesce(min(recorded_at), clock_ms()) FROM attempts;
CREATE INDEX job_days_by_day ON job_days USING brin (day);

-- Long work asked for by one request. `after` is how far it is; `next_at` when it goes on.
CREATE TABLE operations (
  operation_id uuid PRIMARY KEY,
  tenant_id    uuid NOT NULL REFERENCES tenants,
  kind         text NOT NULL CHECK (kind IN ('pause', 'resume', 'delete', 'trigger', 'redrive')),
  status       text NOT NULL CHECK (status IN ('RUNNING', 'COMPLETED', 'CANCELLED', 'FAILED')),
  filter       json NOT NULL,
  options      json NOT NULL,
  total        integer NOT NULL,
  total_capped boolean NOT NULL,
  done         integer NOT NULL DEFAULT 0,
  skipped      integer NOT NULL DEFAULT 0,
  after        uuid,
  failures     smallint NOT NULL DEFAULT 0,
  error        text,
  created_by   text NOT NULL,
  created_at   timestamptz(3) NOT NULL,
  finished_at  timestamptz(3),
  next_at      timestamptz(3),
  CHECK ((next_at IS NOT NULL) = (status = 'RUNNING')),
  CHECK ((finished_at IS NULL) = (status = 'RUNNING'))
) WITH (fillfactor = 70);
CREATE INDEX operations_by_tenant ON operations (tenant_id, operation_id);
CREATE INDEX operations_due ON operations (next_at) WHERE status = 'RUNNING';
CREATE INDEX operations_over ON operations (finished_at) WHERE finished_at IS NOT NULL;

-- The answer to a request that had a key, written with its effect.
CREATE TABLE idempotency_keys (
  tenant_id   uuid NOT NULL REFERENCES tenants,
  key         text NOT NULL,
  fingerprint bytea NOT NULL,
  status      smallint NOT NULL,
  headers     json NOT NULL,
  body        text NOT NULL,
  created_at  timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- One call, because each statement of a function sees what was committed before it: the answer of another request
-- with the same key that ended while we took the lock. Busy: that request is still under way.
CREATE FUNCTION claim_key(tenant uuid, given text, OUT busy boolean, OUT kept idempotency_keys) LANGUAGE plpgsql AS $$
BEGIN
  busy := NOT pg_try_advisory_xact_lock(hashtextextended(given, hashtextextended(tenant::text, 7420)));
  IF NOT busy THEN
    SELECT k.* INTO kept FROM idempotency_keys k WHERE k.tenant_id = tenant AND k.key = given;
  END IF;
END $$;

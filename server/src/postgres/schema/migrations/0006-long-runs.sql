-- Long runs, executions that are called elsewhere than by our HTTP executor, and what callbacks are signed with.

-- Which workers may claim its executions, and whether these are rows of their own from the start. Its times are columns of
-- their own because every claim reads them: `execution` holds the payload, and to parse that for a number takes too long.
ALTER TABLE job_versions
  ADD route    text COLLATE "C" NOT NULL DEFAULT 'server',
  ADD own_rows boolean NOT NULL DEFAULT false,
  ADD timeout_seconds           float8 GENERATED ALWAYS AS ((execution ->> 'timeout_seconds')::float8) STORED,
  ADD total_timeout_seconds     float8 GENERATED ALWAYS AS ((execution ->> 'total_timeout_seconds')::float8) STORED,
  ADD heartbeat_timeout_seconds float8 GENERATED ALWAYS AS ((execution ->> 'heartbeat_timeout_seconds')::float8) STORED;
UPDATE job_versions SET own_rows = true
WHERE concurrency_key IS NOT NULL OR overlap_policy IN ('BUFFER_ONE', 'BUFFER_ALL', 'CANCEL_RUNNING')
  OR (overlap_policy = 'ALLOW' AND concurrency_limit IS NOT NULL);
ALTER TABLE job_versions ALTER route DROP DEFAULT, ALTER own_rows DROP DEFAULT;

-- Routes of one handler are found by what they begin with: in the order of their bytes, whatever the database's is.
ALTER TABLE batches ALTER route TYPE text COLLATE "C";
ALTER TABLE live ALTER route TYPE text COLLATE "C";

-- What nobody has spoken of for long after its claim leaves its batch, so that it has a deadline.
ALTER TABLE batches ADD claimed_at timestamptz(3);
UPDATE batches SET claimed_at = clock_ms() WHERE worker_id IS NOT NULL;
-- Not by the worker, which would imply it: the planner would read all of it for the batches of some workers.
CREATE INDEX batches_claimed ON batches (claimed_at) WHERE claimed_at IS NOT NULL;

-- Null: one of ours. `executors`: the kinds it runs; `handlers`: by name.
ALTER TABLE workers ADD tenant_id uuid REFERENCES tenants, ADD executors text[] NOT NULL DEFAULT '{http}',
  ADD handlers text[] NOT NULL DEFAULT '{}';
ALTER TABLE workers ALTER executors DROP DEFAULT, ALTER handlers DROP DEFAULT;

ALTER TABLE live
  -- Who made the call whose end is awaited.
  ADD caller_id       uuid,
  -- When upkeep ends the attempt: its time is over, it was silent for too long, or its execution took too long in all.
  ADD deadline        timestamptz(3),
  ADD silent_at       timestamptz(3),
  ADD total_deadline  timestamptz(3),
  -- What the attempt said last, and when. The checkpoint is for the next attempt too.
  ADD heard_at        timestamptz(3),
  ADD progress        real CHECK (progress BETWEEN 0 AND 1),
  ADD progress_text   text,
  ADD checkpoint      json;
CREATE INDEX live_overdue ON live (least(deadline, silent_at, total_deadline))
  WHERE num_nonnulls(deadline, silent_at, total_deadline) > 0;

-- What attempts say while they run; a row is what was sent at once.
CREATE TABLE logs (
  tenant_id    uuid NOT NULL,
  execution_id uuid NOT NULL,
  attempt      smallint NOT NULL,
  first_line   integer NOT NULL,
  line_count   integer NOT NULL,
  bytes        integer NOT NULL,
  -- [[at, level, message], …]
  lines        json NOT NULL,
  PRIMARY KEY (execution_id, attempt, first_line)
);

CREATE TABLE artifacts (
  tenant_id   uuid NOT NULL REFERENCES tenants,
  artifact_id text NOT NULL,
  sha256      text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  bytes       integer NOT NULL,
  content     bytea NOT NULL,
  created_at  timestamptz(3) NOT NULL,
  created_by  text NOT NULL,
  PRIMARY KEY (tenant_id, artifact_id)
);
-- Bundles are compressed already.
ALTER TABLE artifacts ALTER content SET STORAGE EXTERNAL;

-- 32 random bytes from two random UUIDs of 122 bits each; good enough for a key, and no extension is needed.
CREATE FUNCTION new_key() RETURNS bytea LANGUAGE sql VOLATILE
  AS $$ SELECT sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) $$;

-- One row: what the processes of an installation share.
CREATE TABLE installation (
  only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  token_key bytea NOT NULL DEFAULT new_key()
);
INSERT INTO installation DEFAULT VALUES;

-- What callbacks of a tenant are signed with; the one before is used beside it for a while.
ALTER TABLE tenants
  ADD signing_key          bytea NOT NULL DEFAULT new_key(),
  ADD signing_key_at       timestamptz(3) NOT NULL DEFAULT clock_ms(),
  ADD previous_signing_key bytea,
  ADD previous_until       timestamptz(3);

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
SELECT replace_check('live', 'state', $$state IN ('waiting', 'ready', 'running', 'awaiting', 'retrying')$$);
SELECT replace_check('dead_letters', 'reason',
  $$reason IN ('MAX_RETRIES_EXCEEDED', 'NOT_RETRYABLE', 'WORKER_LOST', 'TOTAL_TIMEOUT')$$);
DROP FUNCTION replace_check;

-- Overlap policies, limits, misfire policies, jitter, calendars, backfill, and the cancellation of what runs.

ALTER TABLE job_versions
  ADD jitter_seconds        integer NOT NULL DEFAULT 0,
  ADD concurrency_limit     integer CHECK (concurrency_limit > 0),
  ADD concurrency_key       text,
  ADD concurrency_key_limit integer CHECK (concurrency_key_limit > 0),
  -- The calendars that its exclusions name.
  ADD calendars             text[],
  ADD CHECK ((concurrency_key IS NULL) = (concurrency_key_limit IS NULL));
ALTER TABLE job_versions ALTER jitter_seconds DROP DEFAULT;
CREATE INDEX job_versions_by_calendar ON job_versions USING gin (calendars) WHERE calendars IS NOT NULL;

-- Days and windows in which slots are skipped, by name; read on the clock of each schedule's zone.
CREATE TABLE calendars (
  tenant_id   uuid NOT NULL REFERENCES tenants,
  name        text NOT NULL,
  description text,
  entries     json NOT NULL,
  -- Grows with each change: a slot that was planned with an older one is planned anew.
  revision    integer NOT NULL,
  created_at  timestamptz(3) NOT NULL,
  created_by  text NOT NULL,
  updated_at  timestamptz(3) NOT NULL,
  updated_by  text NOT NULL,
  PRIMARY KEY (tenant_id, name)
);

-- Slots that ran, counted while the schedule has a max_runs. A job that is active and has no slot awaits the end of
-- its last execution, after which its next slot is known.
ALTER TABLE cursors ADD runs integer NOT NULL DEFAULT 0, ADD awaited_id uuid;
CREATE INDEX cursors_awaiting ON cursors (job_id) WHERE status = 'ACTIVE' AND slot_at IS NULL;

-- FIRE_ALL: not faster than this, and the next not before that.
ALTER TABLE catchups
  ADD pace_ms integer NOT NULL DEFAULT 0,
  ADD next_at timestamptz(3) NOT NULL DEFAULT clock_ms();
ALTER TABLE catchups ALTER pace_ms DROP DEFAULT, ALTER next_at DROP DEFAULT;

-- Of a claimed batch: the positions that somebody has cancelled, each with a message. Whatever their worker says of
-- them, they end cancelled.
ALTER TABLE batches ADD cancels jsonb;

ALTER TABLE live
  -- What it waits for or holds: no more than key_limit that are not waiting have the same key.
  ADD concurrency_key text,
  ADD key_limit       integer,
  ADD operation_id    uuid,
  -- Of a running one: it ends cancelled, whatever its worker says. No CHECK says so: an update is checked against the
  -- row as its snapshot has it, before it turns to the row that a claim has just made of it.
  ADD cancelled_at    timestamptz(3),
  ADD cancel_message  text;
CREATE INDEX live_by_key ON live (tenant_id, concurrency_key) WHERE concurrency_key IS NOT NULL AND state <> 'waiting';
CREATE INDEX live_waiting_for_key ON live (rank) WHERE state = 'waiting' AND concurrency_key IS NOT NULL;
CREATE INDEX live_by_operation ON live (operation_id) WHERE operation_id IS NOT NULL;
CREATE INDEX live_cancelled ON live (worker_id) WHERE cancelled_at IS NOT NULL;

-- How far an operation is: an id, or for a backfill an instant.
ALTER TABLE operations ALTER after TYPE text;

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
SELECT replace_check('job_versions', 'overlap_policy',
  $$overlap_policy IN ('ALLOW', 'SKIP', 'BUFFER_ONE', 'BUFFER_ALL', 'CANCEL_RUNNING')$$);
SELECT replace_check('job_versions', 'misfire_policy', $$misfire_policy IN ('FIRE_ONCE', 'FIRE_ALL', 'SKIP')$$);
SELECT replace_check('slots', 'reason', $$reason IN ('overlap', 'misfire', 'paused', 'edited', 'deleted', 'exclusion')$$);
SELECT replace_check('skips', 'reason', $$reason IN ('overlap', 'misfire', 'paused', 'edited', 'deleted', 'exclusion')$$);
SELECT replace_check('live', 'kind', $$kind IN ('slot', 'trigger', 'retry', 'redrive', 'backfill')$$);
SELECT replace_check('attempts', 'kind', $$kind IN ('slot', 'trigger', 'retry', 'redrive', 'backfill')$$);
SELECT replace_check('operations', 'kind',
  $$kind IN ('pause', 'resume', 'delete', 'trigger', 'redrive', 'cancel', 'backfill')$$);
DROP FUNCTION replace_check;

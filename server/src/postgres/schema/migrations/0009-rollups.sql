-- What dashboards read: counted when it is recorded, so that nobody counts a history when somebody asks.

-- How far each fold has come: `tenant` by the record of attempts (activity of tenants, failures, what began late), `job`
-- by the same (hours of jobs), `day` by the hours of jobs (days of jobs), `skip` by what was skipped.
CREATE TABLE rollup_feeds (
  feed      text PRIMARY KEY CHECK (feed IN ('tenant', 'job', 'day', 'skip')),
  folded_to timestamptz(3) NOT NULL
);
-- A history that is there already is folded from its first day on.
INSERT INTO rollup_feeds SELECT f.feed, CASE WHEN f.feed <> 'skip' AND EXISTS (SELECT FROM attempts) THEN (
  SELECT min(to_date(right(c.relname, 8), 'YYYYMMDD'))::timestamp AT TIME ZONE 'UTC'
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'attempts'::regclass
) WHEN f.feed = 'day' THEN date_trunc('day', clock_ms(), 'UTC') ELSE clock_ms() END
FROM unnest(ARRAY['tenant', 'job', 'day', 'skip']) AS f(feed);

-- What was recorded in each minute, hour and day (`step`, in seconds) of a tenant. Executions by how they ended; `attempts`
-- and `retries` count attempts; `started`: first attempts of slots and triggers, and how late these began.
CREATE TABLE tenant_activity (
  tenant_id       uuid NOT NULL,
  step            integer NOT NULL CHECK (step IN (60, 3600, 86400)),
  at              timestamptz(3) NOT NULL,
  succeeded       integer NOT NULL,
  failed          integer NOT NULL,
  timed_out       integer NOT NULL,
  cancelled       integer NOT NULL,
  skipped         integer NOT NULL,
  attempts        integer NOT NULL,
  retries         integer NOT NULL,
  dead_letters    integer NOT NULL,
  duration_ms     bigint NOT NULL,
  duration_ms_max integer NOT NULL,
  started         integer NOT NULL,
  within_1s       integer NOT NULL,
  within_5s       integer NOT NULL,
  late_ms_max     bigint NOT NULL,
  -- The most executions that ended in one minute of it, and which minute that was.
  peak            integer NOT NULL,
  peak_at         timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, step, at)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX tenant_activity_by_age ON tenant_activity (step, at);

-- An hour is added to its day when it is over, in sixteen parts by the job: every job is written once an hour for it.
CREATE TABLE job_activity (
  job_id          uuid NOT NULL,
  step            integer NOT NULL CHECK (step IN (3600, 86400)),
  at              timestamptz(3) NOT NULL,
  succeeded       integer NOT NULL,
  failed          integer NOT NULL,
  timed_out       integer NOT NULL,
  cancelled       integer NOT NULL,
  skipped         integer NOT NULL,
  attempts        integer NOT NULL,
  retries         integer NOT NULL,
  dead_letters    integer NOT NULL,
  duration_ms     bigint NOT NULL,
  duration_ms_max integer NOT NULL,
  started         integer NOT NULL,
  within_1s       integer NOT NULL,
  within_5s       integer NOT NULL,
  late_ms_max     bigint NOT NULL,
  PRIMARY KEY (job_id, step, at)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX job_activity_by_age ON job_activity (step, at);

-- Attempts that failed, by job and by what is left of the message without its numbers, ids and quoted parts (`shape`, a
-- hash), in ten minutes each. The message and the execution are the latest.
CREATE TABLE failure_groups (
  tenant_id         uuid NOT NULL,
  at                timestamptz(3) NOT NULL,
  job_id            uuid NOT NULL,
  error_type        text NOT NULL,
  -- 0: none.
  http_status       smallint NOT NULL,
  shape             uuid NOT NULL,
  message           text NOT NULL,
  failures          integer NOT NULL,
  first_at          timestamptz(3) NOT NULL,
  last_at           timestamptz(3) NOT NULL,
  last_execution_id uuid NOT NULL,
  PRIMARY KEY (tenant_id, at, job_id, error_type, http_status, shape)
) WITH (fillfactor = 70);
CREATE INDEX failure_groups_by_age ON failure_groups (at);

-- Slots that began more than five seconds late, or were skipped: then `slot` is the latest of `slot_count`.
CREATE TABLE late_slots (
  tenant_id    uuid NOT NULL,
  slot         timestamptz(3) NOT NULL,
  job_id       uuid NOT NULL,
  kind         text NOT NULL CHECK (kind IN ('late', 'skipped')),
  late_ms      bigint,
  reason       text,
  slot_count   integer NOT NULL,
  execution_id uuid,
  PRIMARY KEY (tenant_id, slot, job_id, kind)
);
CREATE INDEX late_slots_by_age ON late_slots (slot);

-- When it was written; of a range that grows, to a minute. Null: before there was this column.
ALTER TABLE skips ADD changed_at timestamptz(3);
ALTER TABLE skips ALTER changed_at SET DEFAULT clock_ms();
CREATE INDEX skips_changed ON skips (changed_at) WHERE reason IN ('overlap', 'misfire');

-- Which of the sixteen: by the end of the id, which is random.
CREATE FUNCTION part_of(job uuid) RETURNS integer
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  AS $$ SELECT get_byte(uuid_send(job), 15) & 15 $$;

-- What two messages of one kind have in common. As `domain/error-shape.ts` has it.
CREATE FUNCTION error_shape(message text) RETURNS text
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  AS $$ SELECT regexp_replace(regexp_replace(left(message, 300), '"[^"]*"|`[^`]*`|(^|[ (=:,])''[^'']*''', '\1*', 'g'),
    '[0-9A-Za-z_-]*[0-9][0-9A-Za-z_-]*', '*', 'g') $$;

-- Up to when nothing is recorded any more: everything that a transaction records, it records after its start. Ours last
-- seconds; one that has been there for a minute is not ours, or reads only. Who may not see the transactions of others, or
-- cannot, stays a minute behind. The caller takes a snapshot after this, not with it.
CREATE FUNCTION recorded_until(lag_ms double precision) RETURNS timestamptz LANGUAGE sql VOLATILE
  AS $$ SELECT date_trunc('milliseconds', least(m.now - lag_ms * interval '1 millisecond',
      min(a.xact_start) FILTER (WHERE a.xact_start > m.now - interval '1 minute'),
      CASE WHEN bool_or(a.pid IS NOT NULL AND coalesce(a.state, 'disabled') = 'disabled') THEN m.now - interval '1 minute' END))
    FROM (SELECT clock_timestamp() AS now) m
    LEFT JOIN pg_stat_activity a ON a.datname = current_database() AND a.pid <> pg_backend_pid()
      AND coalesce(a.backend_type, 'client backend') = 'client backend'
    GROUP BY m.now $$;

-- Counts everything again that was recorded on or after a day; for who writes a history into the past.
CREATE FUNCTION refold_rollups(since timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  from_day timestamptz := date_trunc('day', since, 'UTC');
BEGIN
  PERFORM FROM rollup_feeds ORDER BY feed FOR UPDATE;
  PERFORM FROM stats_feed FOR UPDATE;
  DELETE FROM tenant_activity WHERE step IN (60, 3600, 86400) AND at >= from_day;
  DELETE FROM job_activity WHERE step IN (3600, 86400) AND at >= from_day;
  DELETE FROM failure_groups WHERE at >= from_day;
  DELETE FROM job_days d WHERE d.day >= (from_day AT TIME ZONE 'UTC')::date;
  UPDATE rollup_feeds SET folded_to = least(folded_to, from_day) WHERE feed <> 'skip';
  UPDATE stats_feed SET folded_to = least(folded_to, from_day);
END $$;

-- How each job goes, for lists that begin with the trouble. A fold writes it from the record of attempts; no finish does.
CREATE TABLE job_health (
  job_id        uuid PRIMARY KEY REFERENCES jobs,
  tenant_id     uuid NOT NULL,
  execution_id  uuid NOT NULL,
  outcome       text NOT NULL CHECK (outcome IN ('succeeded', 'failed', 'timed_out', 'lost')),
  finished_at   timestamptz(3) NOT NULL,
  http_status   smallint,
  error_type    text,
  error_message text,
  failures      integer NOT NULL,
  failing_since timestamptz(3),
  recovered_at  timestamptz(3),
  CHECK ((failures > 0) = (outcome <> 'succeeded') AND (failures > 0) = (failing_since IS NOT NULL))
) WITH (fillfactor = 70);
CREATE INDEX job_health_failing ON job_health (tenant_id, failing_since, job_id) WHERE failing_since IS NOT NULL;
CREATE INDEX job_health_recovered ON job_health (tenant_id, recovered_at, job_id) WHERE recovered_at IS NOT NULL;
ALTER TABLE job_health ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON job_health USING (tenant_id = acting_tenant());

-- From the oldest record that is kept, in the bounded steps of the fold.
ALTER TABLE rollup_feeds
  DROP CONSTRAINT rollup_feeds_feed_check,
  ADD CONSTRAINT rollup_feeds_feed_check CHECK (feed IN ('tenant', 'job', 'day', 'skip', 'health'));
CREATE FUNCTION oldest_day_of_attempts() RETURNS timestamptz LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT min(to_date(right(c.relname, 8), 'YYYYMMDD'))::timestamp AT TIME ZONE 'UTC'
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'attempts'::regclass);
END $$;
INSERT INTO rollup_feeds
SELECT 'health', CASE WHEN EXISTS (SELECT FROM attempts) THEN oldest_day_of_attempts() ELSE clock_ms() END;

-- An end that is written into the past may come before ones that were folded: the health of all jobs is folded again.
CREATE OR REPLACE FUNCTION refold_rollups(since timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  from_day timestamptz := date_trunc('day', since, 'UTC');
BEGIN
  PERFORM FROM rollup_feeds ORDER BY feed FOR UPDATE;
  PERFORM FROM stats_feed FOR UPDATE;
  DELETE FROM tenant_activity WHERE step IN (60, 3600, 86400) AND at >= from_day;
  DELETE FROM job_activity WHERE step IN (3600, 86400) AND at >= from_day;
  DELETE FROM failure_groups WHERE at >= from_day;
  DELETE FROM job_days d WHERE d.day >= (from_day AT TIME ZONE 'UTC')::date;
  DELETE FROM job_health;
  UPDATE rollup_feeds SET folded_to = least(folded_to, from_day) WHERE feed NOT IN ('skip', 'health');
  UPDATE rollup_feeds SET folded_to = least(folded_to, from_day, oldest_day_of_attempts()) WHERE feed = 'health';
  UPDATE stats_feed SET folded_to = least(folded_to, from_day);
END $$;

-- Jobs, slots, the queue, history and dead letters.
--
-- Every instant that is compared by equality is timestamptz(3): it travels through JavaScript milliseconds.
-- Hot tables are small and narrow and are vacuumed often; nothing is partitioned by a column that changes.

CREATE TABLE tiers (
  tier         text PRIMARY KEY,
  weight       integer NOT NULL CHECK (weight > 0),
  history_days integer NOT NULL CHECK (history_days BETWEEN 1 AND 365)
);
INSERT INTO tiers (tier, weight, history_days) VALUES ('unlimited', 10, 365);

CREATE TABLE tenants (
  tenant_id  uuid PRIMARY KEY,
  name       text NOT NULL UNIQUE,
  tier       text NOT NULL REFERENCES tiers,
  created_at timestamptz(3) NOT NULL DEFAULT date_trunc('milliseconds', clock_timestamp())
);
INSERT INTO tenants (tenant_id, name, tier) VALUES ('00000000-0000-7000-8000-000000000001', 'default', 'unlimited');

CREATE TABLE jobs (
  job_id     uuid PRIMARY KEY,
  tenant_id  uuid NOT NULL REFERENCES tenants,
  version    integer NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
CREATE INDEX jobs_by_tenant ON jobs (tenant_id, job_id);

-- Append-only. json, not jsonb: a payload is sent as it was given.
CREATE TABLE job_versions (
  job_id                 uuid NOT NULL REFERENCES jobs,
  version                integer NOT NULL,
  tenant_id              uuid NOT NULL,
  name                   text NOT NULL,
  description            text,
  tags                   text[] NOT NULL,
  schedule               json NOT NULL,
  anchor_at              timestamptz(3) NOT NULL,
  execution              json NOT NULL,
  retry_policy           json NOT NULL,
  priority               smallint NOT NULL CHECK (priority BETWEEN 1 AND 10),
  overlap_policy         text NOT NULL CHECK (overlap_policy IN ('ALLOW', 'SKIP')),
  misfire_policy         text NOT NULL CHECK (misfire_policy IN ('FIRE_ONCE')),
  misfire_window_seconds integer,
  metadata               json NOT NULL,
  PRIMARY KEY (job_id, version)
);

-- What a job fires next. slot_at is nominal, due_at when it fires; every slot up to decided_to is decided for good.
CREATE TABLE cursors (
  job_id       uuid PRIMARY KEY REFERENCES jobs,
  partition_id smallint NOT NULL CHECK (partition_id BETWEEN 0 AND 63),
  version      integer NOT NULL,
  status       text NOT NULL CHECK (status IN ('ACTIVE', 'PAUSED', 'COMPLETED', 'DELETED')),
  slot_at      timestamptz(3),
  due_at       timestamptz(3),
  decided_to   timestamptz(3)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX cursors_due ON cursors (partition_id, due_at, job_id) WHERE status = 'ACTIVE' AND due_at IS NOT NULL;

-- A slot fires once because its row is unique. A skipped one (reason) carries the id of the execution in its way, so
-- the latest row always leads to the latest execution of the job.
CREATE TABLE slots (
  job_id       uuid NOT NULL,
  slot         timestamptz(3) NOT NULL,
  execution_id uuid NOT NULL,
  reason       text CHECK (reason IN ('overlap', 'misfire')),
  PRIMARY KEY (job_id, slot)
) PARTITION BY RANGE (slot);

-- Written with every change that makes a job due soon; taken by the scheduler that holds the partition.
CREATE TABLE changes (
  partition_id smallint NOT NULL,
  job_id       uuid NOT NULL,
  PRIMARY KEY (partition_id, job_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Late slots a job owes: they wait for each other in order.
CREATE TABLE catchups (
  job_id    uuid PRIMARY KEY REFERENCES jobs,
  from_slot timestamptz(3) NOT NULL,
  to_slot   timestamptz(3) NOT NULL,
  CHECK (from_slot <= to_slot)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Runs of equal skips.
CREATE TABLE skips (
  job_id     uuid NOT NULL REFERENCES jobs,
  from_slot  timestamptz(3) NOT NULL,
  to_slot    timestamptz(3) NOT NULL,
  slot_count integer NOT NULL CHECK (slot_count > 0),
  reason     text NOT NULL CHECK (reason IN ('overlap', 'misfire')),
  PRIMARY KEY (job_id, from_slot)
) WITH (fillfactor = 80);

-- The queue: plain first attempts that became ready together, as parallel arrays.
CREATE TABLE batches (
  batch_id    uuid PRIMARY KEY,
  route       text NOT NULL,
  lane        text NOT NULL,
  priority    smallint NOT NULL,
  enqueued_at timestamptz(3) NOT NULL,
  rank        timestamptz(3) NOT NULL,
  worker_id   uuid REFERENCES workers,
  fence       integer NOT NULL DEFAULT 0,
  positions   smallint[] NOT NULL,
  job_ids     uuid[] NOT NULL,
  versions    integer[] NOT NULL,
  slots_ms    bigint[] NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
CREATE INDEX batches_waiting ON batches (route, lane, rank) WHERE worker_id IS NULL;
CREATE INDEX batches_held ON batches (worker_id) WHERE worker_id IS NOT NULL;
CREATE INDEX batches_by_job ON batches USING gin (job_ids);

-- One row per execution that is not a plain first attempt in a batch.
CREATE TABLE live (
  execution_id     uuid PRIMARY KEY,
  job_id           uuid NOT NULL,
  version          integer NOT NULL,
  tenant_id        uuid NOT NULL,
  kind             text NOT NULL CHECK (kind IN ('slot', 'trigger', 'redrive')),
  state            text NOT NULL CHECK (state IN ('waiting', 'ready', 'running', 'retrying')),
  route            text NOT NULL,
  lane             text NOT NULL,
  priority         smallint NOT NULL,
  slot             timestamptz(3) NOT NULL,
  enqueued_at      timestamptz(3) NOT NULL,
  rank             timestamptz(3) NOT NULL,
  ready_at         timestamptz(3),
  worker_id        uuid REFERENCES workers,
  fence            integer NOT NULL DEFAULT 0,
  attempt          smallint NOT NULL DEFAULT 0,
  losses           smallint NOT NULL DEFAULT 0,
  host             text,
  started_at       timestamptz(3),
  payload_override json,
  idempotency_key  text,
  retry_of         uuid,
  CHECK ((worker_id IS NOT NULL) = (state = 'running')),
  CHECK ((ready_at IS NOT NULL) = (state = 'retrying'))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
CREATE INDEX live_by_job ON live (job_id);
CREATE INDEX live_held ON live (worker_id) WHERE worker_id IS NOT NULL;
CREATE INDEX live_ready ON live (route, lane, rank) WHERE state = 'ready' AND host IS NULL;
CREATE INDEX live_for_host ON live (route, host, rank) WHERE state = 'ready' AND host IS NOT NULL;
CREATE INDEX live_retrying ON live (ready_at) WHERE state = 'retrying';
CREATE INDEX live_waiting ON live (job_id, rank) WHERE state = 'waiting';

-- The record of every attempt, by the day it was recorded, so a past day is closed. Exactly one row of an execution
-- is final.
CREATE TABLE attempts (
  recorded_at      timestamptz(3) NOT NULL,
  tenant_id        uuid NOT NULL,
  job_id           uuid NOT NULL,
  version          integer NOT NULL,
  execution_id     uuid NOT NULL,
  attempt          smallint NOT NULL,
  final            boolean NOT NULL,
  kind             text NOT NULL CHECK (kind IN ('slot', 'trigger', 'redrive')),
  outcome          text NOT NULL CHECK (outcome IN ('succeeded', 'failed', 'timed_out', 'lost')),
  slot             timestamptz(3) NOT NULL,
  enqueued_at      timestamptz(3) NOT NULL,
  started_at       timestamptz(3),
  finished_at      timestamptz(3),
  duration_ms      integer,
  worker_id        uuid,
  http_status      smallint,
  error_type       text,
  error_message    text,
  preview          text,
  dead_letter      boolean NOT NULL DEFAULT false,
  payload_override json,
  idempotency_key  text,
  retry_of         uuid
) PARTITION BY RANGE (recorded_at);
CREATE INDEX attempts_by_job ON attempts (job_id, execution_id);
CREATE INDEX attempts_failed ON attempts (tenant_id, execution_id) WHERE outcome <> 'succeeded';
CREATE INDEX attempts_by_execution ON attempts USING brin (execution_id) WITH (pages_per_range = 16, autosummarize = on);

CREATE TABLE dead_letters (
  execution_id    uuid PRIMARY KEY,
  tenant_id       uuid NOT NULL,
  job_id          uuid NOT NULL,
  job_name        text NOT NULL,
  reason          text NOT NULL CHECK (reason IN ('MAX_RETRIES_EXCEEDED', 'NOT_RETRYABLE', 'WORKER_LOST')),
  died_at         timestamptz(3) NOT NULL,
  attempts        smallint NOT NULL,
  errors          json NOT NULL,
  payload         json,
  idempotency_key text,
  kind            text NOT NULL,
  slot            timestamptz(3) NOT NULL
);
CREATE INDEX dead_letters_by_tenant ON dead_letters (tenant_id, execution_id);
CREATE INDEX dead_letters_by_job ON dead_letters (job_id, execution_id);
CREATE INDEX dead_letters_by_age ON dead_letters (died_at);

-- Who fires which partition: a lease for liveness only.
CREATE TABLE schedulers (
  scheduler_id uuid PRIMARY KEY,
  beats        bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

CREATE TABLE partitions (
  partition_id smallint PRIMARY KEY CHECK (partition_id BETWEEN 0 AND 63),
  scheduler_id uuid REFERENCES schedulers ON DELETE SET NULL
) WITH (fillfactor = 50);
INSERT INTO partitions (partition_id) SELECT generate_series(0, 63);

-- An execution's id is its batch's id, which ends in a zero byte, plus its position.
CREATE FUNCTION execution_at(batch uuid, place integer) RETURNS uuid
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  AS $$ SELECT (left(batch::text, 34) || lpad(to_hex(place), 2, '0'))::uuid $$;
CREATE FUNCTION batch_of(execution uuid) RETURNS uuid
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  AS $$ SELECT (left(execution::text, 34) || '00')::uuid $$;

CREATE FUNCTION from_ms(ms double precision) RETURNS timestamptz
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  AS $$ SELECT to_timestamp(ms / 1000.0)::timestamptz(3) $$;
CREATE FUNCTION to_ms(at timestamptz) RETURNS bigint
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  AS $$ SELECT round(extract(epoch FROM at) * 1000)::bigint $$;
-- To the millisecond, rounded down: never a moment that is still to come.
CREATE FUNCTION clock_ms() RETURNS timestamptz
  LANGUAGE sql VOLATILE PARALLEL SAFE
  AS $$ SELECT date_trunc('milliseconds', clock_timestamp())::timestamptz(3) $$;

-- Makes the partition of one UTC day and attaches it; does nothing when it is there. ATTACH takes a lock that lets
-- reads and writes of the other days go on.
CREATE FUNCTION make_day(parent text, day date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  child text := parent || '_' || to_char(day, 'YYYYMMDD');
BEGIN
  IF to_regclass(child) IS NOT NULL THEN RETURN false; END IF;
  PERFORM pg_advisory_xact_lock(7420, hashtext(child));
  -- From the catalog, not to_regclass again: who waited for an advisory lock has not heard of what was made meanwhile.
  IF EXISTS (SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = parent::regclass AND c.relname = child) THEN RETURN false; END IF;
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', child, parent);
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, child,
    day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
  RETURN true;
END $$;
SELECT make_day('slots', (clock_timestamp() AT TIME ZONE 'UTC')::date + n),
  make_day('attempts', (clock_timestamp() AT TIME ZONE 'UTC')::date + n) FROM generate_series(-1, 14) AS n;

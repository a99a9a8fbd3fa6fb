-- The schema that the migrations make, generated from the catalogue of a migrated PostgreSQL 18; never run by the program.
-- `UPDATE_DOCS=1 npm test -- server/src/postgres/schema/schema.test.ts` writes it again. Purposes and column notes come from
-- tables.ts beside it. Left out: the partitions of single days, and the rows that migrations insert.

-- ==== functions ====

CREATE FUNCTION execution_at(batch uuid, place integer)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$ SELECT (left(batch::text, 34) || lpad(to_hex(place), 2, '0'))::uuid $function$;

CREATE FUNCTION batch_of(execution uuid)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$ SELECT (left(execution::text, 34) || '00')::uuid $function$;

CREATE FUNCTION from_ms(ms double precision)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$ SELECT to_timestamp(ms / 1000.0)::timestamptz(3) $function$;

CREATE FUNCTION to_ms(at timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$ SELECT round(extract(epoch FROM at) * 1000)::bigint $function$;

CREATE FUNCTION clock_ms()
 RETURNS timestamp with time zone
 LANGUAGE sql
 PARALLEL SAFE
AS $function$ SELECT date_trunc('milliseconds', clock_timestamp())::timestamptz(3) $function$;

CREATE FUNCTION make_day(parent text, day date)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE FUNCTION first_id(at timestamp with time zone)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$ SELECT (lpad(to_hex(to_ms(at)), 12, '0') || '70008000000000000000')::uuid $function$;

CREATE FUNCTION new_key()
 RETURNS bytea
 LANGUAGE sql
AS $function$ SELECT sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) $function$;

CREATE FUNCTION note_run()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'DELETE' THEN
    INSERT INTO run_notes (run_id, what, job_id, execution_id, at, tenant_id)
    VALUES (OLD.run_id, 'end', OLD.job_id, OLD.execution_id, clock_ms(), OLD.tenant_id);
  ELSE
    -- A run that was resumed may have a row of this root already: the reader of the note gives it a run of its own.
    INSERT INTO run_roots (job_id, run_id, execution_id, operation_id)
    VALUES (NEW.job_id, NEW.run_id, NEW.execution_id, NEW.operation_id) ON CONFLICT DO NOTHING;
    INSERT INTO run_notes (run_id, what, job_id, execution_id, at, tenant_id)
    VALUES (NEW.run_id, 'root', NEW.job_id, NEW.execution_id, clock_ms(), NEW.tenant_id);
  END IF;
  RETURN NULL;
END $function$;

CREATE FUNCTION part_of(job uuid)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$ SELECT get_byte(uuid_send(job), 15) & 15 $function$;

CREATE FUNCTION error_shape(message text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$ SELECT regexp_replace(regexp_replace(left(message, 300), '"[^"]*"|`[^`]*`|(^|[ (=:,])''[^'']*''', '\1*', 'g'),
    '[0-9A-Za-z_-]*[0-9][0-9A-Za-z_-]*', '*', 'g') $function$;

CREATE FUNCTION recorded_until(lag_ms double precision)
 RETURNS timestamp with time zone
 LANGUAGE sql
AS $function$ SELECT date_trunc('milliseconds', least(m.now - lag_ms * interval '1 millisecond',
      min(a.xact_start) FILTER (WHERE a.xact_start > m.now - interval '1 minute'),
      CASE WHEN bool_or(a.pid IS NOT NULL AND coalesce(a.state, 'disabled') = 'disabled') THEN m.now - interval '1 minute' END))
    FROM (SELECT clock_timestamp() AS now) m
    LEFT JOIN pg_stat_activity a ON a.datname = current_database() AND a.pid <> pg_backend_pid()
      AND coalesce(a.backend_type, 'client backend') = 'client backend'
    GROUP BY m.now $function$;

CREATE FUNCTION refold_rollups(since timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE FUNCTION whole_xid(short xid, next bigint)
 RETURNS xid8
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$ SELECT (next - ((next - short::text::bigint) & 4294967295))::text::xid8 $function$;

CREATE FUNCTION refuse_older()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  -- Whoever makes such batches shares it: either sees the other.
  PERFORM pg_advisory_xact_lock(7420, 16);
  IF EXISTS (SELECT FROM batches WHERE kind = 'trigger') THEN
    RAISE EXCEPTION 'triggers wait in batches that this version of Carillon cannot read: run a newer one, or wait until they have run';
  END IF;
  RETURN NEW;
END $function$;

CREATE FUNCTION name_tenant_of_note()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  NEW.tenant_id := coalesce(
    (SELECT j.tenant_id FROM jobs j WHERE j.job_id = NEW.job_id), '00000000-0000-0000-0000-000000000000');
  RETURN NEW;
END $function$;

CREATE FUNCTION acting_tenant()
 RETURNS uuid
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ SELECT nullif(current_setting('carillon.tenant', true), '')::uuid $function$;

CREATE FUNCTION runs_of_job(job uuid, most integer)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE PARALLEL SAFE SECURITY DEFINER
 SET search_path TO '$user', 'public'
AS $function$ BEGIN RETURN QUERY SELECT g.run_id FROM graph_runs g WHERE g.job_ids @> ARRAY[job] LIMIT most; END $function$;

CREATE FUNCTION note_versions()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO version_notes AS note (job_id, due_at) VALUES (NEW.job_id, clock_ms())
  ON CONFLICT (job_id) DO UPDATE SET due_at = excluded.due_at WHERE note.due_at > excluded.due_at;
  RETURN NULL;
END $function$;

CREATE FUNCTION fence_tenants()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  LOCK TABLE deleted_tenants IN EXCLUSIVE MODE;
END $function$;

CREATE FUNCTION oldest_day_of_attempts()
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
AS $function$
BEGIN
  RETURN (
    SELECT min(to_date(right(c.relname, 8), 'YYYYMMDD'))::timestamp AT TIME ZONE 'UTC'
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'attempts'::regclass);
END $function$;

-- ==== access ====

-- The migrations that were applied, each with the checksum of its text.
CREATE TABLE schema_migrations (
  number integer NOT NULL,
  name text NOT NULL,
  checksum text NOT NULL,
  applied_at timestamptz(3) DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT schema_migrations_pkey PRIMARY KEY (number)
);

-- One row: the secret that all processes of an installation share.
CREATE TABLE installation (
  only_row boolean DEFAULT true NOT NULL,
  token_key bytea DEFAULT new_key() NOT NULL, -- signs the tokens with which a target reports on its attempt
  tiers_revision integer DEFAULT 0 NOT NULL,
  CONSTRAINT installation_pkey PRIMARY KEY (only_row),
  CONSTRAINT installation_only_row_check CHECK (only_row)
);

-- The limits and the fair-share weight that tenants of a tier have.
CREATE TABLE tiers (
  tier text NOT NULL,
  weight integer NOT NULL, -- share of the workers when several lanes have executions waiting
  history_days integer NOT NULL,
  payload_bytes_max integer DEFAULT 262144 NOT NULL,
  retries_max integer DEFAULT 100 NOT NULL,
  interval_seconds_min integer DEFAULT 1 NOT NULL,
  priority_best smallint DEFAULT 1 NOT NULL, -- the smallest priority number allowed; 1 is the most urgent
  dead_letters boolean DEFAULT true NOT NULL, -- whether the tenant sees its dead letters; they are kept either way
  requests_per_second integer, -- null: no limit
  host_calls_per_second integer, -- calls to one host; null: no limit
  active_jobs_max integer, -- null: no limit
  timeout_seconds_max integer, -- of an attempt; null: no limit
  executions_per_minute integer, -- two minutes' worth may come at once; null: no limit
  concurrent_executions_max integer, -- running at once; null: no limit
  waiting_executions_max integer, -- waiting to be started; null: no limit
  storage_bytes_max bigint, -- bundles, versions, payloads of waiting executions and logs; null: no limit
  CONSTRAINT tiers_pkey PRIMARY KEY (tier),
  CONSTRAINT tiers_active_jobs_max_check CHECK (active_jobs_max >= 0),
  CONSTRAINT tiers_concurrent_executions_max_check CHECK (concurrent_executions_max > 0),
  CONSTRAINT tiers_executions_per_minute_check CHECK (executions_per_minute > 0),
  CONSTRAINT tiers_history_days_check CHECK (history_days >= 1 AND history_days <= 365),
  CONSTRAINT tiers_host_calls_per_second_check CHECK (host_calls_per_second > 0),
  CONSTRAINT tiers_interval_seconds_min_check CHECK (interval_seconds_min > 0),
  CONSTRAINT tiers_payload_bytes_max_check CHECK (payload_bytes_max > 0),
  CONSTRAINT tiers_priority_best_check CHECK (priority_best >= 1 AND priority_best <= 10),
  CONSTRAINT tiers_requests_per_second_check CHECK (requests_per_second > 0),
  CONSTRAINT tiers_retries_max_check CHECK (retries_max >= 0),
  CONSTRAINT tiers_storage_bytes_max_check CHECK (storage_bytes_max > 0),
  CONSTRAINT tiers_timeout_seconds_max_check CHECK (timeout_seconds_max > 0),
  CONSTRAINT tiers_waiting_executions_max_check CHECK (waiting_executions_max > 0),
  CONSTRAINT tiers_weight_check CHECK (weight > 0)
);

-- A customer, its tier, and the keys that sign its callbacks.
CREATE TABLE tenants (
  tenant_id uuid NOT NULL,
  name text NOT NULL,
  tier text NOT NULL,
  created_at timestamptz(3) DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
  signing_key bytea DEFAULT new_key() NOT NULL,
  signing_key_at timestamptz(3) DEFAULT clock_ms() NOT NULL,
  previous_signing_key bytea, -- signs beside the current key until previous_until
  previous_until timestamptz(3),
  deleted_at timestamptz(3), -- null: it is not deleted
  purge_at timestamptz(3), -- when the purge begins, or began, by itself or by request
  purge_begun_at timestamptz(3), -- from then on it cannot be restored
  purged_at timestamptz(3), -- nothing else is left of it; the name is free
  restored_at timestamptz(3), -- the latest restore: slots of a paused job up to then are skipped
  CONSTRAINT tenants_pkey PRIMARY KEY (tenant_id),
  CONSTRAINT tenants_tier_fkey FOREIGN KEY (tier) REFERENCES tiers(tier)
);
CREATE UNIQUE INDEX tenants_by_name ON tenants (name) WHERE purged_at IS NULL;
CREATE INDEX tenants_deleted ON tenants (tenant_id) WHERE deleted_at IS NOT NULL;
ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON tenants USING (tenant_id = acting_tenant());

-- The tenants of which nothing fires. Fires and triggers read all of it: it is a fence.
CREATE TABLE deleted_tenants (
  tenant_id uuid NOT NULL,
  CONSTRAINT deleted_tenants_pkey PRIMARY KEY (tenant_id),
  CONSTRAINT deleted_tenants_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=100);
ALTER TABLE deleted_tenants ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON deleted_tenants USING (tenant_id = acting_tenant());

-- The work on the end of a tenant: its jobs paused or resumed, its rows kept or purged.
CREATE TABLE tenant_work (
  tenant_id uuid NOT NULL,
  stage text NOT NULL, -- stop, keep, restore or purge: see domain/tenants/tenant-end.ts
  operation_id uuid NOT NULL, -- the operation that shows its progress
  requested_by text NOT NULL,
  deleted_at timestamptz(3) NOT NULL, -- by which a restore knows the pauses of the delete
  cancel_running boolean NOT NULL,
  after text, -- how far the stage is
  failures integer DEFAULT 0 NOT NULL, -- steps that failed in a row
  next_at timestamptz(3) NOT NULL,
  CONSTRAINT tenant_work_pkey PRIMARY KEY (tenant_id),
  CONSTRAINT tenant_work_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  CONSTRAINT tenant_work_stage_check CHECK (stage = ANY (ARRAY['stop', 'keep', 'restore', 'purge']))
) WITH (fillfactor=50);
CREATE INDEX tenant_work_due ON tenant_work (next_at);
ALTER TABLE tenant_work ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON tenant_work USING (tenant_id = acting_tenant());

-- API keys as hashes, with their scopes. The key itself is stored nowhere.
CREATE TABLE api_keys (
  key_id uuid NOT NULL,
  tenant_id uuid, -- null: a key of an operator, for every tenant
  name text NOT NULL,
  prefix text NOT NULL, -- the first characters of the key, for lists
  hash bytea NOT NULL, -- SHA-256 of the key
  scopes text[] NOT NULL,
  created_at timestamptz(3) DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
  created_by text NOT NULL,
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  CONSTRAINT api_keys_pkey PRIMARY KEY (key_id),
  CONSTRAINT api_keys_hash_key UNIQUE (hash),
  CONSTRAINT api_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  CONSTRAINT api_keys_hash_check CHECK (octet_length(hash) = 32),
  CONSTRAINT api_keys_scopes_check CHECK (scopes <@ ARRAY['read', 'write', 'operate', 'admin'])
) WITH (fillfactor=80);
CREATE INDEX api_keys_by_owner ON api_keys (COALESCE(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid), key_id);
ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON api_keys USING (tenant_id = acting_tenant());

-- Open dashboard sessions, as hashes of their cookies.
CREATE TABLE sessions (
  hash bytea NOT NULL,
  key_hash bytea NOT NULL, -- the key that opened the session, which ends with it
  created_at timestamptz(3) DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  CONSTRAINT sessions_pkey PRIMARY KEY (hash),
  CONSTRAINT sessions_hash_check CHECK (octet_length(hash) = 32),
  CONSTRAINT sessions_key_hash_check CHECK (octet_length(key_hash) = 32)
);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
CREATE INDEX sessions_by_key ON sessions (key_hash, created_at, hash);

-- Processes with the role api, and the requests a second that tenants with a limit send to each.
CREATE TABLE api_processes (
  process_id uuid NOT NULL,
  beat_at timestamptz(3) NOT NULL,
  tenant_ids uuid[] NOT NULL, -- with rates: by position; at most 10,000
  rates real[] NOT NULL,
  CONSTRAINT api_processes_pkey PRIMARY KEY (process_id),
  CONSTRAINT api_processes_check CHECK (cardinality(tenant_ids) = cardinality(rates))
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=200);

-- One-time links that open a session, as hashes. Use deletes the row.
CREATE TABLE session_codes (
  hash bytea NOT NULL,
  key_hash bytea NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  CONSTRAINT session_codes_pkey PRIMARY KEY (hash),
  CONSTRAINT session_codes_hash_check CHECK (octet_length(hash) = 32),
  CONSTRAINT session_codes_key_hash_check CHECK (octet_length(key_hash) = 32)
);
CREATE INDEX session_codes_by_expiry ON session_codes (expires_at);

-- ==== jobs ====

-- One row a job: its current version, and the fields that lists search and filter by.
CREATE TABLE jobs (
  job_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  version integer NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  key text, -- the user's own name for the job, unique among undeleted jobs of the tenant
  name text NOT NULL,
  tags text[] NOT NULL,
  search text NOT NULL, -- name, key and tags in lower case
  created_by text DEFAULT 'operator' NOT NULL,
  updated_by text DEFAULT 'operator' NOT NULL,
  deleted_at timestamptz(3),
  paused_at timestamptz(3),
  pause_reason text,
  paused_by text,
  resume_at timestamptz(3), -- when a pause ends by itself
  CONSTRAINT jobs_pkey PRIMARY KEY (job_id),
  CONSTRAINT jobs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
CREATE INDEX jobs_by_change ON jobs (tenant_id, updated_at);
CREATE UNIQUE INDEX jobs_by_key ON jobs (tenant_id, key) WHERE key IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX jobs_by_tenant ON jobs (tenant_id, job_id);
CREATE INDEX jobs_paused_until ON jobs (tenant_id, resume_at) WHERE resume_at IS NOT NULL;
CREATE INDEX jobs_to_resume ON jobs (resume_at) WHERE resume_at IS NOT NULL;
CREATE TRIGGER job_deleted AFTER UPDATE OF deleted_at ON jobs FOR EACH ROW WHEN (old.deleted_at IS NULL AND new.deleted_at IS NOT NULL) EXECUTE FUNCTION note_versions();
ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON jobs USING (tenant_id = acting_tenant());

-- How many active jobs a tenant with a limit on them has. Locked by each change that makes one active.
CREATE TABLE active_jobs (
  tenant_id uuid NOT NULL,
  used integer NOT NULL,
  counted_at timestamptz(3) NOT NULL, -- when the jobs were last counted; since then `used` follows the changes
  CONSTRAINT active_jobs_pkey PRIMARY KEY (tenant_id),
  CONSTRAINT active_jobs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  CONSTRAINT active_jobs_used_check CHECK (used >= 0)
) WITH (fillfactor=50);
ALTER TABLE active_jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON active_jobs USING (tenant_id = acting_tenant());

-- Bytes that a tenant with a limit on storage stores besides logs. Locked for a moment by a process that draws a slice.
CREATE TABLE storage_usage (
  tenant_id uuid NOT NULL,
  artifact_bytes bigint DEFAULT 0 NOT NULL,
  version_bytes bigint DEFAULT 0 NOT NULL,
  payload_bytes bigint DEFAULT 0 NOT NULL,
  drawn_bytes bigint DEFAULT 0 NOT NULL, -- slices that processes took since the count began
  counted_at timestamptz(3) DEFAULT '-infinity'::timestamp with time zone NOT NULL, -- when the other columns were counted
  count_ms integer DEFAULT 0 NOT NULL, -- how long that took: a count is not taken more often than it is cheap
  counting_at timestamptz(3), -- when a count began that has not ended; after a minute it was given up
  CONSTRAINT storage_usage_pkey PRIMARY KEY (tenant_id),
  CONSTRAINT storage_usage_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  CONSTRAINT storage_usage_drawn_bytes_check CHECK (drawn_bytes >= 0)
) WITH (fillfactor=50);
ALTER TABLE storage_usage ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON storage_usage USING (tenant_id = acting_tenant());

-- Every definition that a job has had. json, not jsonb: a payload is sent byte for byte.
CREATE TABLE job_versions (
  job_id uuid NOT NULL,
  version integer NOT NULL,
  tenant_id uuid NOT NULL,
  name text NOT NULL,
  description text,
  tags text[] NOT NULL,
  schedule json NOT NULL,
  anchor_at timestamptz(3) NOT NULL, -- the instant from which an interval is counted
  execution json NOT NULL,
  retry_policy json NOT NULL,
  priority smallint NOT NULL,
  overlap_policy text NOT NULL,
  misfire_policy text NOT NULL,
  misfire_window_seconds integer,
  metadata json NOT NULL,
  jitter_seconds integer NOT NULL,
  concurrency_limit integer,
  concurrency_key text,
  concurrency_key_limit integer,
  calendars text[], -- the calendars that its exclusions name
  route text COLLATE "C" NOT NULL, -- the workers that may claim its executions: see domain/queue/route.ts
  own_rows boolean NOT NULL, -- its executions are rows of live from the start, never positions of a batch
  timeout_seconds double precision GENERATED ALWAYS AS ((execution ->> 'timeout_seconds')::double precision) STORED, -- a column of its own because every claim reads it
  total_timeout_seconds double precision GENERATED ALWAYS AS ((execution ->> 'total_timeout_seconds')::double precision) STORED,
  heartbeat_timeout_seconds double precision GENERATED ALWAYS AS ((execution ->> 'heartbeat_timeout_seconds')::double precision) STORED,
  depends_on json, -- [{"job_id": …, "on": …}, …]; null: it depends on nothing
  created_at timestamptz(3), -- null: the first version, made with the job, or one older than migration 11
  created_by text,
  implied_dst text[], -- the fields of schedule that nobody gave; null: an older program wrote the version, see domain/jobs/clock-rule.ts
  lean_execution json, -- the execution without its payload, for lists; null: it has none, or an older program wrote it
  payload_bytes integer, -- the length of the payload as JSON; 0: there is none; null: an older program wrote the version
  pruned_at timestamptz(3), -- its payload, metadata and description were dropped: see domain/jobs/kept-versions.ts
  CONSTRAINT job_versions_pkey PRIMARY KEY (job_id, version),
  CONSTRAINT job_versions_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs(job_id),
  CONSTRAINT job_versions_check CHECK ((concurrency_key IS NULL) = (concurrency_key_limit IS NULL)),
  CONSTRAINT job_versions_concurrency_key_limit_check CHECK (concurrency_key_limit > 0),
  CONSTRAINT job_versions_concurrency_limit_check CHECK (concurrency_limit > 0),
  CONSTRAINT job_versions_implied_dst_check CHECK (implied_dst <@ ARRAY['dst_gap', 'dst_fold']),
  CONSTRAINT job_versions_misfire_policy_check CHECK (misfire_policy = ANY (ARRAY['FIRE_ONCE', 'FIRE_ALL', 'SKIP'])),
  CONSTRAINT job_versions_overlap_policy_check CHECK (overlap_policy = ANY (ARRAY['ALLOW', 'SKIP', 'BUFFER_ONE', 'BUFFER_ALL', 'CANCEL_RUNNING'])),
  CONSTRAINT job_versions_priority_check CHECK (priority >= 1 AND priority <= 10)
);
CREATE INDEX job_versions_by_calendar ON job_versions USING gin (calendars) WHERE calendars IS NOT NULL;
CREATE INDEX job_versions_older ON job_versions (job_id, version) WHERE implied_dst IS NULL AND (schedule ->> 'type') = 'CRON' AND (schedule ->> 'timezone') <> 'UTC' AND (schedule ->> 'cron_expression') ~ '^\s*(\S*[*/,-]\S*|\S+\s+\S*[*/,-]\S*|\S*[*/,-]\S*\s+\S+)\s+(?!\*\s)\S+(\s+\S+){3,4}\s*$';
CREATE TRIGGER version_made AFTER INSERT ON job_versions FOR EACH ROW WHEN (new.version > 1) EXECUTE FUNCTION note_versions();
ALTER TABLE job_versions ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON job_versions USING (tenant_id = acting_tenant());

-- Jobs whose versions maintenance looks at, to prune the ones that nothing names.
CREATE TABLE version_notes (
  job_id uuid NOT NULL,
  after_version integer DEFAULT 0 NOT NULL, -- the look goes on behind it
  due_at timestamptz(3) NOT NULL, -- since when; after a look a day later, until the next change
  CONSTRAINT version_notes_pkey PRIMARY KEY (job_id),
  CONSTRAINT version_notes_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs(job_id)
);
CREATE INDEX version_notes_due ON version_notes (due_at);

-- Days and windows in which slots are skipped, by name.
CREATE TABLE calendars (
  tenant_id uuid NOT NULL,
  name text NOT NULL,
  description text,
  entries json NOT NULL,
  revision integer NOT NULL, -- grows with each change: a slot planned with an older revision is planned again
  created_at timestamptz(3) NOT NULL,
  created_by text NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  updated_by text NOT NULL,
  CONSTRAINT calendars_pkey PRIMARY KEY (tenant_id, name),
  CONSTRAINT calendars_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
ALTER TABLE calendars ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON calendars USING (tenant_id = acting_tenant());

-- A request that takes many transactions (pause all, redrive all, backfill), and its progress.
CREATE TABLE operations (
  operation_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  kind text NOT NULL,
  status text NOT NULL,
  filter json NOT NULL,
  options json NOT NULL,
  total integer NOT NULL,
  total_capped boolean NOT NULL,
  done integer DEFAULT 0 NOT NULL,
  skipped integer DEFAULT 0 NOT NULL,
  after text, -- how far it is: an id, or an instant for a backfill
  failures smallint DEFAULT 0 NOT NULL, -- steps that failed in a row
  error text,
  created_by text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  finished_at timestamptz(3),
  next_at timestamptz(3), -- when it goes on; null: it has ended
  CONSTRAINT operations_pkey PRIMARY KEY (operation_id),
  CONSTRAINT operations_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  CONSTRAINT operations_check CHECK ((next_at IS NOT NULL) = (status = 'RUNNING' AND NOT starts_with(kind, 'tenant_'))),
  CONSTRAINT operations_check1 CHECK ((finished_at IS NULL) = (status = 'RUNNING')),
  CONSTRAINT operations_kind_check CHECK (kind = ANY (ARRAY['pause', 'resume', 'delete', 'trigger', 'redrive', 'cancel', 'backfill', 'tenant_delete', 'tenant_restore', 'tenant_purge'])),
  CONSTRAINT operations_status_check CHECK (status = ANY (ARRAY['RUNNING', 'COMPLETED', 'CANCELLED', 'FAILED']))
) WITH (fillfactor=70);
CREATE INDEX operations_by_tenant ON operations (tenant_id, operation_id);
CREATE INDEX operations_due ON operations (next_at) WHERE status = 'RUNNING';
CREATE INDEX operations_over ON operations (finished_at) WHERE finished_at IS NOT NULL;
ALTER TABLE operations ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON operations USING (tenant_id = acting_tenant());

-- The answer to a request that carried an idempotency key, written with its effect.
CREATE TABLE idempotency_keys (
  tenant_id uuid NOT NULL,
  key text NOT NULL,
  fingerprint bytea NOT NULL, -- hash of the request: the same key with another body is refused
  status smallint NOT NULL,
  headers json NOT NULL,
  body text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (tenant_id, key),
  CONSTRAINT idempotency_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
ALTER TABLE idempotency_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON idempotency_keys USING (tenant_id = acting_tenant());
CREATE FUNCTION claim_key(tenant uuid, given text, OUT busy boolean, OUT kept idempotency_keys)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
BEGIN
  busy := NOT pg_try_advisory_xact_lock(hashtextextended(given, hashtextextended(tenant::text, 7420)));
  IF NOT busy THEN
    SELECT k.* INTO kept FROM idempotency_keys k WHERE k.tenant_id = tenant AND k.key = given;
  END IF;
END $function$;

-- Uploaded bundles of code, compressed, that the artifact executor runs.
CREATE TABLE artifacts (
  tenant_id uuid NOT NULL,
  artifact_id text NOT NULL,
  sha256 text NOT NULL,
  bytes integer NOT NULL,
  content bytea NOT NULL,
  created_at timestamptz(3) NOT NULL,
  created_by text NOT NULL,
  CONSTRAINT artifacts_pkey PRIMARY KEY (tenant_id, artifact_id),
  CONSTRAINT artifacts_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  CONSTRAINT artifacts_sha256_check CHECK (sha256 ~ '^[0-9a-f]{64}$')
);
ALTER TABLE artifacts ALTER content SET STORAGE EXTERNAL;
ALTER TABLE artifacts ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON artifacts USING (tenant_id = acting_tenant());

-- ==== scheduling ====

-- The next slot of each job, and the status of the job. A fire locks this row.
CREATE TABLE cursors (
  job_id uuid NOT NULL,
  partition_id smallint NOT NULL, -- hash of the job id, 0 to 63; one scheduler at a time fires a partition
  version integer NOT NULL,
  status text NOT NULL,
  slot_at timestamptz(3), -- nominal time of the next slot
  due_at timestamptz(3), -- when the slot fires: slot_at plus jitter
  decided_to timestamptz(3), -- every slot up to here is decided for good
  tenant_id uuid NOT NULL,
  scattered boolean DEFAULT false NOT NULL, -- the job allowed overlaps once: its executions may be in several batches
  runs integer DEFAULT 0 NOT NULL, -- slots that ran, counted while the schedule has a max_runs
  awaited_id uuid, -- the execution whose end decides the next slot (after_completion)
  graph_id uuid, -- the least job id of its graph; null: it has no dependencies
  depends boolean DEFAULT false NOT NULL, -- it runs after other jobs and never has a slot
  CONSTRAINT cursors_pkey PRIMARY KEY (job_id),
  CONSTRAINT cursors_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs(job_id),
  CONSTRAINT cursors_partition_id_check CHECK (partition_id >= 0 AND partition_id <= 63),
  CONSTRAINT cursors_status_check CHECK (status = ANY (ARRAY['ACTIVE', 'PAUSED', 'COMPLETED', 'DELETED']))
) WITH (fillfactor=80, autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX cursors_awaiting ON cursors (job_id) WHERE status = 'ACTIVE' AND slot_at IS NULL AND NOT depends;
CREATE INDEX cursors_awaiting_of_tenant ON cursors (tenant_id, job_id) WHERE status = 'ACTIVE' AND slot_at IS NULL AND NOT depends;
CREATE INDEX cursors_by_graph ON cursors (graph_id) WHERE graph_id IS NOT NULL;
CREATE INDEX cursors_by_status ON cursors (tenant_id, status, job_id);
CREATE INDEX cursors_due ON cursors (partition_id, due_at, job_id) WHERE status = 'ACTIVE' AND due_at IS NOT NULL;

-- One row a slot that fired or was skipped. The primary key makes a slot fire once.
CREATE TABLE slots (
  job_id uuid NOT NULL,
  slot timestamptz(3) NOT NULL,
  execution_id uuid NOT NULL, -- of a skipped slot: the execution that was in its way
  reason text, -- why it was skipped; null: it fired
  CONSTRAINT slots_pkey PRIMARY KEY (job_id, slot),
  CONSTRAINT slots_reason_check CHECK (reason = ANY (ARRAY['overlap', 'misfire', 'paused', 'edited', 'deleted', 'exclusion', 'quota']))
) PARTITION BY RANGE (slot);

-- Jobs that became due soon through a change; read by the scheduler of their partition.
CREATE TABLE changes (
  partition_id smallint NOT NULL,
  job_id uuid NOT NULL,
  CONSTRAINT changes_pkey PRIMARY KEY (partition_id, job_id)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000);

-- Slots that a job still owes after an outage, as one range a job.
CREATE TABLE catchups (
  job_id uuid NOT NULL,
  from_slot timestamptz(3) NOT NULL, -- after to_slot: none is owed any more, and the last ones are under way
  to_slot timestamptz(3) NOT NULL,
  pace_ms integer NOT NULL, -- least time between two owed slots
  next_at timestamptz(3) NOT NULL, -- the next owed slot runs no earlier
  joined integer DEFAULT 0 NOT NULL, -- on-time slots that have joined the owed ones
  CONSTRAINT catchups_pkey PRIMARY KEY (job_id),
  CONSTRAINT catchups_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs(job_id)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000);

-- Ranges of slots that were skipped for one reason under one version.
CREATE TABLE skips (
  job_id uuid NOT NULL,
  from_slot timestamptz(3) NOT NULL,
  to_slot timestamptz(3) NOT NULL,
  slot_count integer NOT NULL,
  reason text NOT NULL,
  version integer NOT NULL,
  changed_at timestamptz(3) DEFAULT clock_ms(), -- last write, to a minute; null: before migration 9
  paused_at timestamptz(3), -- of the pause that skipped them; null: skipped otherwise, or by an older version
  paused_by text,
  pause_reason text,
  CONSTRAINT skips_pkey PRIMARY KEY (job_id, from_slot),
  CONSTRAINT skips_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs(job_id),
  CONSTRAINT skips_reason_check CHECK (reason = ANY (ARRAY['overlap', 'misfire', 'paused', 'edited', 'deleted', 'exclusion', 'quota'])),
  CONSTRAINT skips_slot_count_check CHECK (slot_count > 0)
) WITH (fillfactor=80);
CREATE INDEX skips_changed ON skips (changed_at) WHERE reason = ANY (ARRAY['overlap', 'misfire']);

-- Running scheduler processes. The row is the right to fire; beats is its lease.
CREATE TABLE schedulers (
  scheduler_id uuid NOT NULL,
  beats bigint DEFAULT 0 NOT NULL,
  generation smallint DEFAULT 0 NOT NULL, -- the batch format that the program reads: see connection/generation.ts
  CONSTRAINT schedulers_pkey PRIMARY KEY (scheduler_id)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=200);
CREATE TRIGGER refuse_older BEFORE INSERT ON schedulers FOR EACH ROW WHEN (new.generation < 1) EXECUTE FUNCTION refuse_older();

-- The scheduler that fires each of the 64 partitions.
CREATE TABLE partitions (
  partition_id smallint NOT NULL,
  scheduler_id uuid,
  CONSTRAINT partitions_pkey PRIMARY KEY (partition_id),
  CONSTRAINT partitions_scheduler_id_fkey FOREIGN KEY (scheduler_id) REFERENCES schedulers(scheduler_id) ON DELETE SET NULL,
  CONSTRAINT partitions_partition_id_check CHECK (partition_id >= 0 AND partition_id <= 63)
) WITH (fillfactor=50);

-- ==== queue ====

-- Running workers. The row is the right to act; beats is its lease.
CREATE TABLE workers (
  worker_id uuid NOT NULL,
  host text NOT NULL,
  version text NOT NULL,
  labels text[] NOT NULL,
  capacity integer NOT NULL,
  current_load integer DEFAULT 0 NOT NULL, -- as the worker counts it, for programs of an older version
  status text DEFAULT 'ACTIVE' NOT NULL,
  beats bigint DEFAULT 0 NOT NULL,
  registered_at timestamptz(3) DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
  beat_at timestamptz(3) DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
  tenant_id uuid, -- null: a worker of this installation; else the tenant whose handlers it runs
  executors text[] NOT NULL, -- kinds of execution it runs
  handlers text[] NOT NULL, -- names of the handlers it has
  generation smallint DEFAULT 0 NOT NULL, -- the batch format that the program reads: see connection/generation.ts
  port integer, -- where its process listens for HTTP; null: it does not, or does not say
  CONSTRAINT workers_pkey PRIMARY KEY (worker_id),
  CONSTRAINT workers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  CONSTRAINT workers_capacity_check CHECK (capacity > 0),
  CONSTRAINT workers_current_load_check CHECK (current_load >= 0),
  CONSTRAINT workers_port_check CHECK (port >= 1 AND port <= 65535),
  CONSTRAINT workers_status_check CHECK (status = ANY (ARRAY['ACTIVE', 'DRAINING']))
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=200);
CREATE INDEX workers_by_generation ON workers (generation);
CREATE INDEX workers_by_tenant ON workers (tenant_id, worker_id);
CREATE TRIGGER refuse_older BEFORE INSERT ON workers FOR EACH ROW WHEN (new.generation < 1) EXECUTE FUNCTION refuse_older();
ALTER TABLE workers ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON workers USING (tenant_id = acting_tenant());

-- Workers that died or left, for people to see. A row gives no right to act.
CREATE TABLE former_workers (
  worker_id uuid NOT NULL,
  tenant_id uuid, -- null: a worker of this installation
  host text NOT NULL,
  port integer,
  version text NOT NULL,
  labels text[] NOT NULL,
  executors text[] NOT NULL,
  handlers text[] NOT NULL,
  capacity integer NOT NULL,
  registered_at timestamptz(3) NOT NULL,
  beat_at timestamptz(3) NOT NULL,
  status text NOT NULL,
  ended_at timestamptz(3) NOT NULL, -- when it was declared dead or left
  shown_until timestamptz(3) NOT NULL, -- from then on it is neither shown nor kept
  CONSTRAINT former_workers_pkey PRIMARY KEY (worker_id),
  CONSTRAINT former_workers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  CONSTRAINT former_workers_status_check CHECK (status = ANY (ARRAY['DEAD', 'LEFT']))
);
CREATE INDEX former_workers_by_tenant ON former_workers (tenant_id, status, worker_id);
CREATE INDEX former_workers_shown_until ON former_workers (shown_until);
ALTER TABLE former_workers ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON former_workers USING (tenant_id = acting_tenant());

-- The queue of first attempts on the fast path: up to 100 executions in parallel arrays.
CREATE TABLE batches (
  batch_id uuid NOT NULL, -- ends in a zero byte; an execution id is the batch id plus its position
  route text COLLATE "C" NOT NULL, -- the workers that may claim it
  lane text NOT NULL, -- 'shared', or the id of a busy tenant: see domain/queue/lane.ts
  priority smallint NOT NULL,
  enqueued_at timestamptz(3) NOT NULL,
  rank timestamptz(3) NOT NULL, -- order within a lane: enqueued_at plus 60 s a priority level
  worker_id uuid, -- null: it waits
  fence integer DEFAULT 0 NOT NULL, -- grows with each claim; a write under a claim must name it
  positions smallint[] NOT NULL, -- positions that are left, in order if the batch has payloads; parallel to the next three arrays
  job_ids uuid[] NOT NULL,
  versions integer[] NOT NULL,
  slots_ms bigint[] NOT NULL,
  cancels jsonb, -- cancelled positions of a claimed batch, each with its message
  claimed_at timestamptz(3),
  kind text DEFAULT 'slot' NOT NULL,
  payloads json, -- of triggers: payloads by original position; null: the payload of the job
  CONSTRAINT batches_pkey PRIMARY KEY (batch_id),
  CONSTRAINT batches_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES workers(worker_id),
  CONSTRAINT batches_kind_check CHECK (kind = ANY (ARRAY['slot', 'trigger']))
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=500, autovacuum_analyze_scale_factor=0, autovacuum_analyze_threshold=5000);
CREATE INDEX batches_by_job ON batches USING gin (job_ids) WITH (gin_pending_list_limit='256');
CREATE INDEX batches_claimed ON batches (claimed_at) WHERE claimed_at IS NOT NULL;
CREATE INDEX batches_held ON batches (worker_id) WHERE worker_id IS NOT NULL;
CREATE INDEX batches_waiting ON batches (route, lane, rank) WHERE worker_id IS NULL;

-- Executions that a tenant with a limit was charged for and has not earned back: see decision 31.
CREATE TABLE execution_budgets (
  tenant_id uuid NOT NULL,
  spent double precision NOT NULL, -- executions that were charged and not earned back by counted_at
  counted_at timestamptz(3) NOT NULL,
  CONSTRAINT execution_budgets_pkey PRIMARY KEY (tenant_id),
  CONSTRAINT execution_budgets_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  CONSTRAINT execution_budgets_spent_check CHECK (spent >= 0::double precision)
) WITH (fillfactor=50);
ALTER TABLE execution_budgets ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON execution_budgets USING (tenant_id = acting_tenant());

-- One row an active execution that is not a position of a batch: retries, triggers, limits, graph nodes.
CREATE TABLE live (
  execution_id uuid NOT NULL,
  job_id uuid NOT NULL,
  version integer NOT NULL,
  tenant_id uuid NOT NULL,
  kind text NOT NULL,
  state text NOT NULL, -- see docs/internals/states.md
  route text COLLATE "C" NOT NULL, -- the workers that may claim it
  lane text NOT NULL, -- 'shared', or the id of a busy tenant
  priority smallint NOT NULL,
  slot timestamptz(3) NOT NULL,
  enqueued_at timestamptz(3) NOT NULL,
  rank timestamptz(3) NOT NULL, -- order within a lane: enqueued_at plus 60 s a priority level
  ready_at timestamptz(3), -- of a retrying one: when its next attempt may start
  worker_id uuid,
  fence integer DEFAULT 0 NOT NULL, -- grows with each claim; a write under a claim must name it
  attempt smallint DEFAULT 0 NOT NULL, -- number of the latest attempt: a claim adds one, a return without a start takes it back
  losses smallint DEFAULT 0 NOT NULL, -- attempts that were lost with their worker
  host text, -- the host whose limit it waits for, and its tenant; 'suspect': lost with a worker more than once; 'quota': never charged, and waits for the budget of its tenant
  started_at timestamptz(3),
  payload_override json,
  idempotency_key text,
  retry_of uuid, -- the execution that a retry or redrive repeats
  concurrency_key text, -- at most key_limit executions that are not waiting have the same key
  key_limit integer,
  operation_id uuid, -- the operation that made it
  cancelled_at timestamptz(3), -- of a running one: it ends cancelled regardless of the report
  cancel_message text,
  caller_id uuid, -- the worker that made the call whose result is awaited
  deadline timestamptz(3), -- when the attempt times out
  silent_at timestamptz(3), -- when the attempt times out unless it sends a heartbeat
  total_deadline timestamptz(3), -- when the execution times out, over all attempts
  heard_at timestamptz(3), -- last report of the attempt
  progress real,
  progress_text text,
  checkpoint json, -- kept for the next attempt
  run_id uuid, -- the graph run it belongs to; null: none
  skip_at timestamptz(3), -- of a slot that waits for a budget: when it is skipped instead; null: never
  CONSTRAINT live_pkey PRIMARY KEY (execution_id),
  CONSTRAINT live_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES workers(worker_id),
  CONSTRAINT live_check CHECK ((worker_id IS NOT NULL) = (state = 'running')),
  CONSTRAINT live_check1 CHECK ((ready_at IS NOT NULL) = (state = 'retrying')),
  CONSTRAINT live_kind_check CHECK (kind = ANY (ARRAY['slot', 'trigger', 'retry', 'redrive', 'backfill', 'dependency'])),
  CONSTRAINT live_progress_check CHECK (progress >= 0::double precision AND progress <= 1::double precision),
  CONSTRAINT live_state_check CHECK (state = ANY (ARRAY['blocked', 'waiting', 'ready', 'running', 'awaiting', 'retrying']))
) WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000, autovacuum_analyze_scale_factor=0, autovacuum_analyze_threshold=5000);
CREATE INDEX live_awaiting ON live (tenant_id, caller_id) WHERE state = 'awaiting';
CREATE INDEX live_between_attempts ON live (execution_id) WHERE worker_id IS NULL AND attempt > 0;
CREATE INDEX live_blocked ON live (job_id, execution_id) WHERE state = 'blocked';
CREATE INDEX live_by_job ON live (job_id, execution_id) WHERE state <> 'blocked';
CREATE INDEX live_by_key ON live (tenant_id, concurrency_key) WHERE concurrency_key IS NOT NULL AND state <> 'waiting';
CREATE INDEX live_by_operation ON live (operation_id) WHERE operation_id IS NOT NULL;
CREATE INDEX live_by_run ON live (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX live_cancelled ON live (worker_id) WHERE cancelled_at IS NOT NULL;
CREATE INDEX live_for_budget ON live (tenant_id, rank) WHERE state = 'ready' AND host = 'quota';
CREATE INDEX live_for_host ON live (route, host, rank) WHERE state = 'ready' AND host IS NOT NULL;
CREATE INDEX live_held ON live (worker_id) WHERE worker_id IS NOT NULL;
CREATE INDEX live_hosts ON live (route, tenant_id, host) WHERE state = 'ready' AND host IS NOT NULL AND host <> 'quota';
CREATE INDEX live_overdue ON live (LEAST(deadline, silent_at, total_deadline)) WHERE num_nonnulls(deadline, silent_at, total_deadline) > 0;
CREATE INDEX live_pending ON live (tenant_id) WHERE state = ANY (ARRAY['ready', 'waiting']);
CREATE INDEX live_ready ON live (route, lane, rank) WHERE state = 'ready' AND host IS NULL;
CREATE INDEX live_retrying ON live (ready_at) WHERE state = 'retrying';
CREATE INDEX live_skipped_at ON live (skip_at) WHERE "left"(state, 5) = 'ready' AND host = 'quota';
CREATE INDEX live_waiting ON live (job_id, rank) WHERE state = 'waiting';
CREATE INDEX live_waiting_for_key ON live (rank) WHERE state = 'waiting' AND concurrency_key IS NOT NULL;
CREATE INDEX live_waiting_of_tenant ON live (tenant_id, job_id) WHERE state = 'waiting';
CREATE TRIGGER live_ended AFTER DELETE ON live FOR EACH ROW WHEN (old.run_id IS NOT NULL) EXECUTE FUNCTION note_run();
CREATE TRIGGER live_started AFTER INSERT ON live FOR EACH ROW WHEN (new.run_id IS NOT NULL AND (new.kind = ANY (ARRAY['slot', 'trigger', 'backfill']))) EXECUTE FUNCTION note_run();

-- ==== graphs ====

-- Current dependencies between undeleted jobs. A lock per tenant keeps them free of cycles.
CREATE TABLE job_edges (
  child_id uuid NOT NULL,
  parent_id uuid NOT NULL,
  rule text NOT NULL,
  CONSTRAINT job_edges_pkey PRIMARY KEY (child_id, parent_id),
  CONSTRAINT job_edges_child_id_fkey FOREIGN KEY (child_id) REFERENCES jobs(job_id),
  CONSTRAINT job_edges_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES jobs(job_id),
  CONSTRAINT job_edges_check CHECK (child_id <> parent_id),
  CONSTRAINT job_edges_rule_check CHECK (rule = ANY (ARRAY['success', 'completion', 'failure']))
);
CREATE INDEX job_edges_by_parent ON job_edges (parent_id);

-- A run of a graph: its nodes in parallel arrays, and its edges as they were at its start.
CREATE TABLE graph_runs (
  run_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  kind text NOT NULL,
  slot timestamptz(3) NOT NULL,
  status text NOT NULL,
  cancel_message text,
  job_ids uuid[] NOT NULL,
  roles text NOT NULL, -- a letter a node: ROLE_LETTERS in domain/graphs/graph-run.ts
  states text NOT NULL, -- a letter a node: NODE_LETTERS in domain/graphs/graph-run.ts
  unfired boolean NOT NULL, -- a root of it is still to fire
  versions integer[] NOT NULL,
  execution_ids uuid[] NOT NULL, -- null: a root that has not fired, or an outside node that never ended
  edges json NOT NULL, -- [[parent, child, rule], …] by index in the arrays
  resumes smallint DEFAULT 0 NOT NULL, -- how often it was resumed
  replaced json DEFAULT '[]'::json NOT NULL, -- [[index, execution id, resume], …]: executions that a resume replaced
  created_at timestamptz(3) NOT NULL,
  finished_at timestamptz(3),
  CONSTRAINT graph_runs_pkey PRIMARY KEY (run_id),
  CONSTRAINT graph_runs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  CONSTRAINT graph_runs_check CHECK ((finished_at IS NULL) = (status = ANY (ARRAY['RUNNING', 'CANCELLING']))),
  CONSTRAINT graph_runs_kind_check CHECK (kind = ANY (ARRAY['slot', 'trigger', 'backfill'])),
  CONSTRAINT graph_runs_status_check CHECK (status = ANY (ARRAY['RUNNING', 'CANCELLING', 'SUCCEEDED', 'FAILED', 'CANCELLED']))
) WITH (fillfactor=70);
CREATE INDEX graph_runs_by_job ON graph_runs USING gin (job_ids);
CREATE INDEX graph_runs_by_status ON graph_runs (tenant_id, status, run_id);
CREATE INDEX graph_runs_by_tenant ON graph_runs (tenant_id, run_id);
CREATE INDEX graph_runs_over ON graph_runs (tenant_id, finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX graph_runs_unfired ON graph_runs (run_id) WHERE unfired;
ALTER TABLE graph_runs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON graph_runs USING (tenant_id = acting_tenant());

-- Unfinished runs of each root job, for its overlap policy.
CREATE TABLE run_roots (
  job_id uuid NOT NULL,
  run_id uuid NOT NULL,
  execution_id uuid NOT NULL,
  operation_id uuid,
  CONSTRAINT run_roots_pkey PRIMARY KEY (job_id, run_id)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000);
CREATE INDEX run_roots_by_operation ON run_roots (operation_id) WHERE operation_id IS NOT NULL;
CREATE INDEX run_roots_by_run ON run_roots (run_id);

-- Starts, ends and cancels in graph runs that no step has handled yet. Insert-only, so an ending execution never waits.
CREATE TABLE run_notes (
  note_id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  run_id uuid NOT NULL,
  what text NOT NULL,
  job_id uuid NOT NULL,
  execution_id uuid NOT NULL,
  at timestamptz(3) NOT NULL,
  message text,
  tenant_id uuid NOT NULL,
  CONSTRAINT run_notes_pkey PRIMARY KEY (note_id),
  CONSTRAINT run_notes_what_check CHECK (what = ANY (ARRAY['root', 'end', 'cancel']))
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000);
CREATE INDEX run_notes_by_run ON run_notes (run_id, note_id);
CREATE INDEX run_notes_by_tenant ON run_notes (tenant_id, run_id, note_id);
CREATE TRIGGER run_notes_tenant BEFORE INSERT ON run_notes FOR EACH ROW WHEN (new.tenant_id IS NULL) EXECUTE FUNCTION name_tenant_of_note();
ALTER TABLE run_notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON run_notes USING (tenant_id = acting_tenant());

-- ==== history ====

-- Every attempt that ended, by the UTC day of its record. Exactly one row of an execution is final.
CREATE TABLE attempts (
  recorded_at timestamptz(3) NOT NULL,
  tenant_id uuid NOT NULL,
  job_id uuid NOT NULL,
  version integer NOT NULL,
  execution_id uuid NOT NULL,
  attempt smallint NOT NULL,
  final boolean NOT NULL, -- the execution ended with it
  kind text NOT NULL, -- why the execution was made
  outcome text NOT NULL,
  slot timestamptz(3) NOT NULL, -- of a trigger: when it was triggered
  enqueued_at timestamptz(3) NOT NULL,
  started_at timestamptz(3),
  finished_at timestamptz(3),
  duration_ms integer,
  worker_id uuid,
  http_status smallint,
  error_type text,
  error_message text,
  preview text, -- the beginning of the response
  dead_letter boolean DEFAULT false NOT NULL,
  payload_override json,
  idempotency_key text,
  retry_of uuid,
  run_id uuid,
  skip_reason text, -- of a graph node that was skipped
  cpu_ms bigint, -- of a command or a bundle
  bytes_sent integer, -- of an HTTP request, with its head
  bytes_received integer, -- of its answer, likewise
  CONSTRAINT attempts_kind_check CHECK (kind = ANY (ARRAY['slot', 'trigger', 'retry', 'redrive', 'backfill', 'dependency'])),
  CONSTRAINT attempts_outcome_check CHECK (outcome = ANY (ARRAY['succeeded', 'failed', 'timed_out', 'lost', 'cancelled', 'skipped'])),
  CONSTRAINT attempts_skip_reason_check CHECK (skip_reason = ANY (ARRAY['dependency', 'paused', 'deleted', 'quota']))
) PARTITION BY RANGE (recorded_at);
CREATE INDEX attempts_by_job ON ONLY attempts (job_id, execution_id);
CREATE INDEX attempts_by_tenant ON ONLY attempts (tenant_id, execution_id);
CREATE INDEX attempts_by_time ON ONLY attempts USING brin (GREATEST(recorded_at, '-infinity'::timestamp with time zone)) WITH (pages_per_range='16', autosummarize='on');
CREATE INDEX attempts_failed ON ONLY attempts (tenant_id, execution_id) WHERE outcome <> 'succeeded' AND final;
CREATE INDEX attempts_failed_by_job ON ONLY attempts (job_id, execution_id) WHERE outcome <> 'succeeded' AND final;
CREATE INDEX attempts_late ON ONLY attempts (tenant_id, execution_id) WHERE (enqueued_at - slot) > '00:01:00'::interval AND final;
CREATE INDEX attempts_late_by_job ON ONLY attempts (job_id, execution_id) WHERE (enqueued_at - slot) > '00:01:00'::interval AND final;
ALTER TABLE attempts ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON attempts USING (tenant_id = acting_tenant());

-- Executions that failed for good, with the errors of all attempts and the payload.
CREATE TABLE dead_letters (
  execution_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  job_id uuid NOT NULL,
  job_name text NOT NULL,
  reason text NOT NULL,
  died_at timestamptz(3) NOT NULL,
  attempts smallint NOT NULL,
  errors json NOT NULL,
  payload json,
  idempotency_key text,
  kind text NOT NULL,
  slot timestamptz(3) NOT NULL,
  redrive_at timestamptz(3), -- when it is redriven by itself; null: never
  edited_at timestamptz(3), -- last change of its payload
  run_id uuid,
  CONSTRAINT dead_letters_pkey PRIMARY KEY (execution_id),
  CONSTRAINT dead_letters_reason_check CHECK (reason = ANY (ARRAY['MAX_RETRIES_EXCEEDED', 'NOT_RETRYABLE', 'WORKER_LOST', 'TOTAL_TIMEOUT']))
);
CREATE INDEX dead_letters_by_age ON dead_letters (died_at);
CREATE INDEX dead_letters_by_job ON dead_letters (job_id, execution_id);
CREATE INDEX dead_letters_by_tenant ON dead_letters (tenant_id, execution_id);
CREATE INDEX dead_letters_by_tenant_age ON dead_letters (tenant_id, died_at);
CREATE INDEX dead_letters_to_redrive ON dead_letters (redrive_at) WHERE redrive_at IS NOT NULL;
ALTER TABLE dead_letters ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON dead_letters USING (tenant_id = acting_tenant());

-- Lines that attempts wrote, one row a request.
CREATE TABLE logs (
  tenant_id uuid NOT NULL,
  execution_id uuid NOT NULL,
  attempt smallint NOT NULL,
  first_line integer NOT NULL, -- number of its first line in the attempt
  line_count integer NOT NULL,
  bytes integer NOT NULL,
  lines json NOT NULL, -- [[at, level, message], …]
  CONSTRAINT logs_pkey PRIMARY KEY (execution_id, attempt, first_line)
);
ALTER TABLE logs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON logs USING (tenant_id = acting_tenant());

-- Bytes of the logs of tenants with a limit on storage. A table of logs is too large to sum.
CREATE TABLE log_days (
  tenant_id uuid NOT NULL,
  day date NOT NULL, -- the UTC day on which the execution was made
  bytes bigint NOT NULL,
  CONSTRAINT log_days_pkey PRIMARY KEY (tenant_id, day),
  CONSTRAINT log_days_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
) WITH (fillfactor=50);
CREATE INDEX log_days_by_day ON log_days (day);
ALTER TABLE log_days ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON log_days USING (tenant_id = acting_tenant());

-- Ended executions of each job and day, for the statistics of a job.
CREATE TABLE job_days (
  job_id uuid NOT NULL,
  day date NOT NULL,
  succeeded integer NOT NULL,
  failed integer NOT NULL,
  timed_out integer NOT NULL,
  timed integer NOT NULL,
  duration_ms bigint NOT NULL,
  last_execution_id uuid NOT NULL,
  last_outcome text NOT NULL,
  last_slot timestamptz(3),
  CONSTRAINT job_days_pkey PRIMARY KEY (job_id, day),
  CONSTRAINT job_days_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs(job_id)
) WITH (fillfactor=70);
CREATE INDEX job_days_by_day ON job_days USING brin (day);

-- How far job_days is folded from attempts.
CREATE TABLE stats_feed (
  folded_to timestamptz(3) NOT NULL
);

-- How far each of the five folds of the rollups below has come.
CREATE TABLE rollup_feeds (
  feed text NOT NULL,
  folded_to timestamptz(3) NOT NULL,
  CONSTRAINT rollup_feeds_pkey PRIMARY KEY (feed),
  CONSTRAINT rollup_feeds_feed_check CHECK (feed = ANY (ARRAY['tenant', 'job', 'day', 'skip', 'health']))
);

-- The processes with the role history; for liveness only: while one beats, schedulers leave folding to it.
CREATE TABLE history_processes (
  process_id uuid NOT NULL,
  beat_at timestamptz(3) NOT NULL,
  CONSTRAINT history_processes_pkey PRIMARY KEY (process_id)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=200);

-- Counts of a tenant by minute, hour and day.
CREATE TABLE tenant_activity (
  tenant_id uuid NOT NULL,
  step integer NOT NULL, -- length in seconds
  at timestamptz(3) NOT NULL,
  succeeded integer NOT NULL,
  failed integer NOT NULL,
  timed_out integer NOT NULL,
  cancelled integer NOT NULL,
  skipped integer NOT NULL,
  attempts integer NOT NULL,
  retries integer NOT NULL,
  dead_letters integer NOT NULL,
  duration_ms bigint NOT NULL,
  duration_ms_max integer NOT NULL,
  started integer NOT NULL, -- first attempts of slots and triggers
  within_1s integer NOT NULL,
  within_5s integer NOT NULL,
  late_ms_max bigint NOT NULL,
  peak integer NOT NULL, -- most ends in one minute of it
  peak_at timestamptz(3) NOT NULL,
  CONSTRAINT tenant_activity_pkey PRIMARY KEY (tenant_id, step, at),
  CONSTRAINT tenant_activity_step_check CHECK (step = ANY (ARRAY[60, 3600, 86400]))
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX tenant_activity_by_age ON tenant_activity (step, at);
ALTER TABLE tenant_activity ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON tenant_activity USING (tenant_id = acting_tenant());

-- Counts of a job by hour and day.
CREATE TABLE job_activity (
  job_id uuid NOT NULL,
  step integer NOT NULL, -- length in seconds
  at timestamptz(3) NOT NULL,
  succeeded integer NOT NULL,
  failed integer NOT NULL,
  timed_out integer NOT NULL,
  cancelled integer NOT NULL,
  skipped integer NOT NULL,
  attempts integer NOT NULL,
  retries integer NOT NULL,
  dead_letters integer NOT NULL,
  duration_ms bigint NOT NULL,
  duration_ms_max integer NOT NULL,
  started integer NOT NULL,
  within_1s integer NOT NULL,
  within_5s integer NOT NULL,
  late_ms_max bigint NOT NULL,
  CONSTRAINT job_activity_pkey PRIMARY KEY (job_id, step, at),
  CONSTRAINT job_activity_step_check CHECK (step = ANY (ARRAY[3600, 86400]))
) WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0.05);
CREATE INDEX job_activity_by_age ON job_activity (step, at);

-- How each job goes: its last execution that counts, and the failures in a row up to it.
CREATE TABLE job_health (
  job_id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  execution_id uuid NOT NULL, -- the latest, by id, that succeeded, failed or timed out; history may have dropped it
  outcome text NOT NULL,
  finished_at timestamptz(3) NOT NULL,
  http_status smallint,
  error_type text,
  error_message text, -- its first 300 characters
  failures integer NOT NULL, -- in a row, up to the last one
  failing_since timestamptz(3), -- end of the first of them
  recovered_at timestamptz(3), -- the last success that took more than one attempt
  CONSTRAINT job_health_pkey PRIMARY KEY (job_id),
  CONSTRAINT job_health_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs(job_id),
  CONSTRAINT job_health_check CHECK ((failures > 0) = (outcome <> 'succeeded') AND (failures > 0) = (failing_since IS NOT NULL)),
  CONSTRAINT job_health_outcome_check CHECK (outcome = ANY (ARRAY['succeeded', 'failed', 'timed_out', 'lost']))
) WITH (fillfactor=70);
CREATE INDEX job_health_failing ON job_health (tenant_id, failing_since, job_id) WHERE failing_since IS NOT NULL;
CREATE INDEX job_health_recovered ON job_health (tenant_id, recovered_at, job_id) WHERE recovered_at IS NOT NULL;
ALTER TABLE job_health ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON job_health USING (tenant_id = acting_tenant());

-- Failed attempts grouped by job and shape of the message, in ten minutes each.
CREATE TABLE failure_groups (
  tenant_id uuid NOT NULL,
  at timestamptz(3) NOT NULL,
  job_id uuid NOT NULL,
  error_type text NOT NULL,
  http_status smallint NOT NULL, -- 0: none
  shape uuid NOT NULL, -- hash of the message without numbers, ids and quoted parts
  message text NOT NULL,
  failures integer NOT NULL,
  first_at timestamptz(3) NOT NULL,
  last_at timestamptz(3) NOT NULL,
  last_execution_id uuid NOT NULL,
  CONSTRAINT failure_groups_pkey PRIMARY KEY (tenant_id, at, job_id, error_type, http_status, shape)
) WITH (fillfactor=70);
CREATE INDEX failure_groups_by_age ON failure_groups (at);
ALTER TABLE failure_groups ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON failure_groups USING (tenant_id = acting_tenant());

-- Slots that began more than five seconds late or were skipped.
CREATE TABLE late_slots (
  tenant_id uuid NOT NULL,
  slot timestamptz(3) NOT NULL, -- of skipped slots: the latest of slot_count
  job_id uuid NOT NULL,
  kind text NOT NULL,
  late_ms bigint,
  reason text,
  slot_count integer NOT NULL,
  execution_id uuid,
  CONSTRAINT late_slots_pkey PRIMARY KEY (tenant_id, slot, job_id, kind),
  CONSTRAINT late_slots_kind_check CHECK (kind = ANY (ARRAY['late', 'skipped']))
);
CREATE INDEX late_slots_by_age ON late_slots (slot);
CREATE INDEX late_slots_by_job ON late_slots (job_id, slot);
ALTER TABLE late_slots ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON late_slots USING (tenant_id = acting_tenant());

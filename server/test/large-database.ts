// A large database, for the tests that look at plans.
import { defaultTenantId } from '../src/domain/tenants/tenant.ts'

// 100,000 jobs with a version, a cursor and a slot each; 2,000 batches of 100, a tenth of them held; 20,000 rows in
// live, of which 2,000 wait, 2,000 retry and 6,000 are held; 200,000 attempts over four days; 500 jobs owe slots.
// 5,000 jobs fail, 10,000 have recovered.
// The first 20,000 jobs are chains of 1,000, each a graph. 10,000 jobs have a run under way that nobody has looked at.
export const fillDatabase = `
  INSERT INTO workers (worker_id, host, version, labels, capacity, executors, handlers)
    SELECT md5('worker' || n)::uuid, 'a', '1', '{}', 100, '{http}', '{}' FROM generate_series(0, 9) AS n;
  INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at, name, tags, search)
    SELECT md5(n::text)::uuid, '${defaultTenantId}', 1, now(), now(), 'a', ARRAY['t' || n % 100], 'a' || n
    FROM generate_series(1, 100000) AS n;
  INSERT INTO job_versions (job_id, version, tenant_id, name, tags, schedule, anchor_at, execution, retry_policy,
    priority, overlap_policy, misfire_policy, metadata, jitter_seconds, route, own_rows)
    SELECT job_id, 1, tenant_id, 'a', '{}', '{"type":"CRON"}', now(), json_build_object('payload', repeat('x', 200),
        'timeout_seconds', 30), '{}', 5, 'SKIP', 'FIRE_ONCE', '{}', 0, 'server', false FROM jobs;
  INSERT INTO cursors (job_id, tenant_id, partition_id, version, status, slot_at, due_at)
    SELECT job_id, '${defaultTenantId}', get_byte(uuid_send(job_id), 15) % 64, 1, 'ACTIVE', at, at FROM (
      SELECT job_id, date_trunc('second', now()) + random() * interval '1 day' AS at FROM jobs) j;
  UPDATE cursors c SET graph_id = md5((n / 1000)::text)::uuid, depends = n % 1000 > 0,
    slot_at = CASE WHEN n % 1000 = 0 THEN c.slot_at END, due_at = CASE WHEN n % 1000 = 0 THEN c.due_at END
    FROM generate_series(1000, 20999) AS n WHERE c.job_id = md5(n::text)::uuid;
  INSERT INTO job_edges SELECT md5(n::text)::uuid, md5((n - 1)::text)::uuid, 'success' FROM generate_series(1000, 20999) AS n
    WHERE n % 1000 > 0;
  INSERT INTO slots SELECT job_id, date_trunc('second', now()) - (n % 80000) * interval '1 second',
    execution_at(md5('batch' || n / 100)::uuid, (n % 100)::int)
    FROM (SELECT job_id, row_number() OVER (ORDER BY job_id) - 1 AS n FROM jobs) j;
  INSERT INTO batches (batch_id, route, lane, priority, enqueued_at, rank, worker_id, claimed_at, fence, positions,
    job_ids, versions, slots_ms)
    SELECT batch_of(md5('batch' || b)::uuid), 'server', 'shared', 5, now(), now() + b * interval '1 ms',
      CASE WHEN b % 10 = 0 THEN md5('worker' || b % 7)::uuid END,
      CASE WHEN b % 10 = 0 THEN now() - b * interval '1 s' END, 1, array_agg(n % 100 ORDER BY n),
      array_agg(job_id ORDER BY n), array_agg(1), array_agg(1)
    FROM (SELECT job_id, n, n / 100 AS b FROM (
      SELECT job_id, row_number() OVER (ORDER BY job_id) - 1 AS n FROM jobs, generate_series(1, 2)) j) j GROUP BY b;
  INSERT INTO live (execution_id, job_id, version, tenant_id, kind, state, route, lane, priority, slot, enqueued_at, rank,
    ready_at, worker_id, fence, attempt, deadline, concurrency_key, key_limit)
    SELECT md5('live' || n)::uuid, md5(n::text)::uuid, 1, '${defaultTenantId}', 'trigger', state, 'server', 'shared', 5,
      now(), now(), now() + n * interval '1 ms', CASE state WHEN 'retrying' THEN now() + n * interval '1 s' END,
      CASE state WHEN 'running' THEN md5('worker' || n % 7)::uuid END, 1, 1,
      CASE state WHEN 'running' THEN now() + n * interval '1 s' END,
      CASE WHEN n % 100 < 10 THEN 'k' || n % 10 END, CASE WHEN n % 100 < 10 THEN 5 END
    FROM (SELECT n, (ARRAY['ready', 'ready', 'ready', 'ready', 'ready', 'running', 'running', 'running', 'waiting',
      'retrying'])[n % 10 + 1] AS state FROM generate_series(1, 20000) AS n) n;
  INSERT INTO graph_runs (run_id, tenant_id, kind, slot, status, job_ids, roles, states, unfired, versions, execution_ids,
    edges, created_at)
    SELECT md5('run' || n)::uuid, '${defaultTenantId}', 'slot', now(), 'RUNNING', ARRAY[md5(n::text)::uuid], 'r', 'g', false,
      '{1}', ARRAY[md5('live' || n)::uuid], '[]', now() FROM generate_series(1, 10000) AS n;
  INSERT INTO run_roots SELECT md5(n::text)::uuid, md5('run' || n)::uuid, md5('live' || n)::uuid,
    CASE WHEN n % 10 = 0 THEN md5((n / 100)::text)::uuid END FROM generate_series(1, 10000) AS n;
  INSERT INTO run_notes (run_id, what, job_id, execution_id, at)
    SELECT md5('run' || n)::uuid, 'root', md5(n::text)::uuid, md5('live' || n)::uuid, now()
    FROM generate_series(1, 10000) AS n;
  SELECT make_day('attempts', (now() AT TIME ZONE 'UTC')::date - n) FROM generate_series(2, 4) AS n;
  INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
    enqueued_at)
    SELECT at, '${defaultTenantId}', md5((n % 100000 + 1)::text)::uuid, 1,
      (lpad(to_hex(to_ms(at)), 12, '0') || left(md5(n::text), 20))::uuid, 1, true, 'slot',
      CASE WHEN n % 20 = 0 THEN 'failed' ELSE 'succeeded' END, at, at
    FROM (SELECT n, now() - n * interval '1.6 s' AS at FROM generate_series(1, 200000) AS n) n;
  INSERT INTO job_health SELECT md5(n::text)::uuid, '${defaultTenantId}', md5('live' || n)::uuid,
      CASE WHEN n % 20 = 0 THEN 'failed' ELSE 'succeeded' END, now(), 200, NULL, NULL, CASE WHEN n % 20 = 0 THEN 3 ELSE 0 END,
      CASE WHEN n % 20 = 0 THEN now() - n * interval '1 s' END, CASE WHEN n % 10 = 1 THEN now() - n * interval '1 s' END
    FROM generate_series(1, 100000) AS n;
  INSERT INTO catchups SELECT md5(n::text)::uuid, now() - interval '1 minute', now(), 0, now() FROM generate_series(1, 500) AS n;
  INSERT INTO changes SELECT partition_id, job_id FROM cursors LIMIT 2000`

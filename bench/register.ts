// Jobs and history written into the database in one go: through the API a million would take minutes.
import { join } from 'node:path'
import pg from 'pg'

export async function connectTo(dataDir: string): Promise<pg.Client> {
  const client = new pg.Client({ host: join(dataDir, 'pg'), user: 'postgres', database: 'carillon' })
  // When what it is used for fails the server stops first: that error is the one to be seen.
  client.on('error', () => {})
  await client.connect()
  return client
}

/** Daily jobs of which none is due within an hour. Every hundredth has the tag `rare`. */
export async function registerJobs(client: pg.Client, jobs: number): Promise<void> {
  await client.query(
    `WITH made AS MATERIALIZED (
      SELECT (lpad(to_hex(to_ms(now()) - n), 12, '0') || '7' || left(md5(n::text), 19))::uuid AS id, n,
        'bench ' || n AS name, CASE WHEN n % 100 = 0 THEN '{bench,rare}' ELSE '{bench}' END::text[] AS tags,
        date_trunc('second', now() + interval '1 hour' + n * interval '0.8 seconds') AS at
      FROM generate_series(1, $1::int) AS n
    ), job AS (
      INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at, name, tags, search)
      SELECT id, tenant_id, 1, now(), now(), made.name, tags, made.name || E'\\n\\n' || array_to_string(tags, E'\\n')
      FROM made CROSS JOIN tenants
    ), version AS (
      INSERT INTO job_versions (job_id, version, tenant_id, name, tags, schedule, anchor_at, execution, retry_policy,
        priority, overlap_policy, misfire_policy, metadata, jitter_seconds, route, own_rows)
      SELECT id, 1, tenant_id, made.name, tags,
        json_build_object('type', 'CRON', 'cron_expression', to_char(at AT TIME ZONE 'UTC', 'SS MI HH24 * * *')), now(),
        '{"type":"http","callback_url":"http://127.0.0.1:9/","method":"POST","headers":{},"timeout_seconds":10}',
        '{"max_retries":0,"backoff":"FIXED","initial_delay_ms":1000,"max_delay_ms":1000}', 5, 'SKIP', 'FIRE_ONCE', '{}', 0,
        'server', false
      FROM made CROSS JOIN tenants
    )
    INSERT INTO cursors (job_id, tenant_id, partition_id, version, status, slot_at, due_at)
    SELECT id, tenant_id, abs(hashtext(id::text)) % 64, 1, 'ACTIVE', at, at FROM made CROSS JOIN tenants`,
    [jobs],
  )
  await client.query('ANALYZE')
}

/**
 * Ended executions of the registered jobs over the last `days`, oldest first, as workers would have recorded them. A
 * tenth belongs to one job; one in a hundred failed.
 */
export async function recordAttempts(client: pg.Client, attempts: number, days: number): Promise<string> {
  await client.query(
    `SELECT make_day('attempts', (now() AT TIME ZONE 'UTC')::date - n) FROM generate_series(0, $1::int) AS n`,
    [days],
  )
  const { rows } = await client.query(
    `WITH job AS MATERIALIZED (SELECT array_agg(job_id) AS ids, count(*)::int AS size FROM (
      SELECT job_id FROM jobs ORDER BY job_id LIMIT 10000) j
    ), made AS (
      INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
        enqueued_at, started_at, finished_at, duration_ms, worker_id, http_status, error_type, error_message, preview)
      SELECT at, tenant_id, CASE WHEN n % 10 = 0 THEN ids[1] ELSE ids[1 + n % size] END, 1,
        (lpad(to_hex(to_ms(at)), 12, '0') || '7' || left(md5(n::text), 19))::uuid, 1, true, 'slot',
        CASE WHEN n % 100 = 0 THEN 'failed' ELSE 'succeeded' END, date_trunc('second', at), at, at,
        at + interval '20 ms', 20, md5('worker')::uuid, CASE WHEN n % 100 = 0 THEN 503 ELSE 200 END,
        CASE WHEN n % 100 = 0 THEN 'HTTP_ERROR' END, CASE WHEN n % 100 = 0 THEN 'The target answered 503.' END,
        '{"status":"ok"}'
      FROM (
        SELECT n, date_trunc('milliseconds', now()) - ($1 - n) * ($2 * interval '1 day' / $1) AS at
        FROM generate_series(1, $1::int) AS n ORDER BY n
      ) n CROSS JOIN job CROSS JOIN tenants
    )
    SELECT ids[1] AS job_id FROM job`,
    [attempts, days],
  )
  // As the fold would have done day by day.
  await client.query(
    `INSERT INTO job_days SELECT job_id, (recorded_at AT TIME ZONE 'UTC')::date, count(*) FILTER (WHERE outcome = 'succeeded'),
      count(*) FILTER (WHERE outcome = 'failed'), 0, count(*), sum(duration_ms),
      (array_agg(execution_id ORDER BY execution_id DESC))[1], (array_agg(outcome ORDER BY execution_id DESC))[1], max(slot)
    FROM attempts GROUP BY 1, 2`,
  )
  await client.query('UPDATE stats_feed SET folded_to = clock_ms()')
  await client.query('VACUUM ANALYZE attempts')
  return rows[0].job_id
}

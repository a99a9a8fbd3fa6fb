// Jobs and history by the million, written piece by piece: one statement for all of it would hold the memory of all of it,
// and nobody would see how far it is.
import type pg from 'pg'
import { say } from './output.ts'

const jobsAtOnce = 50_000
/** Rows are written together with the rows they refer to: a lookup for each reference would take most of the time. */
const trustRows = 'SET session_replication_role = replica'
const checkRows = 'SET session_replication_role = DEFAULT'
/** How often people hear how far it is. */
const sayEveryMs = 10_000

/**
 * Jobs that run once a year, evenly over the year but for the next hour: however many there are, none of them is due while
 * something is measured.
 */
export async function registerYearly(client: pg.Client, jobs: number): Promise<void> {
  const progress = sayProgress('jobs registered', jobs)
  await client.query(trustRows)
  for (let from = 1; from <= jobs; from += jobsAtOnce) {
    const to = Math.min(jobs, from + jobsAtOnce - 1)
    await client.query(insertYearly, [from, to, jobs])
    progress(to)
  }
  await client.query(checkRows)
  // Autovacuum would do the same while something is measured.
  await client.query('VACUUM (ANALYZE) jobs, job_versions, cursors')
  await client.query('CHECKPOINT')
}

// $1 to $2 of $3. The ids say that the jobs were made one after the other, a millisecond apart.
const insertYearly = `
  WITH made AS MATERIALIZED (
    SELECT (lpad(to_hex(to_ms(now()) - $3::int + n), 12, '0') || '7' || left(md5(n::text), 19))::uuid AS id, tenant_id,
      'yearly ' || n AS name, '{bench}'::text[] AS tags,
      date_trunc('second', now() + interval '1 hour' + (n::float8 / $3) * interval '364 days') AS at
    FROM generate_series($1::int, $2::int) AS n CROSS JOIN tenants
  ), job AS (
    INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at, name, tags, search)
    SELECT id, tenant_id, 1, now(), now(), name, tags, name || E'\\n\\n' || array_to_string(tags, E'\\n') FROM made
  ), version AS (
    INSERT INTO job_versions (job_id, version, tenant_id, name, tags, schedule, anchor_at, execution, retry_policy,
      priority, overlap_policy, misfire_policy, metadata, jitter_seconds, route, own_rows)
    SELECT id, 1, tenant_id, name, tags,
      json_build_object('type', 'CRON', 'cron_expression', to_char(at AT TIME ZONE 'UTC', 'SS MI HH24 DD MM *')), now(),
      '{"type":"http","callback_url":"http://127.0.0.1:9/","method":"POST","headers":{},"timeout_seconds":10}',
      '{"max_retries":3,"backoff":"EXPONENTIAL","initial_delay_ms":1000,"max_delay_ms":60000}', 5, 'SKIP', 'FIRE_ONCE',
      '{}', 0, 'server', false
    FROM made
  )
  INSERT INTO cursors (job_id, tenant_id, partition_id, version, status, slot_at, due_at)
  SELECT id, tenant_id, abs(hashtext(id::text)) % 64, 1, 'ACTIVE', at, at FROM made`

/** Of each job; one of them has a tenth of everything. */
const jobsWithHistory = 10_000

export interface Recorded {
  jobIds: string[]
  /** The one with a tenth of everything. */
  busyJobId: string
}

/**
 * Ended executions of 10,000 registered jobs over `days` whole days, the last of them the day before yesterday, as workers
 * would have recorded them; one in a hundred failed.
 */
export async function recordHistory(
  client: pg.Client,
  { attempts, days }: { attempts: number; days: number },
): Promise<Recorded> {
  const { rows } = await client.query<{ job_id: string }>(
    'SELECT job_id FROM jobs ORDER BY job_id LIMIT $1',
    [jobsWithHistory],
  )
  const jobIds = rows.map(({ job_id: id }) => id)
  const progress = sayProgress('attempts recorded', attempts)
  await client.query(trustRows)
  await client.query(`SET maintenance_work_mem = '512MB'; SET max_parallel_workers_per_gather = 0`)
  const perDay = Math.ceil(attempts / days)
  for (let day = days + 1; day >= 2; day--) {
    await recordDay(client, { day, perDay, jobIds })
    progress((days + 2 - day) * perDay)
  }
  await client.query(checkRows)
  await client.query('UPDATE stats_feed SET folded_to = clock_ms()')
  await client.query('VACUUM (ANALYZE) attempts, job_days, job_activity, tenant_activity')
  await client.query('CHECKPOINT')
  return { jobIds, busyJobId: jobIds[0]! }
}

/** The day's table gets its indexes when it is attached: built at once they take a tenth of the time. */
async function recordDay(
  client: pg.Client,
  { day, perDay, jobIds }: { day: number; perDay: number; jobIds: readonly string[] },
): Promise<void> {
  const { rows } = await client.query<{ name: string; from: string; to: string }>(
    `SELECT 'attempts_' || to_char(day, 'YYYYMMDD') AS name, day || ' 00:00:00+00' AS from, (day + 1) || ' 00:00:00+00' AS to
    FROM (SELECT (now() AT TIME ZONE 'UTC')::date - $1::int AS day) d`,
    [day],
  )
  const { name, from, to } = rows[0]!
  await client.query(`CREATE TABLE ${name} (LIKE attempts INCLUDING DEFAULTS INCLUDING CONSTRAINTS)`)
  await client.query(
    `INSERT INTO ${name} (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
      enqueued_at, started_at, finished_at, duration_ms, worker_id, http_status, error_type, error_message, preview)
    SELECT at, tenant_id, ($3::uuid[])[CASE WHEN n % 10 = 0 THEN 1 ELSE 1 + (n / 10 * 9 + n % 10) % $4 END], 1,
      (lpad(to_hex(to_ms(at)), 12, '0') || '7' || left(md5(n::text), 19))::uuid, 1, true, 'slot',
      CASE WHEN n % 100 = 0 THEN 'failed' ELSE 'succeeded' END, date_trunc('second', at), at, at, at + interval '20 ms',
      20, md5('worker')::uuid, CASE WHEN n % 100 = 0 THEN 503 ELSE 200 END, CASE WHEN n % 100 = 0 THEN 'HTTP_ERROR' END,
      CASE WHEN n % 100 = 0 THEN 'The target answered 503.' END, '{"status":"ok"}'
    FROM (
      SELECT n, date_trunc('milliseconds', $1::timestamptz + (n - 1) * (interval '1 day' / $2::int)) AS at
      FROM generate_series(1, $2::int) AS n
    ) n CROSS JOIN tenants`,
    [from, perDay, jobIds, jobIds.length],
  )
  // As the folds would have done. The last of a job is the last that was written.
  await client.query(
    `INSERT INTO job_days SELECT job_id, $1::date, count(*) FILTER (WHERE outcome = 'succeeded'),
      count(*) FILTER (WHERE outcome = 'failed'), 0, count(*), sum(duration_ms), (array_agg(execution_id))[count(*)],
      (array_agg(outcome))[count(*)], max(slot)
    FROM ${name} GROUP BY job_id`,
    [from],
  )
  await client.query(
    `INSERT INTO job_activity (job_id, step, at, succeeded, failed, timed_out, cancelled, skipped, attempts, retries, dead_letters,
      duration_ms, duration_ms_max, started, within_1s, within_5s, late_ms_max)
    SELECT job_id, 86400, $1, succeeded, failed, 0, 0, 0, succeeded + failed, 0, 0, duration_ms, 20, succeeded + failed,
      succeeded + failed, succeeded + failed, 999
    FROM job_days WHERE day = $1::timestamptz::date`,
    [from],
  )
  await client.query(
    `INSERT INTO tenant_activity
    SELECT tenant_id, 86400, $1, sum(succeeded), sum(failed), 0, 0, 0, sum(attempts), 0, 0, sum(a.duration_ms), 20, sum(started),
      sum(within_1s), sum(within_5s), 999, sum(attempts) / 1440, $1
    FROM job_activity a JOIN jobs USING (job_id) WHERE step = 86400 AND at = $1 GROUP BY tenant_id`,
    [from],
  )
  await client.query(`ALTER TABLE attempts ATTACH PARTITION ${name} FOR VALUES FROM ('${from}') TO ('${to}')`)
}

function sayProgress(what: string, all: number): (done: number) => void {
  let saidMs = performance.now()
  return (done) => {
    if (performance.now() - saidMs < sayEveryMs) return
    saidMs = performance.now()
    say(`  ${done.toLocaleString('en')} of ${all.toLocaleString('en')} ${what}`)
  }
}

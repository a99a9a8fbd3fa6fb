// Jobs written into the database in one go: through the API a million would take minutes.
import { join } from 'node:path'
import pg from 'pg'

export async function connectTo(dataDir: string): Promise<pg.Client> {
  const client = new pg.Client({ host: join(dataDir, 'pg'), user: 'postgres', database: 'carillon' })
  // When a measurement fails, the server stops first: the error of the measurement is the one to show.
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

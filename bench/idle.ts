// npm run bench -- idle [--quick]: what the whole process tree, PostgreSQL included, costs while nothing is due: with
// no job, and with 100,000 registered ones. Goals: below 2 % and below 3 % of one core.
import { join } from 'node:path'
import pg from 'pg'
import { makeDataDir, startCarillon } from './carillon.ts'
import { wait } from './load.ts'
import { figure } from './output.ts'
import { measureTree } from './process-tree.ts'

const settleMs = 15_000

export async function run({ quick }: { quick: boolean }): Promise<void> {
  const seconds = quick ? 20 : 60
  const rows: Record<string, unknown>[] = []
  await using dataDir = await makeDataDir()
  await using carillon = await startCarillon(dataDir.path)
  for (const jobs of [0, 100_000]) {
    if (jobs > 0) await register(join(dataDir.path, 'pg'), jobs)
    await wait(settleMs)
    const before = measureTree(carillon.child.pid!)
    await wait(seconds * 1_000)
    const after = measureTree(carillon.child.pid!)
    const percent = (100 * (after.cpuSeconds - before.cpuSeconds)) / seconds
    const cpu = `${percent.toFixed(2)} % of one core`
    rows.push({ 'registered jobs': jobs, cpu, processes: after.processes, memory: `${after.memoryMb} MB` })
    figure({ bench: 'idle', metric: `cpu_with_${jobs}_jobs`, value: percent, unit: '%' })
  }
  console.table(rows)
}

/** Daily jobs of which none is due within an hour, written in one go: through the API it would take minutes. */
async function register(socketDir: string, jobs: number): Promise<void> {
  const client = new pg.Client({ host: socketDir, user: 'postgres', database: 'carillon' })
  await client.connect()
  await client.query(
    `WITH made AS (
      SELECT gen_random_uuid() AS id, n, date_trunc('second', now()) + interval '1 hour' + n * interval '0.8 seconds' AS at
      FROM generate_series(1, $1::int) AS n
    ), job AS (
      INSERT INTO jobs SELECT id, tenant_id, 1, now(), now() FROM made CROSS JOIN tenants
    ), version AS (
      INSERT INTO job_versions SELECT id, 1, tenant_id, 'bench ' || n, NULL, '{}',
        json_build_object('type', 'CRON', 'cron_expression', to_char(at AT TIME ZONE 'UTC', 'SS MI HH24 * * *')), now(),
        '{"type":"http","callback_url":"http://127.0.0.1:9/","method":"POST","headers":{},"timeout_seconds":10}',
        '{"max_retries":0,"backoff":"FIXED","initial_delay_ms":1000,"max_delay_ms":1000}', 5, 'SKIP', 'FIRE_ONCE', NULL, '{}'
      FROM made CROSS JOIN tenants
    )
    INSERT INTO cursors SELECT id, abs(hashtext(id::text)) % 64, 1, 'ACTIVE', date_trunc('second', at),
      date_trunc('second', at), NULL FROM made`,
    [jobs],
  )
  await client.query('ANALYZE')
  await client.end()
}

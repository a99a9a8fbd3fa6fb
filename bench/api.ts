// npm run bench -- api [--quick]: how fast jobs are created, alone and with idempotency keys, and how fast lists and
// history answer with 100,000 jobs and a million attempts. Client, API and PostgreSQL share the machine.
import { randomUUID } from 'node:crypto'
import { type Carillon, makeDataDir, startCarillon } from './carillon.ts'
import { figure } from './output.ts'
import { connectTo, recordAttempts, registerJobs } from './register.ts'
import { type Call, measureCalls, type Timing } from './requests.ts'

const jobs = 100_000
const attempts = 1_000_000

export async function run({ quick }: { quick: boolean }): Promise<void> {
  const seconds = quick ? 4 : 15
  await using dataDir = await makeDataDir()
  await using carillon = await startCarillon(dataDir.path)
  const rows: Record<string, unknown>[] = []
  const show = (what: string, metric: string, timing: Timing) => {
    const [perS, p50, p99, max] = [timing.perS, timing.p50, timing.p99, timing.max].map((value) =>
      value.toFixed(1),
    )
    rows.push({ what, 'per s': perS, 'p50 ms': p50, 'p99 ms': p99, 'max ms': max })
    figure({ bench: 'api', metric: `${metric}_per_s`, value: timing.perS, unit: '1/s' })
    figure({ bench: 'api', metric: `${metric}_p99`, value: timing.p99, unit: 'ms' })
  }
  const post = (at: number, next: (index: number) => Call, perS?: number) =>
    measureCalls(carillon, { seconds, at, expected: 201, ...(perS !== undefined && { perS }) }, next)
  await post(32, creation)
  show('create, 64 at once', 'create', await post(64, creation))
  show('create, 64 at once, with keys', 'create_with_key', await post(64, keyed))
  show('create, 64 at once', 'create_again', await post(64, creation))
  show('create, 1,000 a second', 'create_1000', await post(64, creation, 1_000))

  const client = await connectTo(dataDir.path)
  await registerJobs(client, jobs)
  const busyJob = await recordAttempts(client, attempts, 6)
  await client.end()
  for (const [what, metric, path] of reads(busyJob)) {
    await measureCalls(carillon, { seconds: 1, at: 8, expected: 200 }, () => ({ method: 'GET', path }))
    const timing = await measureCalls(carillon, { seconds: seconds / 2, at: 8, expected: 200 }, () => ({
      method: 'GET',
      path,
    }))
    show(`${what}, 8 at once`, metric, timing)
  }
  show('history of any job, 500 a second', 'history_500', await anyHistory(carillon, seconds))
  console.table(rows)
}

function creation(index: number): Call {
  const body = JSON.stringify({
    name: `bench ${index}`,
    schedule: { type: 'CRON', cron_expression: '0 10 * * *', timezone: 'America/New_York' },
    execution: { callback_url: 'http://127.0.0.1:9/', payload: { report_type: 'daily_sales' } },
    tags: ['reporting', 'finance'],
  })
  return { method: 'POST', path: '/jobs', body }
}

function keyed(index: number): Call {
  return { ...creation(index), headers: { 'idempotency-key': randomUUID() } }
}

function reads(busyJob: string): [string, string, string][] {
  return [
    ['list of jobs', 'jobs', '/jobs'],
    ['jobs by tag (1 %)', 'jobs_by_tag', '/jobs?tag=rare'],
    ['jobs by text (1 in 100,000)', 'jobs_by_text', '/jobs?q=bench%2099999'],
    ['jobs by status', 'jobs_by_status', '/jobs?status=ACTIVE'],
    ['a job with stats over 100,000', 'job', `/jobs/${busyJob}`],
    ['history of a job of 100,000', 'history', `/jobs/${busyJob}/executions`],
    ['its failed ones', 'history_failed', `/jobs/${busyJob}/executions?status=FAILED`],
    ['all executions', 'executions', '/executions'],
    ['all failed ones', 'executions_failed', '/executions?status=FAILED'],
    ['executions by text', 'executions_by_text', '/executions?q=answered%20503'],
    ['executions by tag', 'executions_by_tag', '/executions?tag=rare'],
  ]
}

/** Of 200 jobs with about 90 executions each. */
async function anyHistory(carillon: Carillon, seconds: number): Promise<Timing> {
  const response = await fetch(`${carillon.url}/api/v1/executions?limit=200`, {
    headers: { authorization: `Bearer ${carillon.key}` },
  })
  const { executions } = (await response.json()) as { executions: { job_id: string }[] }
  const ids = executions.map(({ job_id: id }) => id)
  return measureCalls(carillon, { seconds, at: 32, perS: 500, expected: 200 }, (index) => ({
    method: 'GET',
    path: `/jobs/${ids[index % ids.length]}/executions`,
  }))
}

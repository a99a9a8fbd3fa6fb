// `--demo` after a cut, and with options for measuring.
import assert from 'node:assert/strict'
import test from 'node:test'
import { connect, createDatabase } from '../database.ts'
import { openApi, type Page, prepareDemo } from './demo-program.ts'

test('a demo that was cut short is begun anew, and nothing is there twice', {
  timeout: 300_000,
}, async (t) => {
  const { start } = await prepareDemo(t)
  const { socketDir, database } = await createDatabase(t, { template: 'empty' })
  const own = {
    CARILLON_DATABASE_URL: `postgres://carillon@localhost/${database}?host=${encodeURIComponent(socketDir)}`,
  }
  const first = start([], own)
  const url = await first.ready()
  const made = await fetch(`${url}/api/v1/jobs/by-key/fuel`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${first.key()}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ name: 'Compare fuel prices', schedule: 'every 30 minutes' },
      execution: { callback_url: `${url}/echo` },
    }),
  })
  assert.equal(made.status, 201)
  const { job_id: jobId } = (await made.json()) as { job_id: string }
  first.child.kill('SIGTERM')
  assert.equal(await first.exit, 0, first.said())
  const client = await connect(t, { socketDir, database })
  // The part of its past that exists when the process dies.
  await client.query(
    `INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot, enqueued_at)
    SELECT now() - interval '1 hour', tenant_id, job_id, 1, first_id(now() - interval '1 hour'), 1, true, 'slot', 'lost',
      now() - interval '1 hour', now() - interval '1 hour' FROM jobs WHERE job_id = $1`,
    [jobId],
  )
  const second = start(['--demo'], own)
  await second.ready()
  assert.match(second.stdout, /Demo: 40 jobs of 2 tenants/)
  const { rows } = await client.query<{ jobs: number; lost: number; days: number }>(
    `SELECT (SELECT count(*) FROM jobs)::int AS jobs,
      count(*) FILTER (WHERE outcome = 'lost')::int AS lost, count(DISTINCT slot::date)::int AS days
    FROM attempts WHERE job_id = $1`,
    [jobId],
  )
  assert.equal(rows[0]!.jobs, 40)
  assert.equal(rows[0]!.lost, 0)
  assert(rows[0]!.days >= 30, `${rows[0]!.days} days`)
})

test('a demo for measuring has as many jobs and about as many attempts as asked for', {
  timeout: 300_000,
}, async (t) => {
  const { start } = await prepareDemo(t)
  const program = start(['--demo', '--demo-jobs', '300', '--demo-attempts', '20000'])
  const api = await openApi(program)
  type Jobs = { jobs: { job_id: string; schedule: { next_run_at: string } }[] }
  const copies = await api.get<Jobs & Page>('/jobs?q=copy%20calm&limit=200')
  const busy = await api.get<Jobs & Page>('/jobs?q=copy%20busy&limit=200')
  assert.equal(copies.pagination.total + busy.pagination.total, 260)
  assert.match(program.stdout, /Demo: [\d,]+ attempts of about 20,000/)
  const [copy] = busy.jobs
  // The recorded slots match the schedule: nothing is left over, nothing lies between.
  type Slots = { slots: { scheduled_time: string; status: string }[] }
  const { slots } = await api.get<Slots>(`/jobs/${copy!.job_id}/slots`)
  const times = slots
    .filter(({ status }) => status !== 'SCHEDULED')
    .map((slot) => Date.parse(slot.scheduled_time))
  const gaps = new Set(times.slice(1).map((time, i) => time - times[i]!))
  assert(times.length > 20, `${times.length} slots`)
  assert.equal(gaps.size, 1, `gaps: ${[...gaps].join(', ')}`)
})

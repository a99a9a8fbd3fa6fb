import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, setupApp } from '../../../test/app.ts'
import { useDatabase } from '../../../test/database.ts'
import { withoutHealth } from '../../../test/without-health.ts'
import { sharedLane } from '../../domain/queue/lane.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import { UuidV7 } from '../../lib/id.ts'
import { realRandom } from '../../lib/random.ts'
import { DatabaseClock } from '../../lib/time/clock.ts'
import { startClock } from '../../postgres/connection/clock-sync.ts'
import { openPostgresStore } from '../../postgres/open-store.ts'
import { executionsCancelled } from '../../telemetry/events.ts'

const execution = { callback_url: 'http://127.0.0.1:7420/echo' }
const request = { name: 'a', key: 'k', schedule: '@daily', execution }

/** On PostgreSQL, which can undo writes. */
async function setup(t: TestContext) {
  const { database, client } = await useDatabase(t)
  const clock = new DatabaseClock()
  await startClock(database, clock)
  const ids = new UuidV7(() => clock.databaseNow(), realRandom)
  const store = openPostgresStore(database)
  const parts = await setupApp(t, {
    clock,
    ids,
    ...store,
  })
  const { call, woken } = parts
  const created = (await call('POST', '/jobs', request)).json()
  woken.length = 0
  const path = `/jobs/${created.job_id}`
  /** Everything that the database holds, as text. */
  const dump = async (): Promise<string> => {
    const tables = await client.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables
       WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY 1`,
    )
    const texts: string[] = []
    for (const { name } of tables.rows) {
      const { rows } = await client.query({
        text: `SELECT t::text FROM "${name}" t ORDER BY 1`,
        rowMode: 'array',
      })
      texts.push(`${name}: ${rows.join('\n')}`)
    }
    return texts.join('\n')
  }
  const { runSteps } = store
  const tools = { newExecutionId: () => ids.nextBatch(), laneOf: () => sharedLane }
  /** Processes the recorded updates of graph runs. */
  const step = async () => runSteps.step(await runSteps.findNoted(10, false), tools)
  return { ...parts, client, created, path, dump, step }
}

test('a dry run answers as if it were done, and nothing is', async (t) => {
  const { call, created, path, woken, dump } = await setup(t)
  const { execution_id: executionId } = (await call('POST', `${path}/trigger`)).json()
  await call('PUT', '/calendars/days', { entries: [{ date: '2099-01-01' }] })
  woken.length = 0
  const before = await dump()
  const dry = async (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', to: string, body?: unknown) => {
    const answer = await call(method, `${to}?dry_run=true`, body, { 'if-match': '*', 'idempotency-key': 'k' })
    assert.equal(answer.statusCode, 200, answer.body)
    assert.equal(answer.headers['x-dry-run'], 'true')
    assert.equal(answer.headers['location'], undefined)
    return answer.json()
  }
  const made = await dry('POST', '/jobs', { ...request, key: 'other', name: 'b' })
  assert.deepEqual([made.name, made.key, made.status, made.version], ['b', 'other', 'ACTIVE', 1])
  assert.equal((await call('GET', `/jobs/${made.job_id}`)).statusCode, 404)
  const now = await dry('POST', '/jobs', { ...request, key: 'now', schedule: { type: 'IMMEDIATE' } })
  assert.equal(now.status, 'ACTIVE')
  assert.match(now.execution_id, /^[0-9a-f-]{36}$/)
  const changed = await dry('PATCH', path, { priority: 1 })
  assert.deepEqual([changed.priority, changed.version], [1, 2])
  assert.equal((await dry('PUT', '/jobs/by-key/k', { ...request, name: 'c' })).version, 2)
  assert.equal((await dry('PATCH', `${path}/pause`)).status, 'PAUSED')
  assert.equal((await dry('DELETE', path)).status, 'DELETED')
  assert.equal((await dry('POST', `${path}/trigger`)).job_id, created.job_id)
  const counts: number[] = []
  const subscription = executionsCancelled.subscribe(({ executions }) => void counts.push(executions))
  t.after(() => subscription[Symbol.dispose]())
  assert.equal((await dry('POST', `/executions/${executionId}/cancel`)).status, 'CANCELLED')
  assert.deepEqual(counts, [])
  const cancelled = await dry('POST', '/executions/cancel', { filter: { kind: 'trigger' } })
  assert.deepEqual([cancelled.kind, cancelled.progress.total], ['cancel', 1])
  const range = { from: '2025-12-01T00:00:00Z', to: '2025-12-31T00:00:00Z' }
  const backfill = await dry('POST', `${path}/backfill`, range)
  assert.deepEqual([backfill.kind, backfill.progress.total], ['backfill', 31])
  const bulk = await dry('POST', '/jobs/bulk', { action: 'delete', filter: {} })
  assert.deepEqual([bulk.status, bulk.progress.total], ['RUNNING', 1])
  const redriven = await dry('POST', '/dead-letters/redrive', { execution_ids: [executionId] })
  assert.deepEqual(redriven.not_found, [executionId])
  assert.equal((await dry('POST', '/dead-letters/redrive', { filter: {} })).kind, 'redrive')
  assert.equal((await dry('PUT', '/calendars/days', { entries: [] })).revision, 2)
  assert.equal((await dry('PUT', '/calendars/other', { entries: [] })).revision, 1)
  assert.deepEqual(await dry('DELETE', '/calendars/days'), {})
  const schedule = { cron_expression: '@hourly', exclusions: [{ calendar: 'days' }], max_runs: 2 }
  const limits = { jitter_seconds: 9, concurrency_limit: 2, concurrency_key: { key: 'a', limit: 1 } }
  const limited = await dry('POST', '/jobs', { ...request, ...limits, key: 'limited', schedule })
  assert.deepEqual([limited.schedule.runs, limited.concurrency_key], [0, limits.concurrency_key])
  assert.equal((await dry('PATCH', path, { schedule, ...limits })).jitter_seconds, 9)
  assert.deepEqual(woken, [])
  assert.equal(await dump(), before)
})

test('a dry run of dependencies and of their runs leaves all as it was', async (t) => {
  const { call, created, path, dump, step } = await setup(t)
  const { key: _key, schedule: _schedule, ...child } = request
  const after = { depends_on: [{ job_id: created.job_id }] }
  const { job_id: jobId } = (await call('POST', '/jobs', { ...child, ...after, name: 'b' })).json()
  const { graph_run_id: runId } = (await call('POST', `${path}/trigger`)).json()
  await step()
  const dry = async (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', to: string, body?: unknown) => {
    const answer = await call(method, `${to}?dry_run=true`, body, { 'if-match': '*' })
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json()
  }
  const before = await dump()
  assert.equal((await dry('POST', '/jobs', { ...child, ...after, name: 'c' })).depends_on.length, 1)
  const free = { depends_on: null, schedule: '@daily' }
  assert.deepEqual((await dry('PATCH', `/jobs/${jobId}`, free)).depends_on, [])
  assert.equal((await dry('DELETE', `/jobs/${jobId}`)).status, 'DELETED')
  assert.equal((await dry('POST', `${path}/trigger`)).graph_run_id === null, false)
  assert.equal((await dry('POST', `/graph-runs/${runId}/cancel`)).status, 'CANCELLED')
  assertProblem(await call('DELETE', `${path}?dry_run=true`), 'JOB_HAS_DEPENDENTS')
  assert.equal(await dump(), before)
  await call('POST', `/graph-runs/${runId}/cancel`)
  await step()
  const ended = await dump()
  assert.equal((await dry('POST', `/graph-runs/${runId}/resume`)).execution_ids.length, 2)
  assert.equal(await dump(), ended)
})

test('a dry run is refused if the request itself would be', async (t) => {
  const { call, path } = await setup(t)
  const taken = await call('POST', '/jobs?dry_run=true', { ...request, name: 'b' })
  assertProblem(taken, 'JOB_KEY_TAKEN', '/key')
  const late = await call('PATCH', `${path}?dry_run=true`, { name: 'b' }, { 'if-match': '"7"' })
  assertProblem(late, 'VERSION_STALE', 'If-Match')
  assertProblem(await call('POST', '/jobs?dry_run=yes', request), 'INVALID_REQUEST', 'dry_run')
})

test('dry_run=false is none', async (t) => {
  const { call, path } = await setup(t)
  const answer = await call('PATCH', `${path}/pause?dry_run=false`)
  assert.deepEqual([answer.statusCode, answer.headers['x-dry-run']], [200, undefined])
  assert.equal((await call('GET', path)).json().status, 'PAUSED')
})

test('where there is no body, a dry run answers with an empty one', async (t) => {
  const { call, client, created } = await setup(t)
  const letter = '0192abcd-ef01-7000-8000-000000000001'
  await client.query(
    `INSERT INTO dead_letters (execution_id, tenant_id, job_id, job_name, reason, died_at, attempts, errors, kind, slot)
     VALUES ($1, $2, $3, 'a', 'NOT_RETRYABLE', now(), 1, '[]', 'slot', now())`,
    [letter, defaultTenantId, created.job_id],
  )
  const edited = await call('PATCH', `/dead-letters/${letter}?dry_run=true`, { payload: [1] })
  assert.deepEqual(edited.json().payload, [1])
  const dry = await call('DELETE', `/dead-letters/${letter}?dry_run=true`)
  assert.deepEqual([dry.statusCode, dry.body], [200, '{}'])
  assert.equal((await call('GET', `/dead-letters/${letter}`)).json().edited_at, null)
  const done = await call('DELETE', `/dead-letters/${letter}`)
  assert.deepEqual([done.statusCode, done.body], [204, ''])
})

test('an idempotency key is stored with the effect of its request, on PostgreSQL too', async (t) => {
  const { call, path, woken } = await setup(t)
  const trigger = () => call('POST', `${path}/trigger`, undefined, { 'idempotency-key': 'once' })
  const [first, second] = [await trigger(), await trigger()]
  assert.deepEqual([first.statusCode, second.statusCode], [202, 202], second.body)
  assert.equal(second.body, first.body)
  assert.equal(second.headers['idempotency-replayed'], 'true')
  assert.deepEqual(woken, ['queue', 'shared', 'waiting'])
  const both = await Promise.all(
    [1, 2, 3].map(() => call('POST', `${path}/trigger`, {}, { 'idempotency-key': 'race' })),
  )
  const done = both.filter((one) => one.statusCode === 202)
  assert(done.length >= 1)
  assert.equal(new Set(done.map((one) => one.body)).size, 1)
  for (const one of both.filter((other) => other.statusCode !== 202)) {
    assertProblem(one, 'IDEMPOTENCY_KEY_IN_USE', 'Idempotency-Key')
  }
})

test('on PostgreSQL a job has the options it was given, before and after a change', async (t) => {
  const { call } = await setup(t)
  await call('PUT', '/calendars/days', { entries: [{ from: '2000-01-01', to: '2098-12-31' }] })
  const schedule = { cron_expression: '0 12 * * *', exclusions: [{ calendar: 'days' }], max_runs: 2 }
  const options = {
    overlap_policy: 'BUFFER_ALL',
    misfire_policy: 'FIRE_ALL',
    jitter_seconds: 30,
    concurrency_limit: 2,
    concurrency_key: { key: 'a', limit: 1 },
  }
  const made = await call('POST', '/jobs', { ...request, key: 'options', schedule, ...options })
  assert.equal(made.statusCode, 201, made.body)
  const path = `/jobs/${made.json().job_id}`
  const shown = async () => withoutHealth((await call('GET', path)).json())
  assert.deepEqual(await shown(), made.json())
  assert.match(made.json().schedule.next_run_at, /^2099-01-01T12:00:/)
  assertProblem(await call('DELETE', '/calendars/days'), 'CALENDAR_IN_USE')
  const gone = { jitter_seconds: null, concurrency_limit: null, concurrency_key: null }
  const patch = { ...gone, schedule: { exclusions: null, max_runs: 5 } }
  const changed = await call('PATCH', path, patch, { 'if-match': '*' })
  assert.equal(changed.statusCode, 200, changed.body)
  assert.deepEqual(await shown(), changed.json())
  const { jitter_seconds, concurrency_limit, concurrency_key, schedule: after } = changed.json()
  assert.deepEqual([jitter_seconds, concurrency_limit, concurrency_key], [0, null, null])
  assert.deepEqual([after.max_runs, after.runs, 'exclusions' in after], [5, 0, false])
  assert.equal((await call('DELETE', '/calendars/days')).statusCode, 204)
})

test('a dry run warns of an artifact that is not there and of an executor that no worker runs', async (t) => {
  const { call } = await setup(t)
  const artifact = { type: 'artifact', artifact_id: 'report', entrypoint: 'main:run' }
  const answer = await call('POST', '/jobs?dry_run=true', { ...request, key: 'other', execution: artifact })
  assert.equal(answer.headers['x-dry-run'], 'true', answer.body)
  const [executor, bundle, ...more] = answer.json().warnings
  assert.match(executor, /^At present no worker that may run artifacts is up/)
  assert.match(bundle, /^There is no artifact report/)
  assert.deepEqual(more, [])
})

test('a dry run of a tier names the tenants that it would put beyond a limit', async (t) => {
  const { call, dump } = await setup(t)
  const { name: _name, ...limits } = (await call('GET', '/tiers/unlimited')).json()
  await call('POST', '/jobs', { ...request, key: 'l' })
  const before = await dump()
  const dry = await call('PUT', '/tiers/unlimited?dry_run=true', { ...limits, active_jobs_max: 1 })
  assert.equal(dry.headers['x-dry-run'], 'true', dry.body)
  const [tenant] = dry.json().exceeding
  assert.deepEqual(tenant.limits, [{ limit: 'active_jobs_max', allowed: 1, used: 2, jobs: null }])
  assert.equal(await dump(), before)
})

test('a dry run of a create beyond the limit of active jobs is refused, and counts nothing', async (t) => {
  const { call, dump } = await setup(t)
  const { name: _name, ...limits } = (await call('GET', '/tiers/unlimited')).json()
  await call('PUT', '/tiers/unlimited', { ...limits, active_jobs_max: 2 })
  const more = (key: string) => ({ ...request, key })
  const before = await dump()
  for (const key of ['l', 'm', 'n'])
    assert.equal((await call('POST', '/jobs?dry_run=true', more(key))).statusCode, 200)
  assert.equal(await dump(), before)
  assert.equal((await call('POST', '/jobs', more('l'))).statusCode, 201)
  assertProblem(await call('POST', '/jobs?dry_run=true', more('m')), 'TIER_LIMIT')
})

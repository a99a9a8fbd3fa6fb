import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { addKey, addTenant } from '../../../test/access.ts'
import { assertProblem, setupApp } from '../../../test/app.ts'

const nobody = '0192abcd-ef01-7000-8000-000000000001'
/** Now is 2026-01-01T00:00:00Z. */
const december = { from: '2025-12-01T00:00:00Z', to: '2025-12-31T23:59:59Z' }

async function setup(t: TestContext, schedule: unknown = '@daily') {
  const parts = await setupApp(t)
  const { call, woken } = parts
  const execution = { callback_url: 'http://127.0.0.1:7420/echo' }
  const created = await call('POST', '/jobs', { name: 'a', schedule, execution })
  assert.equal(created.statusCode, 201, created.body)
  const { job_id: jobId } = created.json()
  woken.length = 0
  const backfill = (body: unknown, { id = jobId, headers = {} } = {}) =>
    call('POST', `/jobs/${id}/backfill`, body, headers)
  const totalOf = async (range: object): Promise<number> => {
    const answer = await backfill(range)
    assert.equal(answer.statusCode, 202, answer.body)
    return answer.json().progress.total
  }
  return { ...parts, jobId, backfill, totalOf }
}

test('a backfill becomes an operation that can be watched', async (t) => {
  const { backfill, call, woken, jobId, memory } = await setup(t, { cron_expression: '@daily' })
  const answer = await backfill({ ...december, order: 'desc', max_concurrent: 7 })
  assert.equal(answer.statusCode, 202, answer.body)
  const { operation_id: operationId, ...operation } = answer.json()
  assert.deepEqual(operation, {
    kind: 'backfill',
    status: 'RUNNING',
    filter: { job_id: jobId, ...december },
    progress: { total: 31, total_capped: false, done: 0, skipped: 0 },
    error: null,
    created_by: 'operator',
    created_at: '2026-01-01T00:00:00Z',
    finished_at: null,
  })
  assert.equal(answer.headers['location'], `/api/v1/operations/${operationId}`)
  assert.deepEqual(woken, ['operations'])
  assert.deepEqual((await call('GET', `/operations/${operationId}`)).json(), answer.json())
  const { filter, options } = memory.store.operations.get(operationId)!.operation
  assert.deepEqual(filter, { jobId, from: Date.parse(december.from), to: Date.parse(december.to) })
  assert.deepEqual(options, {
    backfill: {
      ...{ order: 'desc', maxConcurrent: 7, anchorAt: Date.UTC(2026, 0, 1) },
      schedule: { type: 'CRON', cron_expression: '@daily' },
    },
  })
})

test('without more it goes from the oldest slot on, one at a time', async (t) => {
  const { backfill, memory } = await setup(t)
  const { operation_id: operationId } = (await backfill(december)).json()
  const { order, maxConcurrent } = memory.store.operations.get(operationId)!.operation.options.backfill!
  assert.deepEqual([order, maxConcurrent], ['asc', 1])
})

test('both ends are included, and now is not the future', async (t) => {
  const { totalOf } = await setup(t)
  assert.equal(await totalOf({ from: '2025-12-30T00:00:00Z', to: '2026-01-01T00:00:00Z' }), 3)
  assert.equal(await totalOf({ from: '2025-12-31T01:00:00+01:00', to: '2025-12-31T00:00:00Z' }), 1)
  assert.equal(await totalOf({ from: '2025-12-29T00:00:00.0004Z', to: '2025-12-30T23:59:59.999Z' }), 1)
})

test('slots that the exclusions skip are not counted', async (t) => {
  const exclusions = [{ date: '2025-12-10' }, { from: '2025-12-20', to: '2025-12-22' }]
  const { totalOf } = await setup(t, { cron_expression: '@daily', exclusions })
  assert.equal(await totalOf(december), 31 - 4)
})

test('a calendar is looked up as it is now', async (t) => {
  const parts = await setupApp(t)
  const { call } = parts
  const put = (days: string[]) =>
    call('PUT', '/calendars/holidays', { entries: days.map((date) => ({ date })) })
  assert.equal((await put(['2025-12-25'])).statusCode, 201)
  const schedule = { cron_expression: '@daily', exclusions: [{ calendar: 'holidays' }] }
  const execution = { callback_url: 'http://127.0.0.1:7420/echo' }
  const { job_id: jobId } = (await call('POST', '/jobs', { name: 'a', schedule, execution })).json()
  const total = async () => (await call('POST', `/jobs/${jobId}/backfill`, december)).json().progress.total
  assert.equal(await total(), 30)
  await put(['2025-12-25', '2025-12-26'])
  assert.equal(await total(), 29)
})

test('a range with too many slots is refused with how many there are', async (t) => {
  const { backfill, totalOf } = await setup(t, '* * * * * *')
  const to = '2025-12-31T12:00:00Z'
  assert.equal(await totalOf({ from: '2025-12-31T09:13:21Z', to }), 10_000)
  const answer = await backfill({ from: '2025-12-31T09:13:20Z', to })
  assertProblem(answer, 'BACKFILL_TOO_LARGE')
  assert.match(answer.json().detail, /a range of 10,001 slots; a backfill runs at most 10,000/)
  const all = await backfill({ from: '1970-01-01T00:00:00Z', to })
  assert.match(all.json().detail, /a range of 1,767,182,401 slots/)
})

test('a one-time job can run once more; a job without a grid of slots cannot be backfilled', async (t) => {
  const soon = await setup(t, { type: 'ONE_TIME', scheduled_time: '2026-01-01T00:00:30Z' })
  await soon.world.advance(60_000)
  assert.equal(await soon.totalOf({ from: '2026-01-01T00:00:00Z', to: '2026-01-01T00:01:00Z' }), 1)
  const now = await setup(t, { type: 'IMMEDIATE' })
  assertProblem(await now.backfill(december), 'BACKFILL_NOT_POSSIBLE')
  const after = await setup(t, { every_seconds: 60, after_completion: true })
  assertProblem(await after.backfill(december), 'BACKFILL_NOT_POSSIBLE')
})

test('each wrong request is refused at its place', async (t) => {
  const { backfill, call, jobId, woken } = await setup(t)
  const refused: [object, string][] = [
    [{ from: december.from }, '/to'],
    [{ to: december.to }, '/from'],
    [{ ...december, from: '2025-12-01' }, '/from'],
    [{ ...december, from: '2025-12-01T00:00:00' }, '/from'],
    [{ ...december, to: '2025-12-32T00:00:00Z' }, '/to'],
    [{ ...december, to: '2026-01-01T00:00:00.001Z' }, '/to'],
    [{ from: december.to, to: december.from }, '/to'],
    [{ from: '2025-12-01T00:00:01Z', to: '2025-12-01T23:59:59Z' }, '/from'],
    [{ ...december, order: 'up' }, '/order'],
    [{ ...december, max_concurrent: 0 }, '/max_concurrent'],
    [{ ...december, max_concurrent: 101 }, '/max_concurrent'],
    [{ ...december, rate: 1 }, '/rate'],
  ]
  for (const [body, pointer] of refused) assertProblem(await backfill(body), 'INVALID_REQUEST', pointer)
  for (const id of [nobody, 'nope', '%00']) assertProblem(await backfill(december, { id }), 'JOB_NOT_FOUND')
  const tenantId = await addTenant(call, 'sales')
  const reader = await addKey(call, tenantId, { scopes: ['read', 'write'] })
  assertProblem(await backfill(december, { headers: reader.headers }), 'SCOPE_MISSING')
  const other = await addKey(call, tenantId, { scopes: ['operate'] })
  assertProblem(await backfill(december, { headers: other.headers }), 'JOB_NOT_FOUND')
  assert.deepEqual(woken, [])
  await call('DELETE', `/jobs/${jobId}`)
  assertProblem(await backfill(december), 'JOB_DELETED')
})

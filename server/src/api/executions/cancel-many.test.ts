import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { addKey, addTenant } from '../../../test/access.ts'
import { assertProblem, runAll, setupApp } from '../../../test/app.ts'
import { operationsMax } from '../../domain/jobs/operation.ts'

/** Two jobs, `x` with two executions that have not ended and one that has, `y` with one. */
async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const { call, woken, memory, world } = parts
  const execution = { callback_url: 'http://127.0.0.1:7420/echo' }
  const jobs: Record<string, string> = {}
  for (const tag of ['x', 'y']) {
    const job = { name: `job ${tag}`, tags: [tag], schedule: '@daily', execution, overlap_policy: 'ALLOW' }
    jobs[tag] = (await call('POST', '/jobs', job)).json().job_id
  }
  await call('POST', `/jobs/${jobs['x']}/trigger`)
  await runAll({ memory, world })
  for (const tag of ['x', 'x', 'y']) await call('POST', `/jobs/${jobs[tag]}/trigger`)
  woken.length = 0
  const cancel = (body: unknown, headers?: Record<string, string>) =>
    call('POST', '/executions/cancel', body, headers)
  return { ...parts, jobs, cancel }
}

test('a cancel by filter becomes an operation that can be watched', async (t) => {
  const { cancel, call, woken, jobs, memory } = await setup(t)
  const filter = {
    ...{ job_id: jobs['x']!.toUpperCase(), status: 'PENDING', kind: 'trigger', tag: 'x', q: 'JOB' },
    ...{ start_date: '2026-01-01', end_date: '2026-01-31T00:00:00Z' },
  }
  const answer = await cancel({ filter })
  assert.equal(answer.statusCode, 202, answer.body)
  const { operation_id: operationId, ...operation } = answer.json()
  assert.deepEqual(operation, {
    kind: 'cancel',
    status: 'RUNNING',
    filter: { ...filter, job_id: jobs['x'], start_date: '2026-01-01T00:00:00Z' },
    progress: { total: 2, total_capped: false, done: 0, skipped: 0 },
    error: null,
    created_by: 'operator',
    created_at: operation.created_at,
    finished_at: null,
  })
  assert.equal(answer.headers['location'], `/api/v1/operations/${operationId}`)
  assert.deepEqual(woken, ['operations'])
  assert.deepEqual((await call('GET', `/operations/${operationId}`)).json(), answer.json())
  assert.deepEqual(memory.store.operations.get(operationId)!.operation.filter, {
    ...{ jobId: jobs['x'], status: 'PENDING', kind: 'trigger', tag: 'x', q: 'JOB', errorType: null },
    ...{ from: Date.UTC(2026, 0, 1), to: Date.UTC(2026, 0, 31) + 1 },
  })
})

test('executions that have ended or do not match the filter are not counted', async (t) => {
  const { cancel } = await setup(t)
  const totals: number[] = []
  for (const filter of [
    { kind: 'trigger' },
    { tag: 'y' },
    { status: 'RUNNING' },
    { q: 'job x' },
    { error_type: 'TIMEOUT' },
  ])
    totals.push((await cancel({ filter })).json().progress.total)
  assert.deepEqual(totals, [3, 1, 0, 2, 0])
})

test('it takes the scope operate, and stays within the tenant', async (t) => {
  const { cancel, call } = await setup(t)
  const tenantId = await addTenant(call, 'sales')
  const reader = await addKey(call, tenantId, { scopes: ['read', 'write'] })
  assertProblem(await cancel({ filter: { tag: 'x' } }, reader.headers), 'SCOPE_MISSING')
  const operator = await addKey(call, tenantId, { scopes: ['operate'] })
  assert.equal((await cancel({ filter: { tag: 'x' } }, operator.headers)).json().progress.total, 0)
})

test('each wrong request is refused at its place', async (t) => {
  const { cancel, woken } = await setup(t)
  const refused: [unknown, string][] = [
    [{ filter: {} }, '/filter'],
    [{}, '/filter'],
    [{ filter: [] }, '/filter'],
    [{ filter: { status: 'CANCELLING' } }, '/filter/status'],
    [{ filter: { status: 'SUCCEEDED' } }, '/filter/status'],
    [{ filter: { dead_letter: true } }, '/filter/dead_letter'],
    [{ filter: { job_id: 'x' } }, '/filter/job_id'],
    [{ filter: { start_date: 'yesterday' } }, '/filter/start_date'],
    [{ filter: { start_date: '2026-01-02', end_date: '2026-01-01' } }, '/filter/end_date'],
    [{ filter: { tag: 'x' }, reason: 'y' }, '/reason'],
  ]
  for (const [body, pointer] of refused) assertProblem(await cancel(body), 'INVALID_REQUEST', pointer)
  const { detail } = (await cancel({ filter: {} })).json().errors[0]
  assert.match(detail, /needs a condition: .*status.*job_id.*tag/)
  assert.deepEqual(woken, [])
})

test('there is an end to how many are under way', async (t) => {
  const { cancel } = await setup(t)
  const body = { filter: { tag: 'x' } }
  for (let i = 0; i < operationsMax; i++) assert.equal((await cancel(body)).statusCode, 202)
  assertProblem(await cancel(body), 'TOO_MANY_OPERATIONS')
})

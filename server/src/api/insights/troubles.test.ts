import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, runAll, setupApp } from '../../../test/app.ts'

async function setup(t: TestContext) {
  const bundle = await setupApp(t)
  const made = await bundle.call('POST', '/jobs', {
    name: 'report',
    schedule: { type: 'IMMEDIATE' },
    execution: { callback_url: 'https://example.com/report' },
  })
  assert.equal(made.statusCode, 201, made.body)
  return { ...bundle, jobId: made.json().job_id as string }
}

const broken = {
  outcome: 'failed',
  httpStatus: 502,
  error: { type: 'HTTP_ERROR', message: 'the target answered 502' },
} as const

test('failures are grouped by job and kind of error, with an example execution', async (t) => {
  const { call, jobId, world, ...bundle } = await setup(t)
  await runAll({ ...bundle, world }, broken)
  const { executions } = (await call('GET', `/jobs/${jobId}/executions`)).json()
  const { failures } = (await call('GET', '/failures')).json()
  const at = failures[0].first_seen_at
  assert.deepEqual(failures, [
    {
      ...{ job_id: jobId, job_name: 'report', error_type: 'HTTP_ERROR', http_status: 502, count: 1 },
      ...{ message: 'the target answered 502', first_seen_at: at, last_seen_at: at },
      last_execution_id: executions[0].execution_id,
      job_failing: true,
    },
  ])
  await world.advance(10 * 60_000)
  assert.equal((await call('GET', '/failures?minutes=11&limit=200')).json().failures.length, 1)
  assert.deepEqual((await call('GET', '/failures?minutes=9')).json().failures, [])
})

test('failures of a deleted job are not listed', async (t) => {
  const { call, jobId, ...bundle } = await setup(t)
  await runAll(bundle, broken)
  assert.equal((await call('DELETE', `/jobs/${jobId}`)).statusCode, 200)
  assert.deepEqual((await call('GET', '/failures')).json().failures, [])
})

test('waiting executions and late starts are listed with their delay', async (t) => {
  const { call, jobId, world, ...bundle } = await setup(t)
  assert.deepEqual((await call('GET', '/late')).json(), { late: [] })
  await world.advance(7_000)
  const [waiting] = (await call('GET', '/late')).json().late
  assert.deepEqual([waiting.job_id, waiting.kind, waiting.late_ms], [jobId, 'waiting', 7_000])
  await runAll({ ...bundle, world })
  const [late] = (await call('GET', '/late?minutes=5')).json().late
  assert.deepEqual(late, { ...waiting, kind: 'late' })
  assert.deepEqual([late.job_name, late.reason, late.slot_count], ['report', null, 1])
})

test('limits that are out of range are refused by name', async (t) => {
  const { call } = await setup(t)
  for (const path of ['/failures', '/late']) {
    assertProblem(await call('GET', `${path}?minutes=0`), 'INVALID_REQUEST', 'minutes')
    assertProblem(await call('GET', `${path}?minutes=10081`), 'INVALID_REQUEST', 'minutes')
    assertProblem(await call('GET', `${path}?limit=201`), 'INVALID_REQUEST', 'limit')
    assertProblem(await call('GET', `${path}?job=1`), 'INVALID_REQUEST', 'job')
  }
})

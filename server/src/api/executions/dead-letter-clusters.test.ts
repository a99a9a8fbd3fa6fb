import assert from 'node:assert/strict'
import test from 'node:test'
import { assertProblem, runAll, setupApp } from '../../../test/app.ts'

test('dead letters are shown by job and kind of error', async (t) => {
  const { call, ...bundle } = await setupApp(t)
  const job = {
    name: 'report',
    schedule: { type: 'IMMEDIATE' },
    execution: { callback_url: 'https://example.com/report' },
  }
  assert.deepEqual((await call('GET', '/dead-letters/clusters')).json(), { clusters: [], complete: true })
  const jobId = (await call('POST', '/jobs', job)).json().job_id
  const error = { type: 'HTTP_ERROR', message: 'the target answered 500' } as const
  await runAll(bundle, { outcome: 'failed', httpStatus: 500, error, deadReason: 'MAX_RETRIES_EXCEEDED' })
  const [letter] = (await call('GET', '/dead-letters')).json().dead_letters
  const at = letter.dlq_timestamp
  assert.deepEqual((await call('GET', '/dead-letters/clusters?limit=1')).json(), {
    clusters: [
      {
        ...{ job_id: jobId, job_name: 'report', error_type: 'HTTP_ERROR', http_status: 500 },
        ...{ message: 'the target answered 500', count: 1, count_capped: false },
        ...{ oldest_at: at, newest_at: at, execution_ids: [letter.execution_id] },
      },
    ],
    complete: true,
  })
})

test('a tier without dead letters has no clusters, and limits are refused by name', async (t) => {
  const { call } = await setupApp(t)
  const tenant = (await call('POST', '/tenants', { name: 'other', tier: 'free' })).json()
  const headers = { 'x-tenant-id': tenant.tenant_id }
  assertProblem(await call('GET', '/dead-letters/clusters', undefined, headers), 'TIER_LIMIT')
  assertProblem(await call('GET', '/dead-letters/clusters?limit=0'), 'INVALID_REQUEST', 'limit')
})

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, runAll, setupApp } from '../../../test/app.ts'

async function setup(t: TestContext) {
  const bundle = await setupApp(t)
  const { call } = bundle
  const made = await call('POST', '/jobs', {
    name: 'report',
    schedule: { type: 'IMMEDIATE' },
    execution: { callback_url: 'https://example.com/report' },
  })
  assert.equal(made.statusCode, 201, made.body)
  const jobId: string = made.json().job_id
  const activity = async (query: string) => {
    const answer = await call('GET', `/activity?${query}`)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json().activity
  }
  return { ...bundle, jobId, activity }
}

test('activity by minute, hour and day says how executions ended', async (t) => {
  const { jobId, activity, ...bundle } = await setup(t)
  await runAll(bundle)
  const counts = {
    ...{ succeeded: 1, failed: 0, timed_out: 0, cancelled: 0, skipped: 0, retries: 0, dead_letters: 0 },
    ...{ duration_ms_sum: 250, duration_ms_max: 250, started: 1, within_1s: 1, within_5s: 1, late_ms_max: 0 },
  }
  for (const query of [
    'step=minute',
    'step=hour',
    'step=day',
    `step=hour&job_id=${jobId}`,
    `step=day&job_id=${jobId}`,
  ]) {
    const [{ at, ...bucket }, ...more] = await activity(query)
    assert.deepEqual([bucket, more], [counts, []], query)
    assert.match(at, /:00Z$/)
  }
})

test('activity covers the buckets from the first instant up to, but not including, the second', async (t) => {
  const { activity, ...bundle } = await setup(t)
  await runAll(bundle)
  const [{ at }] = await activity('step=minute')
  const later = (minutes: number) => {
    return encodeURIComponent(Temporal.Instant.from(at).add({ minutes }).toString())
  }
  assert.equal((await activity(`step=minute&from=${later(1)}&to=${later(5)}`)).length, 0)
  assert.equal((await activity(`step=minute&from=${later(0)}&to=${later(5)}`)).length, 1)
  assert.equal((await activity(`step=minute&from=${later(-5)}&to=${later(0)}`)).length, 0)
})

test('a span that is too long, ends before it begins or is no span is refused by name', async (t) => {
  const { call, jobId } = await setup(t)
  const refused = async (query: string, pointer: string) => {
    assertProblem(await call('GET', `/activity?${query}`), 'INVALID_REQUEST', pointer)
  }
  await refused('step=minute&from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:01Z', 'from')
  await refused('step=hour&from=2026-01-01&to=2026-03-03', 'from')
  await refused('step=day&from=2024-01-01&to=2026-01-01', 'from')
  await refused('step=day&from=2026-01-02&to=2026-01-01', 'from')
  await refused('step=day&from=soon', 'from')
  await refused('step=day&to=2026-01-01T00:00:00', 'to')
  await refused('step=year', 'step')
  await refused('', 'step')
  await refused(`step=minute&job_id=${jobId}`, 'step')
})

test('the activity of a job that is not there, or of another tenant, is not found', async (t) => {
  const { call, jobId } = await setup(t)
  const none = '0192abcd-ef01-7000-8000-000000000009'
  assertProblem(await call('GET', `/activity?step=day&job_id=${none}`), 'JOB_NOT_FOUND')
  const tenant = (await call('POST', '/tenants', { name: 'other', tier: 'free' })).json()
  const headers = { 'x-tenant-id': tenant.tenant_id }
  const theirs = await call('GET', `/activity?step=day&job_id=${jobId}`, undefined, headers)
  assertProblem(theirs, 'JOB_NOT_FOUND')
})

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, operatorKey, setupApp } from '../../../test/app.ts'
import { withoutHealth } from '../../../test/without-health.ts'
import type { HttpExecution } from '../../domain/executors/http.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'

const execution = { callback_url: 'http://127.0.0.1:7420/echo' }
const request = { name: 'a', schedule: 'every 5 minutes', execution, priority: 2 }

async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const put = (body: unknown, headers?: Record<string, string>, key = 'nightly') =>
    parts.call('PUT', `/jobs/by-key/${key}`, body, headers)
  return { ...parts, put }
}

test('the first PUT creates, the next replaces as a whole, the same changes nothing', async (t) => {
  const { put, call, world, woken } = await setup(t)
  const first = await put(request)
  assert.equal(first.statusCode, 201, first.body)
  const { job_id: jobId } = first.json()
  assert.equal(first.headers['location'], `/api/v1/jobs/${jobId}`)
  assert.deepEqual([first.json().key, first.headers['etag']], ['nightly', '"1"'])
  await world.advance(60_000)
  const same = await put({ ...request, key: 'nightly' })
  assert.deepEqual([same.statusCode, same.json().version, same.headers['etag']], [200, 1, '"1"'])
  assert.equal(same.headers['location'], undefined)
  assert.equal(same.json().schedule.next_run_at, '2026-01-01T00:05:00Z')
  const next = await put({ name: 'b', schedule: 'every 5 minutes', execution })
  assert.equal(next.statusCode, 200)
  const job = next.json()
  assert.deepEqual([job.job_id, job.name, job.priority, job.version, job.key], [jobId, 'b', 5, 2, 'nightly'])
  const shown = withoutHealth((await call('GET', `/jobs/${jobId}`)).json())
  assert.deepEqual(job, shown)
  assert.deepEqual(woken, ['changes', 'changes', 'changes'])
})

test('an IMMEDIATE job runs when it is created, not when it is repeated', async (t) => {
  const { put, call } = await setup(t)
  const body = { ...request, schedule: { type: 'IMMEDIATE' } }
  const created = await put(body)
  assert.match(created.json().execution_id, /^[0-9a-f-]{36}$/)
  const again = await put(body)
  assert.deepEqual([again.statusCode, again.json().execution_id], [200, undefined])
  const { pagination } = (await call('GET', `/jobs/${created.json().job_id}/executions`)).json()
  assert.equal(pagination.total, 1)
  await put(request, {}, 'other')
  assertProblem(await put(body, {}, 'other'), 'SCHEDULE_NOT_CHANGEABLE', '/schedule')
})

test('a deleted job leaves its key to the next', async (t) => {
  const { put, call } = await setup(t)
  const { job_id: jobId } = (await put(request)).json()
  await call('DELETE', `/jobs/${jobId}`)
  const again = await put(request)
  assert.equal(again.statusCode, 201)
  assert.notEqual(again.json().job_id, jobId)
})

test('masked header values stand for the stored ones', async (t) => {
  const { put, memory } = await setup(t)
  const withHeaders = (headers: object) => ({ ...request, execution: { ...execution, headers } })
  assertProblem(await put(withHeaders({ 'X-A': '***' })), 'INVALID_REQUEST', '/execution/headers/X-A')
  const { job_id: jobId } = (await put(withHeaders({ 'X-A': 'secret' }))).json()
  assert.equal((await put(withHeaders({ 'X-A': '***' }))).json().version, 1)
  await put(withHeaders({ 'x-a': '***', 'X-B': 'b' }))
  const { headers } = (await memory.jobs.get(defaultTenantId, jobId))!.execution as HttpExecution
  assert.deepEqual(headers, { 'x-a': 'secret', 'X-B': 'b' })
  assertProblem(await put(withHeaders({ 'X-C': '***' })), 'INVALID_REQUEST', '/execution/headers/X-C')
  const moved = { ...execution, callback_url: 'http://other.example/', headers: { 'x-a': '***', 'X-B': 'b' } }
  const refused = await put({ ...request, execution: moved })
  assertProblem(refused, 'INVALID_REQUEST', '/execution/headers/x-a')
  assert.equal(refused.json().errors.length, 1)
})

test('If-Match and If-None-Match hold for existing and for missing jobs', async (t) => {
  const { put } = await setup(t)
  assertProblem(await put(request, { 'if-match': '"1"' }), 'VERSION_STALE', 'If-Match')
  assertProblem(await put(request, { 'if-match': '*' }), 'VERSION_STALE', 'If-Match')
  assert.equal((await put(request, { 'if-none-match': '*' })).statusCode, 201)
  assertProblem(await put(request, { 'if-none-match': '*' }), 'VERSION_STALE', 'If-None-Match')
  assert.equal((await put({ ...request, name: 'b' }, { 'if-match': '"1"' })).statusCode, 200)
  assertProblem(await put({ ...request, name: 'c' }, { 'if-match': '"1"' }), 'VERSION_STALE', 'If-Match')
  assertProblem(await put(request, { 'if-match': '1' }), 'INVALID_REQUEST', 'If-Match')
  assertProblem(await put(request, { 'if-none-match': '"1"' }), 'INVALID_REQUEST', 'If-None-Match')
})

test('each wrong PUT is refused at its place', async (t) => {
  const { put } = await setup(t)
  for (const key of ['Nightly', 'a%20b', 'x'.repeat(129), '%00'])
    assertProblem(await put(request, {}, key), 'INVALID_REQUEST', 'key')
  assertProblem(await put({ ...request, key: 'other' }), 'INVALID_REQUEST', '/key')
  assertProblem(await put({ ...request, name: undefined }), 'INVALID_REQUEST', '/name')
  assertProblem(await put({ ...request, version: 1 }), 'INVALID_REQUEST', '/version')
  assertProblem(await put({ ...request, region: 'eu' }), 'NOT_SUPPORTED_YET', '/region')
  assertProblem(await put({ ...request, schedule: '61 * * * *' }), 'INVALID_SCHEDULE', '/schedule')
})

test('a PUT that loses a race is tried again, and gives up when it loses every time', async (t) => {
  const { put, memory, app } = await setup(t)
  const { jobs } = memory
  const { getByKey } = jobs
  // Somebody else creates the job between our look and our write.
  let others = 1
  jobs.getByKey = async (tenantId, key) => {
    const found = await getByKey.call(jobs, tenantId, key)
    if (found !== null || others-- <= 0) return found
    const headers = { authorization: `Bearer ${operatorKey}` }
    const payload = { ...request, name: 'theirs', key }
    await app.inject({ method: 'POST', url: '/api/v1/jobs', headers, payload })
    return null
  }
  const answer = await put(request)
  assert.deepEqual([answer.statusCode, answer.json().name, answer.json().version], [200, 'a', 2])
  jobs.getByKey = async () => null
  assertProblem(await put(request), 'JOB_KEY_TAKEN', '/key')
})

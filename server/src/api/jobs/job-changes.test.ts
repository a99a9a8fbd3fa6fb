import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, setupApp } from '../../../test/app.ts'
import { withoutHealth } from '../../../test/without-health.ts'
import type { HttpExecution } from '../../domain/executors/http.ts'
import { hourMs } from '../../lib/time/units.ts'

const nobody = '0192abcd-ef01-7000-8000-000000000001'
const callbackUrl = 'http://127.0.0.1:7420/echo'

async function setup(t: TestContext, changes: Record<string, unknown> = {}) {
  const parts = await setupApp(t)
  const execution = { callback_url: callbackUrl, headers: { 'X-A': 'secret' }, payload: { a: 1, b: 2 } }
  const request = { name: 'a', schedule: '0 9 * * *', execution, tags: ['x'], ...changes }
  const created = (await parts.call('POST', '/jobs', request)).json()
  const jobId: string = created.job_id
  parts.woken.length = 0
  const send = (body: unknown, headers: Record<string, string> = { 'if-match': '*' }) =>
    parts.call('PATCH', `/jobs/${jobId}`, body, headers)
  /** A patch that must be taken. */
  const patch = async (body: unknown) => {
    const answer = await send(body)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json()
  }
  const storedHeaders = async () => {
    const job = await parts.memory.jobs.get(parts.memory.store.jobs.get(jobId)!.tenantId, jobId)
    return (job!.execution as HttpExecution).headers
  }
  return { ...parts, created, jobId, send, patch, storedHeaders }
}

test('named fields change, the others stay, and the version grows', async (t) => {
  const { created, world, send, jobId, call, woken } = await setup(t)
  await world.advance(1_000)
  const answer = await send({ priority: 2, retry_policy: { max_retries: 0 } }, { 'if-match': '"1"' })
  assert.equal(answer.statusCode, 200, answer.body)
  assert.equal(answer.headers['etag'], '"2"')
  const shown = withoutHealth((await call('GET', `/jobs/${jobId}`)).json())
  assert.deepEqual(answer.json(), shown)
  assert.deepEqual(shown, {
    ...created,
    priority: 2,
    retry_policy: { ...created.retry_policy, max_retries: 0 },
    version: 2,
    updated_at: '2026-01-01T00:00:01Z',
  })
  assert.deepEqual(woken, ['changes'])
})

test('null takes a value away, and its default comes back', async (t) => {
  const { patch } = await setup(t, { description: 'x', priority: 1, key: 'k', metadata: { a: '1', b: '2' } })
  const gone = { description: null, priority: null, key: null, metadata: { a: null }, tags: null }
  const job = await patch({ ...gone, execution: { payload: { a: null }, timeout_seconds: null } })
  assert.deepEqual(
    [job.description, job.priority, job.key, job.metadata, job.tags, job.execution.payload],
    [null, 5, null, { b: '2' }, [], { b: 2 }],
  )
  const { execution } = await patch({ execution: { payload: null } })
  assert.equal('payload' in execution, false)
})

test('header values stay unless they are given, under any case of their names', async (t) => {
  const { patch, send, storedHeaders } = await setup(t)
  await patch({ execution: { headers: { 'X-A': '***', 'X-B': 'b' } } })
  assert.deepEqual(await storedHeaders(), { 'X-A': 'secret', 'X-B': 'b' })
  const { execution } = await patch({ execution: { headers: { 'x-a': '***', 'x-b': null } } })
  assert.deepEqual(execution.headers, { 'x-a': '***' })
  assert.deepEqual(await storedHeaders(), { 'x-a': 'secret' })
  await patch({ execution: { headers: { 'X-A': 'new' } } })
  assert.deepEqual(await storedHeaders(), { 'X-A': 'new' })
  const unknown = await send({ execution: { headers: { 'X-C': '***' } } })
  assertProblem(unknown, 'INVALID_REQUEST', '/execution/headers/X-C')
})

test('header values belong to the origin that they were given for', async (t) => {
  const { patch, send, storedHeaders } = await setup(t)
  await patch({ execution: { headers: { 'X-B': 'b' } } })
  const stored = { 'X-A': 'secret', 'X-B': 'b' }
  const others = ['http://other.example/', 'http://127.0.0.1:7421/echo', 'https://127.0.0.1:7420/echo']
  for (const callback_url of others) {
    for (const headers of [undefined, { 'X-A': '***' }, { 'x-a': '***', 'X-B': '***', 'X-C': 'c' }]) {
      const answer = await send({ execution: { callback_url, ...(headers && { headers }) } })
      assertProblem(answer, 'INVALID_REQUEST')
      const pointers = answer.json().errors.map((one: { pointer: string }) => one.pointer.toLowerCase())
      assert.deepEqual(pointers.toSorted(), ['/execution/headers/x-a', '/execution/headers/x-b'])
      assert.match(answer.json().detail, /is stored for another target: send the value again/)
    }
    assertProblem(
      await send({ execution: { callback_url, headers: { 'X-A': 'again' } } }),
      'INVALID_REQUEST',
      '/execution/headers/X-B',
    )
  }
  assert.deepEqual(await storedHeaders(), stored)
  await patch({ execution: { callback_url: 'http://127.0.0.1:7420/elsewhere' } })
  assert.deepEqual(await storedHeaders(), stored)
  const headers = { 'X-A': 'again', 'X-B': null }
  await patch({ execution: { callback_url: others[0], headers } })
  assert.deepEqual(await storedHeaders(), { 'X-A': 'again' })
})

test('a patch that changes nothing makes no version', async (t) => {
  const { patch } = await setup(t)
  const same = { name: 'a', schedule: { cron_expression: '0 9 * * *' }, execution: { payload: { b: 2 } } }
  assert.equal((await patch(same)).version, 1)
  assert.equal((await patch({ description: null, schedule: '0 9 * * *' })).version, 1)
  assert.equal((await patch({ name: 'b' })).version, 2)
})

test('a schedule merges into one of its type, and replaces one of another', async (t) => {
  const { patch, send } = await setup(t, {
    schedule: { cron_expression: '0 9 * * *', timezone: 'Asia/Tokyo' },
  })
  const moved = await patch({ schedule: { cron_expression: '30 9 * * *' } })
  assert.deepEqual(
    [moved.schedule.timezone, moved.schedule.next_run_at],
    ['Asia/Tokyo', '2026-01-01T00:30:00Z'],
  )
  assertProblem(
    await send({ schedule: { every_seconds: 60 } }),
    'INVALID_SCHEDULE',
    '/schedule/every_seconds',
  )
  const interval = await patch({ schedule: { type: 'INTERVAL', every_seconds: 7_200 } })
  assert.deepEqual(interval.schedule, {
    type: 'INTERVAL',
    every_seconds: 7_200,
    next_run_at: '2026-01-01T02:00:00Z',
    last_run_at: null,
  })
  const text = await patch({ schedule: 'every day at 10:00 AM' })
  assert.deepEqual([text.schedule.type, text.schedule.next_run_at], ['CRON', '2026-01-01T10:00:00Z'])
})

test('a new interval counts from now, other edits keep the grid', async (t) => {
  const { world, patch } = await setup(t, { schedule: { every_seconds: 3_600 } })
  await world.advance(hourMs / 2)
  assert.equal((await patch({ name: 'b' })).schedule.next_run_at, '2026-01-01T01:00:00Z')
  assert.equal(
    (await patch({ schedule: { every_seconds: 3_600 } })).schedule.next_run_at,
    '2026-01-01T01:00:00Z',
  )
  const bounded = await patch({ schedule: { end_at: '2026-02-01T00:00:00Z' } })
  assert.equal(bounded.schedule.next_run_at, '2026-01-01T01:00:00Z')
  const longer = await patch({ schedule: { every_seconds: 7_200 } })
  assert.equal(longer.schedule.next_run_at, '2026-01-01T02:30:00Z')
})

test('a completed job with a new schedule is active again', async (t) => {
  const { patch } = await setup(t, { schedule: { type: 'IMMEDIATE' } })
  assert.equal((await patch({ name: 'b' })).status, 'ACTIVE', 'its execution has not ended')
  const job = await patch({ schedule: '@hourly' })
  assert.deepEqual([job.status, job.schedule.next_run_at], ['ACTIVE', '2026-01-01T01:00:00Z'])
})

test('a schedule that cannot be is refused', async (t) => {
  const { send, patch, world } = await setup(t)
  const to = async (schedule: unknown) => send({ schedule })
  assertProblem(await to({ type: 'IMMEDIATE' }), 'SCHEDULE_NOT_CHANGEABLE', '/schedule')
  const past = { type: 'ONE_TIME', scheduled_time: '2026-01-01T00:00:00Z' }
  assertProblem(await to(past), 'SCHEDULE_NOT_CHANGEABLE', '/schedule/scheduled_time')
  const over = { type: 'CRON', end_at: '2025-01-01T00:00:00Z' }
  const answer = await to(over)
  assertProblem(answer, 'INVALID_SCHEDULE', '/schedule')
  assert.equal(answer.json().errors[0].code, 'NEVER_MATCHES')
  await patch({ schedule: { type: 'ONE_TIME', scheduled_time: '2026-01-01T01:00:00Z' } })
  await world.advance(2 * hourMs)
  await patch({ schedule: { scheduled_time: '2026-01-01T02:00:00+01:00' }, name: 'still' })
  const other = await to({ scheduled_time: '2026-01-01T01:00:01Z' })
  assertProblem(other, 'SCHEDULE_NOT_CHANGEABLE', '/schedule/scheduled_time')
})

test('nobody changes a job blindly: If-Match is required, and must be the present version', async (t) => {
  const { send, patch, call, jobId } = await setup(t)
  assertProblem(await send({ name: 'b' }, {}), 'IF_MATCH_REQUIRED', 'If-Match')
  assertProblem(await send({ name: 1 }, {}), 'IF_MATCH_REQUIRED', 'If-Match')
  await patch({ name: 'b' })
  for (const stale of ['"1"', 'W/"2"', '"1", W/"2"', '"x"', '""'])
    assertProblem(await send({ name: 'c' }, { 'if-match': stale }), 'VERSION_STALE', 'If-Match')
  assert.match((await send({ name: 'c' }, { 'if-match': '"1"' })).json().detail, /version 2/)
  for (const bad of ['', '2', '"2', '"2" "3"', '"2",', '* "2"', `"${'x'.repeat(2_000)}"`])
    assertProblem(await send({ name: 'c' }, { 'if-match': bad }), 'INVALID_REQUEST', 'If-Match')
  assert.equal((await send({ name: 'c' }, { 'if-match': 'W/"1" , "7",\t"2"' })).statusCode, 200)
  await call('PATCH', `/jobs/${jobId}/pause`)
  assert.equal(
    (await send({ name: 'd' }, { 'if-match': '"3"' })).statusCode,
    200,
    'a pause is no new version',
  )
})

test('a merge patch may say that it is one; other calls take none', async (t) => {
  const { send, call } = await setup(t)
  const type = { 'content-type': 'application/merge-patch+json' }
  assert.equal((await send({ name: 'b' }, { 'if-match': '*', ...type })).statusCode, 200)
  assertProblem(await call('POST', '/jobs', {}, type), 'UNSUPPORTED_MEDIA_TYPE')
  const other = { 'if-match': '*', 'content-type': 'application/json-patch+json' }
  assertProblem(await send({ name: 'b' }, other), 'UNSUPPORTED_MEDIA_TYPE')
})

test('each wrong patch is refused at its place and changes nothing', async (t) => {
  const { send, call, created, jobId, woken } = await setup(t)
  const refused: [Record<string, unknown>, string][] = [
    [{ name: null }, '/name'],
    [{ name: '' }, '/name'],
    [{ schedule: null }, '/schedule'],
    [{ execution: null }, '/execution'],
    [{ execution: { callback_url: null } }, '/execution/callback_url'],
    [{ execution: { callback_url: 'localhost' } }, '/execution/callback_url'],
    [{ execution: { method: 'GET' } }, '/execution/payload'],
    [{ execution: { payload: { c: 'x'.repeat(256 * 1024) } } }, '/execution/payload'],
    [{ execution: { headers: { Host: 'x' } } }, '/execution/headers/Host'],
    [{ tags: [''] }, '/tags/0'],
    [{ metadata: { a: 1 } }, '/metadata/a'],
    [{ priority: 0 }, '/priority'],
    [{}, ''],
    ...['job_id', 'status', 'version', 'created_at', 'stats', 'pause'].map(
      (name): [Record<string, unknown>, string] => [{ [name]: 'x' }, `/${name}`],
    ),
  ]
  for (const [body, pointer] of refused) assertProblem(await send(body), 'INVALID_REQUEST', pointer)
  assertProblem(await send({ schedule: { next_run_at: 'x' } }), 'INVALID_REQUEST', '/schedule/next_run_at')
  assertProblem(await send({ schedule: '61 * * * *' }), 'INVALID_SCHEDULE', '/schedule')
  assertProblem(await send({ region: null }), 'NOT_SUPPORTED_YET', '/region')
  assertProblem(await send({ jitter_seconds: 86_400 }), 'INVALID_REQUEST', '/jitter_seconds')
  assertProblem(await send({ concurrency_key: { key: 'a' } }), 'INVALID_REQUEST', '/concurrency_key/limit')
  assertProblem(await send('null'), 'INVALID_REQUEST', '')
  assertProblem(await send('[]'), 'INVALID_REQUEST', '')
  for (const id of [nobody, 'nope'])
    assertProblem(await call('PATCH', `/jobs/${id}`, { name: 'b' }, { 'if-match': '*' }), 'JOB_NOT_FOUND')
  const shown = withoutHealth((await call('GET', `/jobs/${jobId}`)).json())
  assert.deepEqual(shown, created)
  assert.deepEqual(woken, [])
})

test('a key that another job has is refused, and a deleted job cannot be changed', async (t) => {
  const { send, call, jobId } = await setup(t)
  const other = { name: 'b', schedule: '@daily', execution: { callback_url: callbackUrl }, key: 'taken' }
  await call('POST', '/jobs', other)
  assertProblem(await send({ key: 'taken' }), 'JOB_KEY_TAKEN', '/key')
  assert.equal((await send({ key: 'free' })).json().key, 'free')
  await call('DELETE', `/jobs/${jobId}`)
  assertProblem(await send({ name: 'c' }), 'JOB_DELETED')
})

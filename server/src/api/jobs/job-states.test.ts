import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, runAll, setupApp, testWorker, testWorkerId } from '../../../test/app.ts'
import { sharedLane } from '../../domain/queue/lane.ts'
import { hourMs } from '../../lib/time/units.ts'

const nobody = '0192abcd-ef01-7000-8000-000000000001'

async function setup(t: TestContext, schedule: unknown = '@hourly') {
  const parts = await setupApp(t)
  const execution = { callback_url: 'http://127.0.0.1:7420/echo' }
  const { job_id: jobId } = (await parts.call('POST', '/jobs', { name: 'a', schedule, execution })).json()
  parts.woken.length = 0
  const path = `/jobs/${jobId}`
  const pause = (body?: unknown, headers?: Record<string, string>) =>
    parts.call('PATCH', `${path}/pause`, body, headers)
  const resume = (body?: unknown, headers?: Record<string, string>) =>
    parts.call('PATCH', `${path}/resume`, body, headers)
  const remove = (query = '', headers?: Record<string, string>) =>
    parts.call('DELETE', `${path}${query}`, undefined, headers)
  return { ...parts, jobId, path, pause, resume, remove }
}

test('a paused job does not fire, and says why; resumed it goes on', async (t) => {
  const { world, jobId, path, call, pause, resume, woken } = await setup(t)
  const answer = await pause({ reason: 'The warehouse moves', until: '2026-01-02T01:00:00+01:00' })
  assert.equal(answer.statusCode, 200, answer.body)
  const since = '2026-01-01T00:00:00Z'
  const kept = { since, reason: 'The warehouse moves', by: 'operator', until: '2026-01-02T00:00:00Z' }
  assert.deepEqual(answer.json(), {
    job_id: jobId,
    status: 'PAUSED',
    pause: kept,
    next_run_at: null,
    version: 1,
    updated_at: since,
  })
  assert.equal(answer.headers['etag'], '"1"')
  const shown = (await call('GET', path)).json()
  assert.deepEqual([shown.status, shown.pause, shown.schedule.next_run_at], ['PAUSED', kept, null])
  await world.advance(2.5 * hourMs)
  const again = (await pause()).json()
  assert.deepEqual(again.pause, { since, reason: null, by: 'operator', until: null })
  const resumed = (await resume()).json()
  assert.deepEqual(
    [resumed.status, resumed.pause, resumed.next_run_at],
    ['ACTIVE', null, '2026-01-01T03:00:00Z'],
  )
  assert.equal((await resume({})).json().status, 'ACTIVE')
  assert.deepEqual(new Set(woken), new Set(['changes']))
  const { executions } = (await call('GET', `${path}/executions?status=SKIPPED`)).json()
  assert.deepEqual(
    executions.map((one: Record<string, string>) => [one['scheduled_time'], one['reason']]),
    [
      ['2026-01-01T02:00:00Z', 'paused'],
      ['2026-01-01T01:00:00Z', 'paused'],
    ],
  )
})

test('skipped slots are told by the schedule that they were skipped under', async (t) => {
  const { world, path, call, pause, resume } = await setup(t, '0 */2 * * *')
  await pause()
  await world.advance(4 * hourMs)
  await resume()
  await call('PATCH', path, { schedule: '0 5 * * *' }, { 'if-match': '*' })
  await pause()
  await world.advance(2 * hourMs)
  await resume()
  const { executions } = (await call('GET', `${path}/executions?status=SKIPPED`)).json()
  assert.deepEqual(
    executions.map((one: { scheduled_time: string }) => one.scheduled_time.slice(11, 13)),
    ['05', '04', '02'],
  )
})

test('a deleted job is hidden, can still be read, and cannot come back', async (t) => {
  const { path, jobId, call, pause, resume, remove } = await setup(t)
  const { execution_id: executionId } = (await call('POST', `${path}/trigger`)).json()
  const answer = await remove()
  assert.equal(answer.statusCode, 200, answer.body)
  const { updated_at: _, ...state } = answer.json()
  assert.deepEqual(state, { job_id: jobId, status: 'DELETED', pause: null, next_run_at: null, version: 1 })
  assert.deepEqual((await remove('?cancel_running=false')).json(), answer.json())
  assert.equal((await call('GET', path)).json().status, 'DELETED')
  assert.equal((await call('GET', `/executions/${executionId}`)).json().status, 'CANCELLED')
  assertProblem(await pause(), 'JOB_DELETED')
  assertProblem(await resume(), 'JOB_DELETED')
})

for (const { query, status, wake } of [
  { query: '', status: 'RUNNING', wake: ['changes', 'waiting'] },
  { query: '?cancel_running=true', status: 'CANCELLING', wake: ['changes', 'waiting', 'cancels'] },
]) {
  test(`a running execution of a job that is deleted with "${query}" is ${status}`, async (t) => {
    const { path, call, remove, woken, memory } = await setup(t)
    const { execution_id: executionId } = (await call('POST', `${path}/trigger`)).json()
    await memory.maintenance.release([path.slice('/jobs/'.length)], () => ({
      ...{ go: [executionId], owed: null, cancel: null, next: null, executions: [] },
    }))
    const workerId = testWorkerId
    await memory.leases.register(testWorker())
    const lanes = [{ lane: sharedLane, count: 10 }]
    const order = { workerId, routes: ['server'], lanes, hosts: [], batchesMax: 10 }
    const { live } = await memory.queue.claim(order)
    assert.equal(live.length, 1)
    woken.length = 0
    assert.equal((await remove(query)).statusCode, 200)
    assert.deepEqual(woken, wake)
    assert.equal((await call('GET', `/executions/${executionId}`)).json().status, status)
  })
}

test('a completed job can neither be paused nor resumed, only deleted', async (t) => {
  const { pause, resume, remove, memory, world } = await setup(t, { type: 'IMMEDIATE' })
  await runAll({ memory, world })
  assertProblem(await pause(), 'JOB_COMPLETED')
  assertProblem(await resume(), 'JOB_COMPLETED')
  assert.equal((await remove()).json().status, 'DELETED')
})

test('a job that runs once is told so while its execution is live, not that it is completed', async (t) => {
  const { path, call, pause, resume, memory, world } = await setup(t, { type: 'IMMEDIATE' })
  assert.equal((await call('GET', path)).json().status, 'ACTIVE')
  for (const answer of [await pause(), await resume()]) {
    assertProblem(answer, 'JOB_COMPLETED')
    const { title, detail } = answer.json()
    assert.equal(title, 'The job has no slot left')
    assert.match(detail, /runs once and its execution is under way, so it can be neither paused nor resumed/)
    assert.doesNotMatch(answer.body, /is completed/)
  }
  await runAll({ memory, world })
  assert.match((await pause()).json().detail, /has no slot left\.$/)
})

test('If-Match is optional here, and holds', async (t) => {
  const { pause, resume, remove } = await setup(t)
  const stale = { 'if-match': '"2"' }
  assertProblem(await pause({}, stale), 'VERSION_STALE', 'If-Match')
  assertProblem(await resume({}, stale), 'VERSION_STALE', 'If-Match')
  assertProblem(await remove('', stale), 'VERSION_STALE', 'If-Match')
  assertProblem(await remove('', { 'if-match': '2' }), 'INVALID_REQUEST', 'If-Match')
  assert.equal((await pause({}, { 'if-match': '"1"' })).statusCode, 200)
})

test('each wrong call is refused at its place', async (t) => {
  const { call, pause, resume, remove, woken } = await setup(t)
  for (const until of ['2026-01-01T00:00:00Z', '2025-06-01T00:00:00Z', '2036-06-01T00:00:00Z'])
    assertProblem(await pause({ until }), 'INVALID_REQUEST', '/until')
  for (const until of ['2026-06-01T00:00:00', 'tomorrow', 5, '2026-06-31T00:00:00Z'])
    assertProblem(await pause({ until }), 'INVALID_REQUEST', '/until')
  assertProblem(await pause({ reason: 'x'.repeat(1_025) }), 'INVALID_REQUEST', '/reason')
  assertProblem(await pause({ why: 'x' }), 'INVALID_REQUEST', '/why')
  assertProblem(await resume({ reason: 'x' }), 'INVALID_REQUEST', '/reason')
  assertProblem(await remove('?cancel_running=1'), 'INVALID_REQUEST', 'cancel_running')
  for (const id of [nobody, 'nope', '%00']) {
    for (const verb of ['pause', 'resume'])
      assertProblem(await call('PATCH', `/jobs/${id}/${verb}`), 'JOB_NOT_FOUND')
    assertProblem(await call('DELETE', `/jobs/${id}`), 'JOB_NOT_FOUND')
  }
  assert.deepEqual(woken, [])
})

test('a DELETE with a body is refused, since it would be ignored', async (t) => {
  const { call } = await setupApp(t)
  const job = { name: 'a', schedule: '@daily', execution: { callback_url: 'https://example.com/' } }
  const { job_id: jobId } = (await call('POST', '/jobs', job)).json()
  assertProblem(await call('DELETE', `/jobs/${jobId}`, { dry_run: true }), 'INVALID_REQUEST', '')
  assert.equal((await call('GET', `/jobs/${jobId}`)).json().status, 'ACTIVE')
  assert.equal((await call('DELETE', `/jobs/${jobId}`)).json().status, 'DELETED')
})

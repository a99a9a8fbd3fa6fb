import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { addTenant } from '../../../test/access.ts'
import { assertProblem, setupApp, testWorker, testWorkerId } from '../../../test/app.ts'
import { tokenOf, triggerMany } from '../../../test/worker-calls.ts'
import { sharedLane } from '../../domain/queue/lane.ts'
import { serverRoute } from '../../domain/queue/route.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import type { ClaimedLive } from '../../ports/queue.ts'

const target = { execution: { callback_url: 'http://127.0.0.1:7420/echo', timeout_seconds: 60 } }

async function setup(t: TestContext, changes: object = {}) {
  const parts = await setupApp(t)
  const { app, call, memory, world } = parts
  const { executionIds } = await triggerMany(parts, 1, { ...target, ...changes })
  const executionId = executionIds[0]!
  await memory.leases.register(testWorker())
  /** A worker of ours calls the target. */
  const claim = async (): Promise<ClaimedLive> => {
    const lanes = [{ lane: sharedLane, count: 10 }]
    const order = { workerId: testWorkerId, routes: [serverRoute], lanes, hosts: [], batchesMax: 10 }
    const { live } = await memory.queue.claim(order)
    return live[0]!
  }
  /** The target answers 202. */
  const await202 = async ({ fence, attempt }: ClaimedLive) => {
    const startedAt = world.clock.databaseNow()
    const ending = { kind: 'awaiting', startedAt, deadline: epochMs(startedAt + 60_000) } as const
    const { missing } = await memory.queue.finishLive(testWorkerId, [{ executionId, fence, attempt, ending }])
    assert.deepEqual(missing, [])
  }
  const token = (attempt = 1, fence = attempt) => tokenOf(parts, { executionId, attempt, fence })
  /** With the token alone. */
  const say = async (what: string, body?: unknown, headers: Record<string, string> | null = null) => {
    const url = `/api/v1/executions/${executionId}/${what}`
    const sent = { 'content-type': 'application/json', ...(headers ?? { 'x-carillon-token': await token() }) }
    return app.inject({ method: 'POST', url, headers: sent, payload: JSON.stringify(body ?? {}) })
  }
  const show = async () => (await call('GET', `/executions/${executionId}`)).json()
  return { ...parts, executionId, claim, await202, token, say, show }
}

const succeeded = { status: 'succeeded', result: { rows: 5 } }
const failed = { status: 'failed', error: { message: 'no such table' } }

test('a target that answered 202 says later how it ended, and may say so twice', async (t) => {
  const { executionId, claim, await202, say, show, woken, world } = await setup(t)
  await await202(await claim())
  assert.equal((await show()).status, 'RUNNING')
  await world.advance(5_000)
  woken.length = 0
  const answer = await say('complete', succeeded)
  assert.deepEqual(
    [answer.statusCode, answer.json()],
    [200, { execution_id: executionId, status: 'SUCCEEDED' }],
  )
  assert.equal(answer.headers['cache-control'], 'no-store')
  assert.deepEqual(woken, ['waiting'])
  const { status, attempts } = await show()
  assert.equal(status, 'SUCCEEDED')
  const [{ http_status: http, duration_ms: ms, worker_id: worker, response_preview: preview }] = attempts
  assert.deepEqual([http, ms, worker, preview], [202, 5_000, testWorkerId, '{"rows":5}'])
  assert.deepEqual((await say('complete', succeeded)).json(), answer.json())
  const otherwise = await say('complete', failed)
  assertProblem(otherwise, 'EXECUTION_FINISHED')
  assert.equal(otherwise.json().execution_status, 'SUCCEEDED')
  assertProblem(await say('heartbeat'), 'EXECUTION_FINISHED')
  assertProblem(await say('logs', { first_line: 0, lines: [{ message: 'late' }] }), 'EXECUTION_FINISHED')
})

test('another result for an attempt that is recorded is refused, and the log says so', async (t) => {
  const { executionId, claim, await202, say, show, call } = await setup(t)
  await await202(await claim())
  const result = { rows: 5, at: { from: 1, to: 2 } }
  assert.equal((await say('complete', { status: 'succeeded', result })).statusCode, 200)
  const reordered = { status: 'succeeded', result: { at: { to: 2, from: 1 }, rows: 5 } }
  assert.equal((await say('complete', reordered)).json().status, 'SUCCEEDED')
  const others = [{ ...result, rows: 6 }, { rows: 5 }, [result], null, '', undefined]
  for (const other of others) {
    const answer = await say('complete', { status: 'succeeded', result: other })
    assertProblem(answer, 'RESULT_DIFFERS')
    assert.equal(answer.json().execution_status, 'SUCCEEDED')
  }
  assert.equal((await show()).attempts[0].response_preview, JSON.stringify(result))
  const { logs } = (await call('GET', `/executions/${executionId}/logs`)).json()
  assert.deepEqual(
    logs.map((one: { message: string }) => one.message),
    ['A late result of attempt 1 (SUCCEEDED) from its target was refused: another one was recorded before.'],
  )
})

test('a completion without a result, and one above 4 KB, may be repeated and not changed', async (t) => {
  for (const [result, other] of [
    [undefined, 1],
    [{ text: 'ä'.repeat(4_000) }, { text: 'b'.repeat(4_000) }],
  ]) {
    const { claim, await202, say } = await setup(t)
    await await202(await claim())
    for (let times = 0; times < 2; times++)
      assert.equal((await say('complete', { status: 'succeeded', result })).statusCode, 200)
    assertProblem(await say('complete', { status: 'succeeded', result: other }), 'RESULT_DIFFERS')
  }
})

test('another error for a failed attempt is refused, whether or not a retry follows', async (t) => {
  for (const max_retries of [0, 1]) {
    const { claim, await202, say, show } = await setup(t, { retry_policy: { max_retries } })
    await await202(await claim())
    const status = max_retries === 0 ? 'FAILED' : 'RETRYING'
    const message = 'x'.repeat(2_000)
    const first = { status: 'failed', error: { message } }
    for (let times = 0; times < 2; times++) assert.equal((await say('complete', first)).json().status, status)
    for (const error of [{ message: 'no' }, { message, type: 'TIMEOUT' }]) {
      const answer = await say('complete', { status: 'failed', error })
      assertProblem(answer, 'RESULT_DIFFERS')
      assert.equal(answer.json().execution_status, status)
    }
    assert.equal((await show()).error.type, 'HANDLER_ERROR')
  }
})

test('a completion may come before the 202', async (t) => {
  const { claim, say, show, memory, executionId, world } = await setup(t)
  const { fence, attempt } = await claim()
  const { status: running, started_at: since } = await show()
  assert.deepEqual([running, Date.parse(since)], ['RUNNING', world.clock.databaseNow()])
  await world.advance(2_000)
  assert.equal((await say('complete', succeeded)).json().status, 'SUCCEEDED')
  const { status, worker_id: workerId, started_at: began, duration_ms: durationMs } = await show()
  assert.deepEqual([status, workerId], ['SUCCEEDED', testWorkerId])
  assert.deepEqual([began, durationMs], [since, 2_000], 'it counts from the claim')
  const startedAt = epochMs(0)
  const ending = { kind: 'awaiting', startedAt, deadline: startedAt } as const
  const late = await memory.queue.finishLive(testWorkerId, [{ executionId, fence, attempt, ending }])
  assert.deepEqual(late.missing, [executionId])
})

test('a failure is retried, and a late word about the first attempt is not for the second', async (t) => {
  const { claim, await202, say, show, world, memory, token, woken } = await setup(t)
  await await202(await claim())
  woken.length = 0
  assert.equal((await say('complete', failed)).json().status, 'RETRYING')
  assert.deepEqual(woken, ['waiting', 'retries'])
  const { error } = await show()
  assert.deepEqual(error, { type: 'HANDLER_ERROR', message: 'no such table', http_status: 202 })
  assert.equal((await say('complete', failed)).json().status, 'RETRYING')
  await world.advance(2_000)
  await memory.maintenance.wake(10)
  await await202(await claim())
  assertProblem(await say('complete', succeeded), 'ATTEMPT_OVER')
  assertProblem(await say('heartbeat'), 'ATTEMPT_OVER')
  assertProblem(await say('logs', { first_line: 0, lines: [{ message: 'a' }] }), 'ATTEMPT_OVER')
  assert.equal((await show()).status, 'RUNNING')
  const second = { 'x-carillon-token': await token(2) }
  assert.equal((await say('complete', succeeded, second)).json().status, 'SUCCEEDED')
})

test('a word about a call that was handed back is not for the next call of the same attempt', async (t) => {
  const { claim, await202, say, show, memory, token } = await setup(t)
  const first = await claim()
  // As a worker that drains: it has called the target, and hands the execution back.
  await memory.queue.releaseUnknown(testWorkerId, [])
  const old = { 'x-carillon-token': await token(1, first.fence) }
  assertProblem(await say('complete', succeeded, old), 'ATTEMPT_OVER')
  const second = await claim()
  assert.deepEqual([second.attempt, second.fence], [first.attempt, first.fence + 1])
  for (const settle of [async () => {}, () => await202(second)]) {
    await settle()
    assertProblem(await say('complete', succeeded, old), 'ATTEMPT_OVER')
    assertProblem(await say('heartbeat', { progress: 0.5 }, old), 'ATTEMPT_OVER')
    assertProblem(await say('logs', { first_line: 0, lines: [{ message: 'a' }] }, old), 'ATTEMPT_OVER')
  }
  assert.equal((await show()).status, 'RUNNING')
  const current = { 'x-carillon-token': await token(1, second.fence) }
  assert.equal((await say('heartbeat', {}, current)).statusCode, 200)
  assert.equal((await say('complete', succeeded, current)).json().status, 'SUCCEEDED')
  assert.equal((await say('complete', succeeded, current)).json().status, 'SUCCEEDED')
})

test('a failure that is final is not retried', async (t) => {
  const { claim, await202, say, show } = await setup(t)
  await await202(await claim())
  const answer = await say('complete', { status: 'failed', error: { message: 'never', final: true } })
  assert.equal(answer.json().status, 'FAILED')
  assert.equal((await show()).dead_letter, true)
})

test('a cancelled execution ends as CANCELLED, and its target is notified', async (t) => {
  const { claim, await202, say, show, call, executionId } = await setup(t)
  await await202(await claim())
  assert.equal((await call('POST', `/executions/${executionId}/cancel`)).statusCode, 202)
  assert.equal((await say('heartbeat')).json().status, 'CANCELLING')
  assert.equal((await say('complete', succeeded)).json().status, 'CANCELLED')
  assert.equal((await say('complete', succeeded)).json().status, 'CANCELLED')
  assert.equal((await show()).status, 'CANCELLED')
})

test('a heartbeat tells how far it is and answers with the latest checkpoint', async (t) => {
  const { claim, await202, say, show } = await setup(t)
  await await202(await claim())
  const first = await say('heartbeat', { progress: 0.25, message: 'a quarter', checkpoint: { row: 1 } })
  assert.deepEqual([first.json().status, first.json().checkpoint], ['RUNNING', { row: 1 }])
  const second = await say('heartbeat')
  assert.deepEqual(second.json().checkpoint, { row: 1 })
  const { progress, checkpoint } = await show()
  assert.deepEqual([progress.fraction, progress.message, checkpoint], [0.25, 'a quarter', { row: 1 }])
  const large = { checkpoint: 'x'.repeat(64 * 1024) }
  assertProblem(await say('heartbeat', large), 'INVALID_REQUEST', '/checkpoint')
  assertProblem(await say('heartbeat', { progress: 2 }), 'INVALID_REQUEST', '/progress')
})

test('lines are kept once', async (t) => {
  const { claim, await202, say, call, executionId } = await setup(t)
  await await202(await claim())
  const at = '2026-01-31T09:00:00Z'
  const part = { first_line: 0, lines: [{ message: 'a', level: 'warn', at }, { message: 'b' }] }
  assert.equal((await say('logs', part)).statusCode, 204)
  assert.equal((await say('logs', part)).statusCode, 204)
  const { logs } = (await call('GET', `/executions/${executionId}/logs`)).json()
  assert.deepEqual(logs, [
    { attempt_number: 1, line: 0, at, level: 'warn', message: 'a' },
    { attempt_number: 1, line: 1, at: '2026-01-01T00:00:00Z', level: 'info', message: 'b' },
  ])
})

test('only the token of the attempt opens it, in either header', async (t) => {
  const parts = await setup(t)
  const { claim, await202, say, token, executionId, call } = parts
  await await202(await claim())
  const other = await tokenOf(parts, { executionId: '0192abcd-ef01-7000-8000-000000000001', attempt: 1 })
  const wrong: Record<string, string>[] = [
    {},
    { 'x-carillon-token': '' },
    { 'x-carillon-token': other },
    { 'x-carillon-token': `${await token()}x` },
    { authorization: 'Bearer crl_test-operator-key' },
    { authorization: `Basic ${await token()}` },
  ]
  for (const headers of wrong) {
    for (const what of ['complete', 'heartbeat', 'logs']) {
      const answer = await say(what, {}, headers)
      assertProblem(answer, 'INVALID_TOKEN')
      assert.match(String(answer.headers['www-authenticate']), /^Bearer/)
    }
  }
  // It is a token of another tenant's: nothing of that tenant has this id.
  const tenantId = await addTenant(call, 'sales')
  const foreign = await tokenOf(parts, { executionId, attempt: 1, tenantId })
  assertProblem(await say('complete', succeeded, { 'x-carillon-token': foreign }), 'EXECUTION_NOT_FOUND')
  const bearer = { authorization: `Bearer ${await token()}` }
  assert.equal((await say('complete', succeeded, bearer)).statusCode, 200)
})

test('an execution speaks a bounded number of times a second', async (t) => {
  const { claim, await202, say, world } = await setup(t)
  await await202(await claim())
  for (let i = 0; i < 40; i++) assert.equal((await say('heartbeat')).statusCode, 200)
  const refused = await say('heartbeat')
  assertProblem(refused, 'RATE_LIMITED')
  assert.equal(refused.headers['retry-after'], '1')
  await world.advance(1_000)
  assert.equal((await say('heartbeat')).statusCode, 200)
})

test('an execution that is moving is looked for again, and not for ever', async (t) => {
  const { claim, await202, say, memory, show } = await setup(t)
  await await202(await claim())
  const { find, report } = memory.attempts
  let looks = 0
  memory.attempts.find = async (ids) => {
    looks += 1
    return looks < 3 ? [] : find.call(memory.attempts, ids)
  }
  let reports = 0
  memory.attempts.report = async (given) => {
    reports += 1
    return reports < 2
      ? { refused: given.map((one) => one.executionId), cancelled: [] }
      : report.call(memory.attempts, given)
  }
  assert.equal((await say('complete', succeeded)).json().status, 'SUCCEEDED')
  assert.deepEqual([looks, reports, (await show()).status], [4, 2, 'SUCCEEDED'])
  const lost = await setup(t)
  await lost.await202(await lost.claim())
  lost.memory.attempts.find = async () => []
  assertProblem(await lost.say('complete', succeeded), 'ATTEMPT_OVER')
})

test('a word that does not fit is refused at its place', async (t) => {
  const { claim, await202, say } = await setup(t)
  await await202(await claim())
  assertProblem(await say('complete', { status: 'failed' }), 'INVALID_REQUEST', '/error')
  assertProblem(await say('complete', { ...succeeded, ...failed }), 'INVALID_REQUEST', '/result')
  assertProblem(await say('complete', { status: 'released' }), 'INVALID_REQUEST', '/status')
  assertProblem(await say('complete', {}), 'INVALID_REQUEST', '/status')
  assertProblem(await say('logs', { first_line: 0, lines: [] }), 'INVALID_REQUEST', '/lines')
  const odd = { first_line: 0, lines: [{ message: 'a', at: '2026-02-30T00:00:00Z' }] }
  assertProblem(await say('logs', odd), 'INVALID_REQUEST', '/lines/0/at')
})

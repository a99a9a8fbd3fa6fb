import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { addKey, addTenant } from '../../../test/access.ts'
import { assertProblem, setupApp } from '../../../test/app.ts'
import { type ClaimedHere, markOf, triggerMany, workerCalls } from '../../../test/worker-calls.ts'

async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const calls = workerCalls(parts)
  const workerId = await calls.register()
  const { executionIds } = await triggerMany(parts, 1, { retry_policy: { initial_delay_ms: 1 } })
  const path = `/executions/${executionIds[0]}/logs`
  const read = async (query = '') => {
    const answer = await parts.call('GET', `${path}${query}`)
    assert.equal(answer.statusCode, 200, answer.body)
    const { logs, next_cursor: next } = answer.json()
    const lines = logs.map(
      (one: { attempt_number: number; line: number; message: string }) =>
        `${one.attempt_number}.${one.line} ${one.message}`,
    )
    return { lines, next }
  }
  const log = (one: ClaimedHere, first_line: number, ...messages: string[]) => {
    const logs = { first_line, lines: messages.map((message) => ({ message })) }
    return calls.beat(workerId, [{ ...markOf(one), logs }])
  }
  return { ...parts, ...calls, workerId, path, read, log }
}

test('a log is followed while the execution runs, through its attempts, to its end', async (t) => {
  const { workerId, take, report, read, log, world, memory } = await setup(t)
  const before = await read()
  assert.deepEqual(before.lines, [])
  const [one] = await take(workerId)
  await log(one!, 0, 'a', 'b', 'c')
  const first = await read(`?limit=2&cursor=${before.next}`)
  assert.deepEqual(first.lines, ['1.0 a', '1.1 b'])
  const second = await read(`?cursor=${first.next}`)
  assert.deepEqual(second.lines, ['1.2 c'])
  const none = await read(`?cursor=${second.next}`)
  assert.deepEqual(none, { lines: [], next: second.next })
  await report(workerId, [{ ...markOf(one!), status: 'failed', error: { message: 'no' } }])
  assert.notEqual((await read()).next, null)
  assert.equal((await read('?attempt=1')).next, null)
  await world.advance(10)
  await memory.maintenance.wake(10)
  const [two] = await take(workerId)
  await log(two!, 0, 'd')
  await report(workerId, [{ ...markOf(two!), status: 'succeeded' }])
  const rest = await read(`?cursor=${none.next}`)
  assert.deepEqual(rest, { lines: ['2.0 d'], next: null })
  assert.deepEqual((await read('?attempt=2')).lines, ['2.0 d'])
  const most = await read('?limit=3')
  assert.equal(most.lines.length, 3)
  assert.deepEqual(await read(`?limit=3&cursor=${most.next}`), { lines: ['2.0 d'], next: null })
  const all = await read('?limit=4')
  assert.deepEqual([all.lines.length, all.next], [4, null], 'nothing is behind a full page')
})

test('each invalid query is refused by its parameter, and an unknown execution is not found', async (t) => {
  const { call, path } = await setup(t)
  for (const [query, name, code] of [
    ['limit=0', 'limit', 'INVALID_REQUEST'],
    ['limit=1001', 'limit', 'INVALID_REQUEST'],
    ['attempt=0', 'attempt', 'INVALID_REQUEST'],
    ['cursor=nonsense', 'cursor', 'INVALID_CURSOR'],
    [`cursor=${Buffer.from('["logs","1.x"]').toString('base64url')}`, 'cursor', 'INVALID_CURSOR'],
  ] as const)
    assertProblem(await call('GET', `${path}?${query}`), code, name)
  assertProblem(await call('GET', '/executions/nope/logs'), 'EXECUTION_NOT_FOUND')
  const tenantId = await addTenant(call, 'sales')
  const { headers } = await addKey(call, tenantId)
  assertProblem(await call('GET', path, undefined, headers), 'EXECUTION_NOT_FOUND')
})

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, setupApp } from '../../../test/app.ts'
import { operationsMax } from '../../domain/jobs/operation.ts'

const nobody = '0192abcd-ef01-7000-8000-000000000001'

async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const { call, woken } = parts
  const execution = { callback_url: 'http://127.0.0.1:7420/echo' }
  for (const tags of [['x'], ['x'], ['y']])
    await call('POST', '/jobs', { name: 'a', tags, schedule: '@daily', execution })
  woken.length = 0
  const bulk = (body: unknown, headers?: Record<string, string>) => call('POST', '/jobs/bulk', body, headers)
  /** An operation that must be taken. */
  const start = async (body: unknown) => {
    const answer = await bulk(body)
    assert.equal(answer.statusCode, 202, answer.body)
    return answer.json()
  }
  return { ...parts, bulk, start }
}

test('a bulk request becomes an operation that can be watched', async (t) => {
  const { bulk, call, woken, memory } = await setup(t)
  const until = '2026-02-01T00:00:00Z'
  const answer = await bulk({ action: 'pause', filter: { tag: 'x', status: 'ACTIVE' }, reason: 'why', until })
  assert.equal(answer.statusCode, 202, answer.body)
  const { operation_id: operationId, ...operation } = answer.json()
  assert.deepEqual(operation, {
    kind: 'pause',
    status: 'RUNNING',
    filter: { tag: 'x', status: 'ACTIVE' },
    progress: { total: 2, total_capped: false, done: 0, skipped: 0 },
    error: null,
    created_by: 'operator',
    created_at: '2026-01-01T00:00:00Z',
    finished_at: null,
  })
  assert.equal(answer.headers['location'], `/api/v1/operations/${operationId}`)
  assert.deepEqual(woken, ['operations'])
  assert.deepEqual((await call('GET', `/operations/${operationId.toUpperCase()}`)).json(), answer.json())
  const { options } = memory.store.operations.get(operationId)!.operation
  assert.deepEqual(options, { reason: 'why', until: Date.parse(until) })
})

test('a trigger of many takes a payload, null too', async (t) => {
  const { start, memory } = await setup(t)
  const optionsOf = async (body: object) => {
    const { operation_id: id } = await start({ action: 'trigger', filter: {}, ...body })
    return memory.store.operations.get(id)!.operation.options
  }
  assert.deepEqual(await optionsOf({ payload_override: null }), { payloadOverride: null })
  assert.deepEqual(await optionsOf({}), {})
})

test('operations are listed newest first, in pages', async (t) => {
  const { start, call } = await setup(t)
  const ids: string[] = []
  for (const action of ['pause', 'resume', 'delete'])
    ids.unshift((await start({ action, filter: {} })).operation_id)
  const page = (await call('GET', '/operations?limit=2')).json()
  const idsOf = (list: { operations: { operation_id: string }[] }) =>
    list.operations.map((one) => one.operation_id)
  assert.deepEqual([idsOf(page), page.pagination.total], [ids.slice(0, 2), 3])
  const rest = (await call('GET', `/operations?cursor=${page.pagination.next_cursor}`)).json()
  assert.deepEqual([idsOf(rest), rest.pagination.next_cursor], [ids.slice(2), null])
})

test('an operation is cancelled once, and stays so', async (t) => {
  const { start, call, world } = await setup(t)
  const { operation_id: operationId } = await start({ action: 'delete', filter: {} })
  await world.advance(1_000)
  const answer = await call('POST', `/operations/${operationId}/cancel`)
  assert.equal(answer.statusCode, 200, answer.body)
  const { status, finished_at: finishedAt } = answer.json()
  assert.deepEqual([status, finishedAt], ['CANCELLED', '2026-01-01T00:00:01Z'])
  await world.advance(1_000)
  assert.deepEqual((await call('POST', `/operations/${operationId}/cancel`, {})).json(), answer.json())
})

test('there is an end to how many are under way', async (t) => {
  const { start, bulk, call } = await setup(t)
  const body = { action: 'resume', filter: {} }
  for (let i = 0; i < operationsMax; i++) await start(body)
  assertProblem(await bulk(body), 'TOO_MANY_OPERATIONS')
  assertProblem(await call('POST', '/dead-letters/redrive', { filter: {} }), 'TOO_MANY_OPERATIONS')
})

test('to delete many takes the scope to delete one', async (t) => {
  const { call, bulk } = await setup(t)
  const { key } = (await call('POST', '/api-keys', { name: 'ops', scopes: ['operate'] })).json()
  const headers = { authorization: `Bearer ${key}` }
  assertProblem(await bulk({ action: 'delete', filter: {} }, headers), 'SCOPE_MISSING')
  assert.equal((await bulk({ action: 'pause', filter: {} }, headers)).statusCode, 202)
})

test('each wrong request is refused at its place', async (t) => {
  const { bulk, call, woken } = await setup(t)
  const refused: [object, string][] = [
    [{ action: 'resume', filter: {}, reason: 'x' }, '/reason'],
    [{ action: 'trigger', filter: {}, until: '2026-02-01T00:00:00Z' }, '/until'],
    [{ action: 'pause', filter: {}, payload_override: 1 }, '/payload_override'],
    [{ action: 'pause', filter: {}, until: '2025-02-01T00:00:00Z' }, '/until'],
    [{ action: 'trigger', filter: {}, payload_override: 'x'.repeat(256 * 1024) }, '/payload_override'],
    [{ action: 'stop', filter: {} }, '/action'],
    [{ action: 'pause' }, '/filter'],
    [{ action: 'pause', filter: { tags: ['x'] } }, '/filter/tags'],
    [{ action: 'pause', filter: { status: 'x' } }, '/filter/status'],
  ]
  for (const [body, pointer] of refused) assertProblem(await bulk(body), 'INVALID_REQUEST', pointer)
  for (const id of [nobody, 'nope', '%00']) {
    assertProblem(await call('GET', `/operations/${id}`), 'OPERATION_NOT_FOUND')
    assertProblem(await call('POST', `/operations/${id}/cancel`), 'OPERATION_NOT_FOUND')
  }
  assertProblem(await call('GET', '/operations?status=x'), 'INVALID_REQUEST', 'status')
  assert.deepEqual(woken, [])
})

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import test, { type TestContext } from 'node:test'
import { addTenant } from '../../../test/access.ts'
import { assertProblem, setupApp } from '../../../test/app.ts'
import { tokenOf } from '../../../test/worker-calls.ts'

async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const { app, call, world } = parts
  /** A completion of an execution that is not stored: its token is enough for the guard. */
  const complete = async (tenantId: string, payload: string | Readable = '{"status":"succeeded"}') => {
    const executionId = world.ids.next()
    const token = await tokenOf(parts, { tenantId, executionId, attempt: 1 })
    const headers = { 'content-type': 'application/json', 'x-carillon-token': token }
    const url = `/api/v1/executions/${executionId}/complete`
    return app.inject({ method: 'POST', url, headers, payload })
  }
  const tenants = [await addTenant(call, 'a'), await addTenant(call, 'b')] as const
  return { ...parts, complete, tenants }
}

test('completions whose bodies do not come take no place of others', async (t) => {
  const { complete, tenants } = await setup(t)
  const silent = Array.from({ length: 1_000 }, () => new Readable({ read() {} }))
  const slow = silent.map((payload) => complete(tenants[0], payload))
  for (const tenantId of tenants) assertProblem(await complete(tenantId), 'EXECUTION_NOT_FOUND')
  for (const payload of silent) payload.push(null)
  await Promise.all(slow)
})

test('a tenant has a quarter of the reports in progress, and the others go on', async (t) => {
  const { complete, memory, tenants } = await setup(t)
  const { promise, resolve } = Promise.withResolvers<[]>()
  const find = t.mock.method(memory.attempts, 'find', () => promise)
  const held = Array.from({ length: 250 }, () => complete(tenants[0]))
  while (find.mock.callCount() < 250) await new Promise(setImmediate)
  const refused = await complete(tenants[0])
  assertProblem(refused, 'TENANT_SHARE_USED')
  assert.equal(refused.headers['retry-after'], '1')
  assert.match(refused.json().detail, /^The tenant has 250 reports of attempts in progress/)
  const other = complete(tenants[1])
  resolve([])
  for (const answer of await Promise.all([...held, other])) assertProblem(answer, 'EXECUTION_NOT_FOUND')
  assertProblem(await complete(tenants[0]), 'EXECUTION_NOT_FOUND')
})

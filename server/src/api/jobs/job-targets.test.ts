import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { addTenant } from '../../../test/access.ts'
import { assertProblem, setupApp } from '../../../test/app.ts'
import { FORBIDDEN } from '../../../test/target-spellings.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import { createTargetGuard } from '../../lib/http/target-guard.ts'

const own = 'http://127.0.0.1:7420'
const refused = 'http://127.1:3000/hook'

/** An API that listens on loopback without a setting, and calls of its second tenant. */
async function setup(t: TestContext) {
  const { checkTarget } = createTargetGuard({
    ...{ privateTargets: { kind: 'own_tenant' }, resolveName: () => Promise.reject(new Error('not asked')) },
    ...{ ownTenantId: defaultTenantId, ownOrigin: () => own },
  })
  const parts = await setupApp(t, { checkTarget })
  const headers = { 'x-tenant-id': await addTenant(parts.call, 'second') }
  const second = (method: 'POST' | 'PUT' | 'PATCH', path: string, body: unknown, more = {}) =>
    parts.call(method, path, body, { ...headers, ...more })
  return { ...parts, second }
}

const job = (callback_url: string, changes: object = {}) => ({
  ...{ name: 'a', schedule: '@daily', execution: { callback_url } },
  ...changes,
})

test('on loopback a job of another tenant for a private target is refused in every spelling, and /echo is not', async (t) => {
  const { second, call } = await setup(t)
  const spellings = [
    'http://localhost:3000',
    'http://[::1]:3000',
    refused,
    'http://2130706433:8080',
    `${own}/metrics`,
  ]
  for (const url of [...spellings, ...FORBIDDEN['link-local']!, `${own}/echo/../api/v1/jobs`]) {
    const answer = await second('POST', '/jobs', job(url))
    assertProblem(answer, 'TARGET_FORBIDDEN', '/execution/callback_url')
    assert.match(
      answer.json().detail,
      /address, which is refused; an operator can allow it \(CARILLON_ALLOW_PRIVATE/,
    )
  }
  assert.equal((await second('POST', '/jobs', job(`${own}/echo?delay_ms=5`))).statusCode, 201)
  assert.equal((await second('POST', '/jobs', job('https://example.com/hook'))).statusCode, 201)
  for (const url of spellings) assert.equal((await call('POST', '/jobs', job(url))).statusCode, 201, url)
})

test('a change to a private target is refused like a new job: by PATCH and by key', async (t) => {
  const { second } = await setup(t)
  const pointer = '/execution/callback_url'
  const { job_id: jobId } = (await second('PUT', '/jobs/by-key/k', job(`${own}/echo`))).json()
  const patch = { execution: { callback_url: refused } }
  const answer = await second('PATCH', `/jobs/${jobId}`, patch, { 'if-match': '*' })
  assertProblem(answer, 'TARGET_FORBIDDEN', pointer)
  assertProblem(await second('PUT', '/jobs/by-key/k', job(refused)), 'TARGET_FORBIDDEN', pointer)
  assertProblem(await second('PUT', '/jobs/by-key/new', job(refused)), 'TARGET_FORBIDDEN', pointer)
})

test('the refusal of a target is told beside the other mistakes of a job', async (t) => {
  const { second } = await setup(t)
  const answer = await second('POST', '/jobs', job(refused, { nmae: 'b' }))
  const pointers = answer.json().errors.map((one: { pointer: string }) => one.pointer)
  assert.deepEqual(pointers.toSorted(), ['/execution/callback_url', '/nmae'])
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { addKey, addTenant } from '../../../test/access.ts'
import { assertProblem, setupApp } from '../../../test/app.ts'

test('each tenant has a signing key of its own, which it may change', async (t) => {
  const { call, world, woken } = await setupApp(t)
  const { headers } = await addKey(call, await addTenant(call, 'sales'))
  const first = (await call('GET', '/signing-key')).json()
  assert.match(first.key, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.equal(first.previous_until, null)
  assert.notEqual((await call('GET', '/signing-key', undefined, headers)).json().key, first.key)
  await world.advance(1_000)
  const changed = (await call('POST', '/signing-key/rotate')).json()
  assert.match(changed.key, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.notEqual(changed.key, first.key)
  assert.deepEqual(
    [changed.created_at, changed.previous_until],
    ['2026-01-01T00:00:01Z', '2026-01-02T00:00:01Z'],
  )
  assert.deepEqual((await call('GET', '/signing-key')).json(), changed)
  assert.ok(woken.includes('keys'), 'workers sign with it at once')
})

test('a rotation is not repeated after its answer was lost, unless it is forced', async (t) => {
  const { call, world } = await setupApp(t)
  const first = (await call('POST', '/signing-key/rotate')).json()
  assertProblem(await call('POST', '/signing-key/rotate'), 'SIGNING_KEY_NEW')
  assert.equal((await call('GET', '/signing-key')).json().key, first.key)
  const forced = (await call('POST', '/signing-key/rotate', { force: true })).json()
  assert.notEqual(forced.key, first.key)
  await world.advance(86_400_000)
  assert.equal((await call('GET', '/signing-key')).json().previous_until, null)
  assert.equal((await call('POST', '/signing-key/rotate')).statusCode, 200)
})

test('only the scope admin gets to see it', async (t) => {
  const { call } = await setupApp(t)
  const tenantId = await addTenant(call, 'sales')
  const { headers } = await addKey(call, tenantId, { scopes: ['read', 'write', 'operate'] })
  assertProblem(await call('GET', '/signing-key', undefined, headers), 'SCOPE_MISSING')
  assertProblem(await call('POST', '/signing-key/rotate', {}, headers), 'SCOPE_MISSING')
})

import assert from 'node:assert/strict'
import test from 'node:test'
import fastify from 'fastify'
import { addKey, addTenant } from '../../../test/access.ts'
import { assertProblem, setupApp } from '../../../test/app.ts'
import { SCOPES } from '../../domain/access/api-key.ts'
import { demandScopes } from './scope.ts'

const nobody = '0192abcd-ef01-7000-8000-000000000001'

/** One call of each kind; whether its target exists does not matter here. */
const calls = [
  { scope: 'read', method: 'GET', path: `/jobs/${nobody}` },
  { scope: 'read', method: 'GET', path: `/executions/${nobody}` },
  { scope: 'read', method: 'POST', path: '/schedules/preview', body: { schedule: '@daily' } },
  { scope: 'write', method: 'POST', path: '/jobs', body: {} },
  { scope: 'operate', method: 'POST', path: `/jobs/${nobody}/trigger` },
  { scope: 'operate', method: 'DELETE', path: `/dead-letters/${nobody}` },
  { scope: 'admin', method: 'GET', path: '/api-keys' },
  { scope: 'admin', method: 'POST', path: '/api-keys', body: {} },
  { scope: 'admin', method: 'DELETE', path: `/api-keys/${nobody}` },
] as const

test('each scope opens its own calls and no others; admin opens all', async (t) => {
  const { call } = await setupApp(t)
  const tenantId = await addTenant(call, 'sales')
  for (const held of SCOPES) {
    const { headers } = await addKey(call, tenantId, { scopes: [held] })
    for (const { scope, method, path, ...rest } of calls) {
      const answer = await call(method, path, 'body' in rest ? rest.body : undefined, headers)
      if (held === scope || held === 'admin') {
        assert.notEqual(answer.statusCode, 403, `${held}: ${method} ${path}`)
      } else {
        assertProblem(answer, 'SCOPE_MISSING')
        assert.match(answer.json().detail, new RegExp(`scope ${scope}`))
      }
    }
  }
})

test('routes for operators are closed to every tenant key, and require the scopes of the operator key too', async (t) => {
  const { call } = await setupApp(t)
  const tenantId = await addTenant(call, 'sales')
  const own = await addKey(call, tenantId, { scopes: ['admin'] })
  assertProblem(await call('GET', '/partitions', undefined, own.headers), 'OPERATOR_ONLY')
  assertProblem(await call('GET', '/tenants', undefined, own.headers), 'OPERATOR_ONLY')
  assertProblem(await call('POST', '/tenants', { name: 'mine' }, own.headers), 'OPERATOR_ONLY')
  const watcher = await addKey(call, tenantId, { scopes: ['read'], operator: true })
  assert.equal((await call('GET', '/partitions', undefined, watcher.headers)).statusCode, 200)
  assertProblem(await call('POST', '/tenants', { name: 'mine' }, watcher.headers), 'SCOPE_MISSING')
})

test('a route that says no scope stops the start', async (t) => {
  const app = fastify()
  t.after(() => app.close())
  demandScopes(app)
  app.get('/open', { config: { scope: 'read' } }, async () => '')
  assert.throws(
    () => app.get('/forgotten', async () => ''),
    /GET \/forgotten does not say which scope it wants/,
  )
})

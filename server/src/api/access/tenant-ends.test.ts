import assert from 'node:assert/strict'
import test from 'node:test'
import { addKey, addTenant } from '../../../test/access.ts'
import { assertProblem, setupApp } from '../../../test/app.ts'
import { markOf, workerCalls } from '../../../test/worker-calls.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import { endTenants } from '../../maintenance/end-tenants.ts'

type Setup = Awaited<ReturnType<typeof setupApp>>

const job = {
  name: 'report',
  schedule: { type: 'CRON', cron_expression: '0 * * * *' },
  execution: { callback_url: 'https://example.com/report' },
}

/** Until nothing is due. */
async function stepAll({ memory, world }: Pick<Setup, 'memory' | 'world'>): Promise<void> {
  const deps = { ...memory, ...world, onChanged() {}, onCancelled() {} }
  for (let steps = 0; steps < 50; steps++) if ((await endTenants(deps)) !== 'more') return
  assert.fail('it does not come to an end')
}

test('a tenant is deleted: its key is refused, its jobs are paused, and it is no longer listed', async (t) => {
  const app = await setupApp(t)
  const { call, woken } = app
  const tenantId = await addTenant(call, 'sales')
  const { key, headers } = await addKey(call, tenantId)
  const made = (await call('POST', '/jobs', job, headers)).json()
  const page = { 'x-carillon-client': 'dashboard' }
  const logIn = await app.app.inject({
    method: 'POST',
    url: '/api/v1/session',
    payload: { key },
    headers: page,
  })
  const cookie = String(logIn.headers['set-cookie']).split(';')[0]!
  const asPerson = { method: 'GET', url: '/api/v1/session', headers: { ...page, cookie } } as const
  assert.equal((await app.app.inject(asPerson)).statusCode, 200, logIn.body)
  const gone = await call('DELETE', `/tenants/${tenantId.toUpperCase()}`)
  assert.equal(gone.statusCode, 202, gone.body)
  const { tenant, operation } = gone.json()
  assert.deepEqual(
    [tenant.status, tenant.deleted_at, tenant.purge_at, tenant.purged_at],
    ['DELETED', '2026-01-01T00:00:00Z', '2026-01-08T00:00:00Z', null],
  )
  assert.deepEqual(
    [operation.kind, operation.status, operation.progress.total],
    ['tenant_delete', 'RUNNING', 1],
  )
  assert.equal(gone.headers['location'], `/api/v1/operations/${operation.operation_id}`)
  assert(woken.includes('operations'))
  const refused = await call('GET', '/jobs', undefined, headers)
  assertProblem(refused, 'UNAUTHENTICATED')
  assert.match(refused.json().detail, /tenant of the API key was deleted/)
  assertProblem(await app.app.inject(asPerson), 'UNAUTHENTICATED')
  assertProblem(
    await call('POST', '/workers/claim', { worker_id: made.job_id, count: 1 }, headers),
    'UNAUTHENTICATED',
  )
  await stepAll(app)
  const asTenant = { 'x-tenant-id': tenantId }
  const read = async (path: string) => (await call('GET', path, undefined, asTenant)).json()
  assert.equal((await read(`/operations/${operation.operation_id}`)).status, 'COMPLETED')
  const { status, pause } = await read(`/jobs/${made.job_id}`)
  assert.deepEqual(
    [status, pause?.reason ?? 'The tenant was deleted.'],
    ['PAUSED', 'The tenant was deleted.'],
  )
  assert.deepEqual((await call('GET', `/tenants/${tenantId}`)).json(), tenant)
  const listed = async (query: string) => {
    const { tenants, pagination } = (await call('GET', `/tenants${query}`)).json()
    return [tenants.map((one: { name: string }) => one.name), pagination.total]
  }
  assert.deepEqual(await listed(''), [['default'], 1])
  assert.deepEqual(await listed('?status=DELETED'), [['sales'], 1])
  assertProblem(await call('GET', '/tenants?status=GONE'), 'INVALID_REQUEST')
})

test('a worker of a deleted tenant reports the executions that it runs, and gets no others', async (t) => {
  const app = await setupApp(t)
  const { call } = app
  const tenantId = await addTenant(call, 'sales')
  const { headers } = await addKey(call, tenantId)
  const { register, claim, take, beat, report, leave } = workerCalls(app, headers)
  const workerId = await register()
  const ofWorker = { ...job, execution: { type: 'worker', handler: 'report' }, overlap_policy: 'ALLOW' }
  const { job_id: jobId } = (await call('POST', '/jobs', ofWorker, headers)).json()
  await call('POST', `/jobs/${jobId}/trigger`, {}, headers)
  const [running] = await take(workerId)
  await call('POST', `/jobs/${jobId}/trigger`, {}, headers)
  assert.equal((await call('DELETE', `/tenants/${tenantId}`)).statusCode, 202)
  assertProblem(await claim(workerId), 'UNAUTHENTICATED')
  assert.equal((await beat(workerId, [markOf(running!)])).statusCode, 200)
  const result = { ...markOf(running!), status: 'succeeded', result: 7 }
  assert.deepEqual((await report(workerId, [result])).json(), { accepted: 1, cancelled: [], refused: [] })
  const path = `/executions/${running!.execution_id}`
  const shown = (await call('GET', path, undefined, { 'x-tenant-id': tenantId })).json()
  assert.equal(shown.status, 'SUCCEEDED')
  assert.equal((await leave(workerId)).statusCode, 200)
  assertProblem(await call('POST', '/workers', { handlers: ['report'] }, headers), 'UNAUTHENTICATED')
})

test('an operator reads a deleted tenant and changes nothing of it', async (t) => {
  const { call } = await setupApp(t)
  const tenantId = await addTenant(call, 'sales')
  const asTenant = { 'x-tenant-id': tenantId }
  await call('POST', '/jobs', job, asTenant)
  await call('DELETE', `/tenants/${tenantId}`)
  assert.equal((await call('GET', '/jobs', undefined, asTenant)).statusCode, 200)
  assertProblem(await call('POST', '/jobs', job, asTenant), 'TENANT_DELETED')
  assertProblem(await call('POST', '/api-keys', { name: 'a', scopes: ['read'] }, asTenant), 'TENANT_DELETED')
  assertProblem(await call('PATCH', `/tenants/${tenantId}`, { name: 'sale' }), 'TENANT_DELETED')
  // The dashboard sends the header of the chosen tenant with every request.
  assertProblem(await call('POST', `/tenants/${tenantId}/restore`, undefined, asTenant), 'TENANT_BUSY')
})

test('a key that another server remembers makes no execution of a deleted tenant, and no job', async (t) => {
  const { call, memory } = await setupApp(t)
  const tenantId = await addTenant(call, 'sales')
  const { headers } = await addKey(call, tenantId)
  const { job_id: jobId } = (await call('POST', '/jobs', job, headers)).json()
  const order = { tenantId, operationId: jobId, requestedBy: 'ada', cancelRunning: false, purgeAfterMs: 0 }
  await memory.tenantEnds.delete(order)
  assertProblem(await call('POST', `/jobs/${jobId}/trigger`, {}, headers), 'JOB_NOT_FOUND')
  assertProblem(await call('POST', '/jobs', job, headers), 'TENANT_DELETED')
  const keyed = { ...job, schedule: { type: 'IMMEDIATE' } }
  assertProblem(await call('PUT', '/jobs/by-key/a', keyed, headers), 'TENANT_DELETED')
})

test('a restore undoes a delete once its jobs are paused', async (t) => {
  const app = await setupApp(t)
  const { call } = app
  const tenantId = await addTenant(call, 'sales')
  const { headers } = await addKey(call, tenantId)
  const { job_id: jobId } = (await call('POST', '/jobs', job, headers)).json()
  assertProblem(await call('POST', `/tenants/${tenantId}/restore`), 'TENANT_NOT_DELETED')
  await call('DELETE', `/tenants/${tenantId}?cancel_running=true&purge_after_seconds=86400`)
  const early = await call('POST', `/tenants/${tenantId}/restore`)
  assertProblem(early, 'TENANT_BUSY')
  assert.equal(early.headers['retry-after'], '1')
  await stepAll(app)
  const restored = await call('POST', `/tenants/${tenantId}/restore`)
  assert.equal(restored.statusCode, 202, restored.body)
  const { tenant, operation } = restored.json()
  assert.deepEqual([tenant.status, tenant.deleted_at, tenant.purge_at], ['ACTIVE', null, null])
  assert.equal(operation.kind, 'tenant_restore')
  await stepAll(app)
  const found = await call('GET', `/jobs/${jobId}`, undefined, headers)
  assert.deepEqual([found.statusCode, found.json().status], [200, 'ACTIVE'])
})

test('a purge wants the name of the tenant, and ends with a tombstone', async (t) => {
  const app = await setupApp(t)
  const { call, world } = app
  const tenantId = await addTenant(call, 'sales')
  const path = `/tenants/${tenantId}`
  assertProblem(await call('POST', `${path}/purge`, { name: 'sales' }), 'TENANT_NOT_DELETED')
  await call('DELETE', path)
  await stepAll(app)
  assertProblem(await call('POST', `${path}/purge`, { name: 'support' }), 'INVALID_REQUEST', '/name')
  assertProblem(await call('POST', `${path}/purge`, {}), 'INVALID_REQUEST', '/name')
  const begun = await call('POST', `${path}/purge`, { name: 'sales' })
  assert.equal(begun.statusCode, 202, begun.body)
  assert.deepEqual([begun.json().tenant.status, begun.json().operation.kind], ['PURGING', 'tenant_purge'])
  assertProblem(await call('POST', `${path}/restore`), 'TENANT_PURGED')
  await world.advance(20_000)
  await stepAll(app)
  const { status, purged_at: purgedAt } = (await call('GET', path)).json()
  assert.deepEqual([status, purgedAt], ['PURGED', '2026-01-01T00:00:20Z'])
  const asTenant = { 'x-tenant-id': tenantId }
  const operation = await call(
    'GET',
    `/operations/${begun.json().operation.operation_id}`,
    undefined,
    asTenant,
  )
  assert.equal(operation.json().status, 'COMPLETED')
  await addTenant(call, 'sales')
})

test('only operators end tenants, and nobody the tenant default', async (t) => {
  const { call } = await setupApp(t)
  const tenantId = await addTenant(call, 'sales')
  const { headers } = await addKey(call, tenantId)
  assertProblem(await call('DELETE', `/tenants/${tenantId}`, undefined, headers), 'OPERATOR_ONLY')
  assertProblem(await call('POST', `/tenants/${tenantId}/restore`, undefined, headers), 'OPERATOR_ONLY')
  assertProblem(await call('POST', `/tenants/${tenantId}/purge`, { name: 'sales' }, headers), 'OPERATOR_ONLY')
  assertProblem(await call('DELETE', `/tenants/${defaultTenantId}`), 'TENANT_IS_DEFAULT')
  const nobody = '0192abcd-ef01-7000-8000-000000000001'
  assertProblem(await call('DELETE', `/tenants/${nobody}`), 'TENANT_NOT_FOUND')
  assertProblem(await call('POST', `/tenants/${nobody}/purge`, { name: 'x' }), 'TENANT_NOT_FOUND')
  assertProblem(await call('DELETE', `/tenants/${tenantId}?purge_after_seconds=-1`), 'INVALID_REQUEST')
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { setupApp } from '../../../test/app.ts'

test('the OpenAPI document is 3.1 and describes every route', async (t) => {
  const { get } = await setupApp(t)
  const document = (await get('/openapi.json')).json()
  assert.equal(document.openapi, '3.1.0')
  assert.deepEqual(Object.keys(document.paths).toSorted(), [
    '/api/v1/activity',
    '/api/v1/api-keys',
    '/api/v1/api-keys/{key_id}',
    '/api/v1/artifacts',
    '/api/v1/artifacts/{artifact_id}',
    '/api/v1/calendars',
    '/api/v1/calendars/{name}',
    '/api/v1/dead-letters',
    '/api/v1/dead-letters/clusters',
    '/api/v1/dead-letters/redrive',
    '/api/v1/dead-letters/{execution_id}',
    '/api/v1/events',
    '/api/v1/executions',
    '/api/v1/executions/cancel',
    '/api/v1/executions/{execution_id}',
    '/api/v1/executions/{execution_id}/cancel',
    '/api/v1/executions/{execution_id}/complete',
    '/api/v1/executions/{execution_id}/heartbeat',
    '/api/v1/executions/{execution_id}/logs',
    '/api/v1/executions/{execution_id}/retry',
    '/api/v1/failures',
    '/api/v1/forecast',
    '/api/v1/graph-runs',
    '/api/v1/graph-runs/{graph_run_id}',
    '/api/v1/graph-runs/{graph_run_id}/cancel',
    '/api/v1/graph-runs/{graph_run_id}/resume',
    '/api/v1/jobs',
    '/api/v1/jobs/bulk',
    '/api/v1/jobs/by-key/{key}',
    '/api/v1/jobs/{job_id}',
    '/api/v1/jobs/{job_id}/backfill',
    '/api/v1/jobs/{job_id}/executions',
    '/api/v1/jobs/{job_id}/graph',
    '/api/v1/jobs/{job_id}/pause',
    '/api/v1/jobs/{job_id}/resume',
    '/api/v1/jobs/{job_id}/slots',
    '/api/v1/jobs/{job_id}/trigger',
    '/api/v1/jobs/{job_id}/triggers',
    '/api/v1/jobs/{job_id}/versions',
    '/api/v1/jobs/{job_id}/why',
    '/api/v1/late',
    '/api/v1/operations',
    '/api/v1/operations/{operation_id}',
    '/api/v1/operations/{operation_id}/cancel',
    '/api/v1/partitions',
    '/api/v1/schedules/preview',
    '/api/v1/session',
    '/api/v1/session/code',
    '/api/v1/signing-key',
    '/api/v1/signing-key/rotate',
    '/api/v1/sla',
    '/api/v1/tenants',
    '/api/v1/tenants/{tenant_id}',
    '/api/v1/tenants/{tenant_id}/purge',
    '/api/v1/tenants/{tenant_id}/restore',
    '/api/v1/tenants/{tenant_id}/usage',
    '/api/v1/tenants/{tenant_id}/usage/days',
    '/api/v1/tiers',
    '/api/v1/tiers/{name}',
    '/api/v1/workers',
    '/api/v1/workers/claim',
    '/api/v1/workers/heartbeat',
    '/api/v1/workers/report',
    '/api/v1/workers/{worker_id}',
    '/echo',
    '/livez',
    '/metrics',
    '/proof',
    '/readyz',
  ])
  assert.deepEqual(document.paths['/api/v1/workers'].get.security, [{ bearer: [] }])
  const refused = document.paths['/api/v1/workers'].get.responses['4XX'].content['application/problem+json']
  assert.deepEqual(refused.schema, { $ref: '#/components/schemas/Problem' })
  assert(document.components.schemas.Problem.properties.code.enum.includes('UNAUTHENTICATED'))
})

test('the document says which bodies may be left out', async (t) => {
  const { get } = await setupApp(t)
  const { paths } = (await get('/openapi.json')).json()
  const bodyOf = (path: string, verb = 'post') => paths[`/api/v1${path}`][verb].requestBody
  for (const path of ['/jobs/{job_id}/trigger', '/executions/{execution_id}/retry'])
    assert.equal(bodyOf(path).required, false, path)
  assert.equal(bodyOf('/jobs/{job_id}/pause', 'patch').required, false)
  for (const path of ['/jobs', '/jobs/bulk', '/dead-letters/redrive'])
    assert.equal(bodyOf(path).required, true, path)
  const patch = bodyOf('/jobs/{job_id}', 'patch')
  assert.equal(patch.required, true)
  assert.deepEqual(Object.keys(patch.content), ['application/json', 'application/merge-patch+json'])
})

/**
 * A preview writes nothing. Reports of workers and targets can be repeated as they are, a claim must not be answered
 * twice, and a signing key that was changed is not changed again. A session is no record, and its cookie must not be
 * kept.
 */
const asTheyAre =
  /\/preview$|\/session(\/code)?$|\/workers(\/|$)|\/executions\/[^/]+\/(complete|heartbeat|logs)$|\/signing-key\//

test('every write takes dry_run, every POST that makes something an idempotency key', async (t) => {
  const { get } = await setupApp(t)
  const { paths } = (await get('/openapi.json')).json()
  for (const [path, verbs] of Object.entries<Record<string, { parameters?: { name: string }[] }>>(paths)) {
    if (!path.startsWith('/api/v1') || asTheyAre.test(path)) continue
    for (const [verb, { parameters = [] }] of Object.entries(verbs)) {
      if (verb === 'get') continue
      const names = parameters.map((one) => one.name)
      assert(names.includes('dry_run'), `${verb} ${path}`)
      assert.equal(names.includes('Idempotency-Key'), verb === 'post', `${verb} ${path}`)
    }
  }
})

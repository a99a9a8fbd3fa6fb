// Private targets on a real server on loopback: of the tenant `default`, and of another one.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { callApi, until } from '../e2e/api.ts'
import { startReceiver } from '../e2e/receiver.ts'
import { createFleet, type Fleet, fleetKey, withTime } from './fleet.ts'

interface Ended {
  status: string
  attempts: { error?: { type: string; message: string } }[]
}

async function setup(t: TestContext, { fleet, env = {} }: { fleet?: Fleet; env?: Record<string, string> }) {
  const made = fleet ?? (await createFleet(t))
  const server = await made.start('api,scheduler,worker', { env })
  return { fleet: made, server, url: server.url!, api: server.api }
}

const job = (callback_url: string, changes: object = {}) => ({
  ...{ name: 'a', schedule: { cron_expression: '0 0 1 1 *' }, retry_policy: { max_retries: 0 } },
  ...{ execution: { callback_url }, ...changes },
})

test(
  'on loopback only the tenant default calls private targets, and other tenants call /echo',
  withTime,
  async (t) => {
    const receiver = await startReceiver(t)
    // Allowed by the operator for a while: the job of the other tenant is there already.
    const before = await setup(t, { env: { CARILLON_ALLOW_PRIVATE_TARGETS: 'true' } })
    const { tenant_id: tenantId } = await before.api.post<{ tenant_id: string }>(
      '/tenants',
      { name: 'b' },
      201,
    )
    const other = callApi(before.url, fleetKey, tenantId)
    const { job_id: jobId } = await other.post<{ job_id: string }>('/jobs', job(receiver.url), 201)
    await ended(other, await trigger(other, jobId))
    assert.equal(receiver.calls.length, 1, 'with the setting all tenants may call it')
    await before.server.stop()

    const { url, api } = await setup(t, { fleet: before.fleet })
    const second = callApi(url, fleetKey, tenantId)
    const { port } = new URL(receiver.url)
    const refused = await ended(second, await trigger(second, jobId))
    assert.equal(refused.status, 'FAILED')
    assert.equal(refused.attempts[0]!.error!.type, 'TARGET_FORBIDDEN')
    assert.match(refused.attempts[0]!.error!.message, /CARILLON_ALLOW_PRIVATE_TARGETS/)
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '127.1', '2130706433'])
      await second.post('/jobs', job(`http://${host}:${port}/`), 422)
    const { job_id: echo } = await second.post<{ job_id: string }>('/jobs', job(`${url}/echo`), 201)
    assert.equal((await ended(second, await trigger(second, echo))).status, 'SUCCEEDED')
    assert.equal(receiver.calls.length, 1)
    const { job_id: own } = await api.post<{ job_id: string }>('/jobs', job(receiver.url), 201)
    assert.equal((await ended(api, await trigger(api, own))).status, 'SUCCEEDED')
    assert.equal(receiver.calls.length, 2)
  },
)

type Api = ReturnType<typeof callApi>

async function trigger(api: Api, jobId: string): Promise<string> {
  return (await api.post<{ execution_id: string }>(`/jobs/${jobId}/trigger`, {}, 202)).execution_id
}

function ended(api: Api, executionId: string): Promise<Ended> {
  return until(async () => {
    const one = await api.get<Ended>(`/executions/${executionId}`)
    return ['SUCCEEDED', 'FAILED'].includes(one.status) ? one : null
  }, 'the execution has ended')
}

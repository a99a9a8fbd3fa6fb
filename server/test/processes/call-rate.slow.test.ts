// A tenant with a rate has 3,000 executions for one host, on two whole servers: the host is called no more often than the
// rate allows, and another tenant's job of every second is called there on time.
import assert from 'node:assert/strict'
import test from 'node:test'
import { callApi, until } from '../e2e/api.ts'
import { startReceiver } from '../e2e/receiver.ts'
import { createFleet, fleetKey, withTime } from './fleet.ts'

const executions = 3_000
/** Of the tier of the tenant. */
const perSecond = 50
/** Seconds that are counted. */
const seconds = 12

test(
  '3,000 executions of a tenant with a rate call one host 50 times a second, and others are on time',
  withTime,
  async (t) => {
    const fleet = await createFleet(t)
    const receiver = await startReceiver(t)
    const env = { CARILLON_ALLOW_PRIVATE_TARGETS: 'true' }
    const { api, url } = await fleet.start('api,scheduler,worker', { env })
    await fleet.start('worker', { env: { ...env, CARILLON_PORT: '0' } })
    const job = (name: string, path: string, cron_expression: string) => ({
      ...{ name, schedule: { cron_expression }, overlap_policy: 'ALLOW' },
      execution: { callback_url: `${receiver.url}/${path}` },
    })
    const { name: _name, ...limits } = await api.get<{ name: string }>('/tiers/unlimited')
    await api.put('/tiers/rated', { ...limits, host_calls_per_second: perSecond })
    const tenant = { name: 'small', tier: 'rated' }
    const { tenant_id: tenantId } = await api.post<{ tenant_id: string }>('/tenants', tenant, 201)
    const small = callApi(url!, fleetKey, tenantId)
    const { job_id: jobId } = await small.post<{ job_id: string }>(
      '/jobs',
      job('many', 'many', '0 0 1 1 *'),
      201,
    )
    await api.post('/jobs', job('quiet', 'quiet', '* * * * * *'), 201)
    const callsOf = (path: string) => receiver.calls.filter((call) => call.path === `/${path}`)
    await until(() => (callsOf('quiet').length >= 2 ? true : null), 'the job of the other tenant is called')

    for (let made = 0; made < executions; made += 1_000)
      await small.post(`/jobs/${jobId}/triggers`, { count: 1_000 }, 202)
    await until(() => (callsOf('many').length > 0 ? true : null), 'the first call')
    const from = callsOf('many')[0]!.atMs
    await until(() => (Date.now() - from >= seconds * 1_000 ? true : null), 'the seconds have passed')
    const arrived = callsOf('many').length
    assert(arrived <= perSecond * (2 + seconds + 1), `${arrived} calls within ${seconds} s and the burst`)
    // When they began, not when they arrived: on a busy machine the first call may arrive later than its neighbours.
    const { rows: begun } = await fleet.client.query<{ ms: number }>(
      `SELECT extract(epoch FROM started_at - min(started_at) OVER ()) * 1000 AS ms
       FROM attempts WHERE job_id = $1 ORDER BY started_at`,
      [jobId],
    )
    const times = begun.map(({ ms }) => Number(ms)).filter((ms) => ms < seconds * 1_000)
    for (const [nth, ms] of times.entries())
      assert(nth + 1 <= 2 * perSecond + perSecond * (ms / 1_000) + 1, `call ${nth + 1} after ${ms} ms`)
    assert(times.length >= perSecond * seconds * 0.8, `${times.length} calls in ${seconds} s: too few`)
    const quiet = callsOf('quiet').filter(({ atMs }) => atMs >= from && atMs < from + seconds * 1_000)
    assert(quiet.length >= seconds - 1, `the other tenant was called ${quiet.length} times in ${seconds} s`)

    const { executions: waiting } = await small.get<{ executions: { job_id: string }[] }>(
      '/executions?status=PENDING&limit=1',
    )
    assert.equal(waiting.length, 1)
    // While one of them runs the answer is about that one.
    await until(async () => {
      const { reason } = await small.get<{ reason: string }>(`/jobs/${jobId}/why`)
      return reason === 'target_rate' ? true : null
    }, 'the rate is named as the reason')
  },
)

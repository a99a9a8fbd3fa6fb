// A tenant whose tier lets six executions run at once has twelve long calls, on three whole servers: never more than six run,
// the others follow as these end, and a server that is killed leaks no place.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import test from 'node:test'
import { watchPeersEveryMs } from '../../src/worker/claim-spread.ts'
import { callApi, until } from '../e2e/api.ts'
import { startReceiver } from '../e2e/receiver.ts'
import { createFleet, fleetKey, untilHeldBy, withTime } from './fleet.ts'

const calls = 12
const runningMax = 6
const servers = 3

test(
  'of twelve long calls of a tenant six run at once on three servers, and a killed server leaks no place',
  withTime,
  async (t) => {
    const fleet = await createFleet(t)
    const open = new Set<ServerResponse>()
    let most = 0
    const receiver = await startReceiver(t, {
      answer(_call, response) {
        open.add(response)
        response.on('close', () => open.delete(response))
        most = Math.max(most, open.size)
      },
    })
    const env = { CARILLON_ALLOW_PRIVATE_TARGETS: 'true' }
    const processes = await Promise.all(
      Array.from({ length: servers }, () => fleet.start('api,scheduler,worker', { env })),
    )
    await untilHeldBy(fleet, servers)
    const knownMs = performance.now() + 2 * watchPeersEveryMs
    await until(() => (performance.now() >= knownMs ? true : null), 'each worker has looked for its peers')
    const [{ api, url }] = processes as [(typeof processes)[0]]
    await fleet.client.query(
      `INSERT INTO tiers (tier, weight, history_days, concurrent_executions_max) VALUES ('six', 1, 30, $1)`,
      [runningMax],
    )
    const { tenant_id: tenantId } = await api.post<{ tenant_id: string }>(
      '/tenants',
      { name: 'six', tier: 'six' },
      201,
    )
    const tenant = callApi(url!, fleetKey, tenantId)
    const execution = { callback_url: receiver.url, timeout_seconds: 600 }
    const schedule = { cron_expression: '0 0 1 1 *' }
    const jobs: string[] = []
    for (let i = 0; i < calls; i++) {
      const made = await tenant.post<{ job_id: string }>(
        '/jobs',
        { name: `long ${i}`, schedule, execution },
        201,
      )
      jobs.push(made.job_id)
    }
    const count = async (state: string) => {
      const { rows } = await fleet.client.query<{ worker_id: string | null; held: number }>(
        'SELECT worker_id, count(*)::int AS held FROM live WHERE state = $1 AND tenant_id = $2 GROUP BY worker_id',
        [state, tenantId],
      )
      return rows.map(({ held }) => held)
    }
    const sumOf = (list: readonly number[]) => list.reduce((sum, one) => sum + one, 0)
    const untilRunning = (running: number, waiting: number) =>
      until(async () => {
        const [held, ready] = [await count('running'), await count('ready')]
        return sumOf(held) === running && sumOf(ready) === waiting ? held : null
      }, `${running} run and ${waiting} wait`)

    await Promise.all(jobs.map((jobId) => tenant.post(`/jobs/${jobId}/trigger`, {}, 202)))
    assert.deepEqual(await untilRunning(runningMax, calls - runningMax), [2, 2, 2])
    const waitingId = await fleet.client.query<{ job_id: string }>(
      `SELECT job_id FROM live WHERE state = 'ready' LIMIT 1`,
    )
    const why = await tenant.get<{ answer: string; reason: string }>(`/jobs/${waitingId.rows[0]!.job_id}/why`)
    assert.equal(why.reason, 'concurrent_executions', why.answer)
    for (const response of [...open].slice(0, 2)) response.end('{}')
    await untilRunning(runningMax, calls - runningMax - 2)
    assert(most <= runningMax, `${most} calls at once`)

    processes[2]!.signal('SIGKILL')
    await processes[2]!.program.exit
    // Its calls are lost with it and run again; the two others have all six places.
    assert.deepEqual((await untilRunning(runningMax, calls - runningMax - 2)).toSorted(), [2, 2, 2])
    await until(async () => {
      const held = await count('running')
      return held.length === 2 && sumOf(held) === runningMax ? true : null
    }, 'two servers hold six')
    assert(most <= runningMax, `${most} calls at once`)
    await until(async () => {
      for (const response of open) response.end('{}')
      const { rows } = await fleet.client.query('SELECT FROM live UNION ALL SELECT FROM batches')
      return rows.length === 0 ? true : null
    }, 'all executions have ended')
    assert(most <= runningMax, `${most} calls at once`)
  },
)

// One tenant's calls hang, on a whole server: another tenant's job of every second is called all the same.
import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../cleanup.ts'
import { callApi, until } from '../e2e/api.ts'
import { startReceiver } from '../e2e/receiver.ts'
import { createFleet, fleetKey, withTime } from './fleet.ts'

const hosts = 9
const callsPerHost = 334
/** Seconds that are counted. */
const seconds = 10

/** Accepts connections and never answers. */
async function startSilent(t: TestContext): Promise<{ url: string; connections: () => number }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUp(t, () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}/`, connections: () => sockets.size }
}

test(
  "with 3,000 hanging calls of one tenant, another's every-second job is called every second",
  withTime,
  async (t) => {
    const fleet = await createFleet(t)
    const receiver = await startReceiver(t)
    const { api, url: serverUrl } = await fleet.start('api,scheduler,worker')
    const silent = await Promise.all(Array.from({ length: hosts }, () => startSilent(t)))
    await api.post('/jobs', every('victim', receiver.url), 201)
    await until(async () => (receiver.calls.length >= 2 ? true : null), 'the job of the victim is called')
    const { tenant_id: tenantId } = await api.post<{ tenant_id: string }>('/tenants', { name: 'hog' }, 201)
    const hog = callApi(serverUrl!, fleetKey, tenantId)
    for (const { url } of silent) {
      const job = {
        ...every('hangs', url),
        schedule: { cron_expression: '0 0 1 1 *' },
        overlap_policy: 'ALLOW',
      }
      const execution = { callback_url: url, timeout_seconds: 604_800 }
      const { job_id: jobId } = await hog.post<{ job_id: string }>('/jobs', { ...job, execution }, 201)
      await hog.post(`/jobs/${jobId}/triggers`, { count: callsPerHost }, 202)
    }
    const hanging = () => silent.reduce((sum, { connections }) => sum + connections(), 0)
    await until(async () => (hanging() >= 400 ? true : null), 'the calls of the hog hang')
    const from = Date.now()
    const before = receiver.calls.length
    await until(async () => (Date.now() - from >= seconds * 1_000 ? true : null), 'ten seconds have passed')
    const called = receiver.calls.length - before
    assert(called >= seconds - 1, `called ${called} times in ${seconds} s beside ${hanging()} hanging calls`)
    assert(hanging() <= 500, `${hanging()} calls of one tenant hang`)
  },
)

const every = (name: string, url: string) => ({
  name,
  schedule: { cron_expression: '* * * * * *' },
  execution: { callback_url: url },
})

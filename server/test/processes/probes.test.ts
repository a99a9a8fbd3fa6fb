// Kubernetes and Prometheus ask every process, not only the API: a process of any role answers /livez, /readyz and
// /metrics on its port.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import test, { type TestContext } from 'node:test'
import { type ExecutionItem, until, untilStatus } from '../e2e/api.ts'
import { startReceiver } from '../e2e/receiver.ts'
import { createFleet, type Process, withTime } from './fleet.ts'

interface Ready {
  status: string
  roles: string[]
  checks: Record<string, string>
}

async function ask(at: Process, path: string, method = 'GET') {
  const response = await fetch(`${at.probesUrl}${path}`, { method })
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
}

async function askReady(at: Process): Promise<{ status: number; body: Ready }> {
  const { status, text } = await ask(at, '/readyz')
  return { status, body: JSON.parse(text) as Ready }
}

/** A program of another user on this port. */
async function holdPort(t: TestContext, { host, port }: { host: string; port: number }): Promise<number> {
  const other = createServer().listen(port, host)
  await once(other, 'listening')
  t.after(() => other.close())
  return (other.address() as { port: number }).port
}

const checksOf: Record<string, Record<string, string>> = {
  scheduler: { database: 'ok', clock: 'ok', partitions: 'ok' },
  worker: { database: 'ok', worker: 'ok' },
  history: { database: 'ok', history: 'ok' },
}

test('a process of each role answers probes about its own work, and no other path', withTime, async (t) => {
  const fleet = await createFleet(t)
  const processes = await Promise.all(Object.keys(checksOf).map((role) => fleet.start(role)))
  for (const [i, [role, checks]] of Object.entries(checksOf).entries()) {
    const at = processes[i]!
    await t.test(role, async () => {
      assert.deepEqual(JSON.parse((await ask(at, '/livez')).text), { status: 'alive' })
      const { status, body } = await askReady(at)
      assert.equal(status, 200)
      assert.deepEqual([body.status, body.roles, body.checks], ['ready', [role], checks])

      const metrics = await ask(at, '/metrics')
      assert.equal(metrics.status, 200)
      assert.match(metrics.text, /^carillon_info\{version="[\d.]+"\} 1$/m)
      assert.match(metrics.text, /^carillon_loop_failures_total|# TYPE carillon_loop_failures_total counter/m)
      assert.match(metrics.text, /^process_cpu_seconds_total /m)
      // The values of the whole installation: many workers need not each ask the database for them.
      assert.equal(/^carillon_queue_depth\{/m.test(metrics.text), role !== 'worker')

      for (const path of ['/', '/api/v1/jobs', '/docs', '/openapi.json', '/echo', '/metrics/x']) {
        const refused = await ask(at, path)
        assert.equal(refused.status, 404, path)
        assert.match(refused.type!, /^application\/problem\+json/)
        assert.equal(JSON.parse(refused.text).code, 'ROUTE_NOT_FOUND')
      }
      assert.equal((await ask(at, '/livez', 'POST')).status, 405)
    })
  }
})

test('a worker that drains is alive and not ready', withTime, async (t) => {
  const fleet = await createFleet(t)
  const open: ServerResponse[] = []
  const receiver = await startReceiver(t, { answer: (_call, response) => void open.push(response) })
  const main = await fleet.start('api,scheduler')
  const worker = await fleet.start('worker')
  const execution = { callback_url: receiver.url, timeout_seconds: 300 }
  await main.api.post('/jobs', { name: 'a', schedule: { type: 'IMMEDIATE' }, execution }, 201)
  await until(() => (open.length === 1 ? true : null), 'its call arrives')
  worker.signal('SIGTERM')
  const { body } = await until(async () => {
    const answer = await askReady(worker)
    return answer.status === 503 ? answer : null
  }, 'it is not ready')
  assert.deepEqual(body.checks, { server: 'stopping' })
  assert.equal((await ask(worker, '/livez')).status, 200)
  assert.equal((await ask(worker, '/metrics')).status, 200)
  open[0]!.end('{}')
  assert.equal(await worker.program.exit, 0, worker.program.said())
})

test('a default port that is taken is said in the log, and the work goes on', withTime, async (t) => {
  const fleet = await createFleet(t)
  // An address of this process alone: other tests may hold the default port on the usual one.
  const host =
    process.platform === 'linux' ? `127.9.${process.pid & 255}.${(process.pid >> 8) & 255}` : '127.0.0.1'
  await holdPort(t, { host, port: 7420 })
  const worker = await fleet.start('worker', { env: { CARILLON_PORT: '', CARILLON_HOST: host } })
  assert.equal(worker.probesUrl, null)
  const [line] = worker.events('probes.unserved')
  assert.deepEqual([line!['level'], line!['host'], line!['port']], ['warn', host, 7420])
  const receiver = await startReceiver(t)
  const main = await fleet.start('api,scheduler')
  const request = { name: 'a', schedule: { type: 'IMMEDIATE' }, execution: { callback_url: receiver.url } }
  const { execution_id: id } = await main.api.post<{ execution_id: string }>('/jobs', request, 201)
  await untilStatus(main.api, id, 'SUCCEEDED')
})

test('a port that was set and is taken stops the start with advice', withTime, async (t) => {
  const fleet = await createFleet(t)
  const port = await holdPort(t, { host: '127.0.0.1', port: 0 })
  const program = await fleet.launch('worker', { env: { CARILLON_PORT: String(port) } })
  assert.equal(await program.exit, 1)
  const advice = new RegExp(
    `Port ${port} on 127\\.0\\.0\\.1 is in use .* CARILLON_PORT=${port + 1} npm start`,
  )
  assert.match(program.stderr, advice)
  const { rows } = await fleet.client.query('SELECT worker_id FROM workers')
  assert.deepEqual(rows, [], 'it has unregistered')
})

test('the first of two worker processes answers for both', withTime, async (t) => {
  const fleet = await createFleet(t)
  const receiver = await startReceiver(t)
  const main = await fleet.start('api,scheduler')
  const workers = await fleet.start('worker', { env: { CARILLON_PROCESSES: '2' } })
  const request = { name: 'a', schedule: { type: 'IMMEDIATE' }, execution: { callback_url: receiver.url } }
  const ran = new Set<string>()
  let executions = 0
  // Until both have had some: which one claims is up to them.
  await until(async () => {
    const started = Array.from({ length: 20 }, () =>
      main.api.post<{ execution_id: string }>('/jobs', request, 201),
    )
    for (const { execution_id: id } of await Promise.all(started)) {
      await untilStatus(main.api, id, 'SUCCEEDED')
      const { attempts } = await main.api.get<ExecutionItem & { attempts: { worker_id: string }[] }>(
        `/executions/${id}`,
      )
      ran.add(attempts[0]!.worker_id)
      executions += 1
    }
    return ran.size === 2 ? true : null
  }, 'both have run some')
  await until(async () => {
    const { text } = await ask(workers, '/metrics')
    const counts = [...text.matchAll(/^carillon_executions_total\{.*\} (\d+)$/gm)]
    const counted = counts.reduce((sum, [, value]) => sum + Number(value), 0)
    assert(counted <= executions, `${counted} of ${executions}`)
    return counted === executions ? true : null
  }, 'each is counted once')
})

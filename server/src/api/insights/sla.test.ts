import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, runAll, setupApp, testWorker } from '../../../test/app.ts'

const body = {
  name: 'report',
  schedule: { type: 'IMMEDIATE' },
  execution: { callback_url: 'https://example.com/report' },
}

async function setup(t: TestContext) {
  const bundle = await setupApp(t)
  const sla = async (query = '', headers: Record<string, string> = {}) => {
    const answer = await bundle.call('GET', `/sla${query}`, undefined, headers)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json()
  }
  const create = async () => assert.equal((await bundle.call('POST', '/jobs', body)).statusCode, 201)
  return { ...bundle, sla, create }
}

test('where nothing happened yet no share is known', async (t) => {
  const { sla } = await setup(t)
  const { window, starts, throughput, queue, rates, workers, history } = await sla()
  assert.equal(window, '24h')
  assert.deepEqual(starts, { count: 0, within_1s: null, within_5s: null, late_ms_max: 0 })
  assert.deepEqual(throughput, { now_per_second: 0, peak_per_second: 0, peak_at: null })
  assert.deepEqual(queue, { depth: 0, depth_capped: false, oldest_seconds: null })
  assert.deepEqual(rates, { success: null, retry: null, dead_letter: null, timeout: null })
  const none = { count: 0, active: 0, draining: 0, dead_last_hour: 0, capacity: 0, running: 0 }
  assert.deepEqual(workers, { ...none, utilisation: null })
  const written = { attempts_per_day: 0, bytes_per_day: null }
  assert.deepEqual(history, [{ tier: 'hot', bytes: null, attempts_estimate: 0, ...written, oldest_at: null }])
})

test('shares, throughput and waiting executions are reported for every window', async (t) => {
  const { sla, create, world, ...bundle } = await setup(t)
  for (const end of [{}, {}, {}, { outcome: 'timed_out' as const }]) {
    await create()
    await runAll({ ...bundle, world }, end)
  }
  await create()
  await world.advance(3_000)
  for (const window of ['1h', '24h', '7d', '30d']) {
    const { as_of: _asOf, ...said } = await sla(`?window=${window}`)
    const { late_ms_max: lateMs, ...starts } = said.starts
    assert.deepEqual(starts, { count: 4, within_1s: 1, within_5s: 1 })
    assert(lateMs < 1_000, 'a second has one slot')
    assert.deepEqual(said.rates, { success: 0.75, retry: 0, dead_letter: 0, timeout: 0.25 })
    assert.deepEqual(said.queue, { depth: 1, depth_capped: false, oldest_seconds: 3 })
    assert.equal(said.throughput.peak_per_second, 0.067)
    assert(said.throughput.now_per_second > 0 && said.throughput.now_per_second <= 1)
    assert.equal(said.history[0].attempts_estimate, 4)
    assert.equal(said.history[0].attempts_per_day, 4)
  }
})

test('operators see all workers, a tenant its own: active, draining, and dead in the last hour', async (t) => {
  const { sla, call, workers, memory, world } = await setup(t)
  await workers.register(testWorker({ capacity: 50 }))
  await call('POST', '/workers', { handlers: ['send'], capacity: 10 })
  const rest = { draining: 0, dead_last_hour: 0, running: 0, utilisation: 0 }
  assert.deepEqual((await sla()).workers, { count: 2, active: 2, capacity: 60, ...rest })
  const { key } = (await call('POST', '/api-keys', { name: 'a', scopes: ['read'] })).json()
  const own = await sla('', { authorization: `Bearer ${key}` })
  assert.deepEqual(own.workers, { count: 1, active: 1, capacity: 10, ...rest })
  const [ours] = (await memory.maintenance.watch()).filter(
    ({ holderId }) => holderId === testWorker().workerId,
  )
  await memory.maintenance.reclaim(ours!)
  const [{ worker_id: workerId }] = (await call('GET', '/workers?status=ACTIVE')).json().workers
  await call('POST', '/workers/heartbeat', { worker_id: workerId, status: 'DRAINING' })
  const after = (await sla()).workers
  assert.deepEqual([after.count, after.active, after.draining, after.dead_last_hour], [1, 0, 1, 1])
  await world.advance(11_000)
  assert.deepEqual([(await sla()).workers.dead_last_hour, (await sla()).workers.count], [2, 0])
})

test('a window that there is not is refused by name', async (t) => {
  const { call } = await setup(t)
  assertProblem(await call('GET', '/sla?window=1y'), 'INVALID_REQUEST', 'window')
})

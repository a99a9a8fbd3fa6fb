// Storage and waiting executions against the limits of the tier, as clients meet them.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { addKey, addTenant } from '../../../test/access.ts'
import { type AppChanges, assertProblem, runAll, setupApp } from '../../../test/app.ts'
import { unlimitedTier } from '../../../testing/memory-store/first-tiers.ts'
import { LaneChooser } from '../../domain/queue/lane.ts'
import { WaitingEstimates } from '../../domain/tenants/waiting-estimates.ts'
import { runOperation } from '../../maintenance/run-operations.ts'
import { ApiError } from '../http/api-error.ts'
import { RefillNeeded } from './refill-needed.ts'
import { TenantQuotas } from './tenant-quotas.ts'

const daily = { name: 'a', schedule: '@daily', execution: { callback_url: 'http://127.0.0.1:7420/echo' } }
const free = { ...daily, overlap_policy: 'ALLOW' }

/** A tenant on a tier with these limits. Calls are its own, unless `operator` makes them. */
async function setup(t: TestContext, limits: object, changes: AppChanges = {}) {
  const parts = await setupApp(t, changes)
  const { call: operator, memory, world } = parts
  const tenantId = await addTenant(operator, 'sales', 'free')
  const setLimits = async (some: object) => {
    const { name: _name, ...present } = (await operator('GET', '/tiers/free')).json()
    const wide = { priority_best: 1, retries_max: 9, payload_bytes_max: 100_000, requests_per_second: null }
    const answer = await operator('PUT', '/tiers/free', { ...present, ...wide, dead_letters: true, ...some })
    assert.equal(answer.statusCode, 200, answer.body)
    await world.advance(6_000)
  }
  await setLimits(limits)
  const { headers } = await addKey(operator, tenantId)
  const call = (
    method: Parameters<typeof operator>[0],
    path: string,
    body?: unknown,
    more: Record<string, string> = {},
  ) => operator(method, path, body, { ...headers, ...(method === 'PATCH' && { 'if-match': '*' }), ...more })
  const create = async (body: object = daily) => {
    const answer = await call('POST', '/jobs', body)
    assert.equal(answer.statusCode, 201, answer.body)
    return answer.json().job_id as string
  }
  const usedOf = async (limit: string): Promise<number> => {
    const { usage } = (await call('GET', `/tenants/${tenantId}/usage`)).json()
    return usage.find((one: { name: string }) => one.name === limit).used
  }
  /** Until a count that refuses may be taken anew. */
  const wait = () => world.advance(60_001)
  return { ...parts, memory, operator, call, create, setLimits, usedOf, wait, tenantId, headers }
}

const payloadOf = (bytes: number) => 'x'.repeat(bytes - 2)
const refused = (answer: Parameters<typeof assertProblem>[0], limit: string) => {
  assertProblem(answer, 'TIER_LIMIT')
  assert(JSON.parse(answer.body).detail.includes(limit), answer.body)
}

test('a job, an edit and a trigger with a payload are refused beyond the storage, and nothing of them remains', async (t) => {
  const { call, create, usedOf, wait } = await setup(t, { storage_bytes_max: 20_000 })
  const jobId = await create(free)
  const heavy = { ...daily, execution: { ...daily.execution, payload: payloadOf(19_900) } }
  await wait()
  const before = await usedOf('storage_bytes_max')
  refused(await call('POST', '/jobs', heavy), 'storage_bytes_max, which is 20000')
  refused(await call('PATCH', `/jobs/${jobId}`, { execution: heavy.execution }), 'storage_bytes_max')
  refused(await call('PUT', '/jobs/by-key/k', heavy), 'storage_bytes_max')
  const override = { payload_override: payloadOf(19_900) }
  refused(await call('POST', `/jobs/${jobId}/trigger`, override), 'storage_bytes_max')
  const many = { payload_overrides: [payloadOf(10_000), payloadOf(9_900)] }
  refused(await call('POST', `/jobs/${jobId}/triggers`, many), 'storage_bytes_max')
  await wait()
  assert.equal(await usedOf('storage_bytes_max'), before)
  assert.equal((await call('GET', '/jobs')).json().jobs.length, 1)
  assert.equal((await call('POST', `/jobs/${jobId}/trigger`)).statusCode, 202, 'without a payload')
  const small = { payload_override: payloadOf(5_000) }
  assert.equal((await call('POST', `/jobs/${jobId}/trigger`, small)).statusCode, 202)
})

test('small writes up to the limit are let in, and the one beyond it is refused', async (t) => {
  const { call, create } = await setup(t, { storage_bytes_max: 100_000 })
  const jobId = await create(free)
  const codes: number[] = []
  for (let n = 0; n < 12; n++) {
    const body = { payload_override: payloadOf(10_000) }
    codes.push((await call('POST', `/jobs/${jobId}/trigger`, body)).statusCode)
  }
  assert.deepEqual(codes, [...new Array(9).fill(202), ...new Array(3).fill(422)])
})

test('triggers that come at once are let in up to the limit too', async (t) => {
  const { call, create } = await setup(t, { storage_bytes_max: 100_000 })
  const jobId = await create(free)
  const body = { payload_override: payloadOf(10_000) }
  const answers = await Promise.all(
    Array.from({ length: 15 }, () => call('POST', `/jobs/${jobId}/trigger`, body)),
  )
  const codes = answers.map(({ statusCode }) => statusCode)
  assert.equal(codes.filter((code) => code === 202).length, 9)
  assert.equal(codes.filter((code) => code === 422).length, 6)
})

test('bytes of executions that ran are free for others', async (t) => {
  const { call, create, memory, world, wait } = await setup(t, { storage_bytes_max: 20_000 })
  const jobId = await create(free)
  const trigger = () => call('POST', `/jobs/${jobId}/trigger`, { payload_override: payloadOf(15_000) })
  assert.equal((await trigger()).statusCode, 202)
  refused(await trigger(), 'storage_bytes_max')
  await runAll({ memory, world })
  await wait()
  const again = await trigger()
  assert.equal(again.statusCode, 202, again.body)
})

test('an artifact beyond the storage is refused; one that replaces another counts by its growth', async (t) => {
  const { call, headers, app, tenantId, operator } = await setup(
    t,
    { storage_bytes_max: 100_000 },
    { runsArtifacts: true },
  )
  const put = (id: string, bytes: number) => {
    const content = Buffer.concat([gzipSync('x'), Buffer.alloc(bytes - gzipSync('x').length)])
    return app.inject({
      method: 'PUT',
      url: `/api/v1/artifacts/${id}`,
      headers: { ...headers, 'content-type': 'application/gzip' },
      payload: content,
    })
  }
  assert.equal((await put('a', 70_000)).statusCode, 201)
  refused(await put('b', 70_000), 'storage_bytes_max')
  assert.equal((await call('GET', '/artifacts/b')).statusCode, 404)
  assert.equal((await put('a', 90_000)).statusCode, 200)
  assert.equal((await call('DELETE', '/artifacts/a')).statusCode, 204)
  const { usage } = (await operator('GET', `/tenants/${tenantId}/usage`)).json()
  assert(usage.some((one: { name: string }) => one.name === 'storage_bytes_max'))
})

test('a tenant beyond a smaller limit edits its jobs as long as they get no larger', async (t) => {
  const { call, create, setLimits, tenantId, operator } = await setup(t, { storage_bytes_max: 100_000 })
  const execution = { ...daily.execution, payload: payloadOf(50_000) }
  const jobId = await create({ ...daily, execution })
  await setLimits({ storage_bytes_max: 10_000 })
  const moved = await operator('PATCH', `/tenants/${tenantId}`, { tier: 'free' })
  const [excess] = moved.json().exceeding
  assert.equal(excess.limit, 'storage_bytes_max')
  assert(excess.used > 50_000)
  assert.equal((await call('PATCH', `/jobs/${jobId}`, { priority: 3 })).statusCode, 200)
  refused(await call('PATCH', `/jobs/${jobId}`, { name: 'b', description: 'longer' }), 'storage_bytes_max')
  const smaller = await call('PATCH', `/jobs/${jobId}`, { execution: { payload: 'x' } })
  assert.equal(smaller.statusCode, 200)
  refused(await call('POST', '/jobs', daily), 'storage_bytes_max')
  assert.equal((await call('DELETE', `/jobs/${jobId}`)).statusCode, 200)
})

test('triggers, retries, redrives and jobs that run at once are refused beyond the waiting executions', async (t) => {
  const { call, create, memory, world } = await setup(t, { waiting_executions_max: 3 })
  const jobId = await create({ ...free, retry_policy: { max_retries: 0 } })
  const trigger = () => call('POST', `/jobs/${jobId}/trigger`)
  const { execution_id: failed } = (await trigger()).json()
  const error = { type: 'HTTP_ERROR', message: 'no' } as const
  await runAll({ memory, world }, { outcome: 'failed', error, deadReason: 'MAX_RETRIES_EXCEEDED' })
  await world.advance(1_000)
  for (let n = 0; n < 3; n++) assert.equal((await trigger()).statusCode, 202)
  const limit = 'waiting_executions_max, which is 3'
  refused(await trigger(), limit)
  refused(await call('POST', `/jobs/${jobId}/triggers`, { count: 1 }), limit)
  refused(await call('POST', `/executions/${failed}/retry`), limit)
  refused(await call('POST', '/jobs', { ...daily, schedule: { type: 'IMMEDIATE' } }), limit)
  refused(await call('POST', '/dead-letters/redrive', { execution_ids: [failed] }), limit)
  assert.equal((await call('POST', '/jobs', daily)).statusCode, 201, 'a job with a schedule is none')
  await runAll({ memory, world })
  await world.advance(1_000)
  assert.equal((await trigger()).statusCode, 202)
  refused(await call('POST', `/jobs/${jobId}/triggers`, { count: 3 }), limit)
  assert.equal((await call('POST', `/jobs/${jobId}/triggers`, { count: 2 })).statusCode, 202)
})

test('a tenant that is moved to a tier with less room is told, and so is the operator that lowers the limit', async (t) => {
  const { call, create, operator, tenantId } = await setup(t, { waiting_executions_max: 10 })
  const jobId = await create(free)
  assert.equal((await call('POST', `/jobs/${jobId}/triggers`, { count: 3 })).statusCode, 202)
  const { name: _name, ...limits } = (await operator('GET', '/tiers/free')).json()
  const lowered = await operator('PUT', '/tiers/small', { ...limits, waiting_executions_max: 2 })
  assert.deepEqual(lowered.json().exceeding, [])
  const excess = { limit: 'waiting_executions_max', allowed: 2, used: 3, jobs: null }
  const moved = await operator('PATCH', `/tenants/${tenantId}`, { tier: 'small' })
  assert.deepEqual(moved.json().exceeding, [excess])
  const again = await operator('PUT', '/tiers/small', { ...limits, waiting_executions_max: 1 })
  assert.deepEqual(again.json().exceeding[0].limits, [{ ...excess, allowed: 1 }])
})

test('several processes together admit no more than the limit', async (t) => {
  const { memory, world, tenantId } = await setup(t, { storage_bytes_max: 1_000_000 })
  const limit = 1_000_000
  const tier = { ...unlimitedTier, tier: 'free', storageBytesMax: limit }
  const processes = Array.from({ length: 5 }, () => new TenantQuotas({ ...memory, clock: world.clock }))
  let spent = 0
  const write = async (quotas: TenantQuotas, bytes: number): Promise<boolean> => {
    const rest = { scopes: new Set<never>(), operator: false, name: 'a key', keyId: null }
    const caller = { tenantId, tier, ...rest }
    const spend = () => {
      quotas.spendStorage(caller, bytes)
      spent += bytes
      return true
    }
    try {
      return spend()
    } catch (error) {
      if (!(error instanceof RefillNeeded)) throw error
      await error.refill()
    }
    try {
      return spend()
    } catch (error) {
      assert(error instanceof ApiError && !(error instanceof RefillNeeded))
      return false
    }
  }
  const writers = processes.flatMap((quotas) => [100, 7_000, 60_000].map((bytes) => ({ quotas, bytes })))
  await Promise.all(
    writers.map(async ({ quotas, bytes }) => {
      while (spent <= limit && (await write(quotas, bytes)));
    }),
  )
  assert(spent <= limit && spent > 0.95 * limit, `${spent}`)
})

test('a request that is repeated with its key is answered again, also at the limit', async (t) => {
  const { call, create } = await setup(t, { waiting_executions_max: 1 })
  const jobId = await create(free)
  const key = { 'idempotency-key': 'k' }
  const first = await call('POST', `/jobs/${jobId}/trigger`, undefined, key)
  assert.equal(first.statusCode, 202)
  const again = await call('POST', `/jobs/${jobId}/trigger`, undefined, key)
  assert.deepEqual([again.statusCode, again.body], [202, first.body])
  refused(
    await call('POST', `/jobs/${jobId}/trigger`, undefined, { 'idempotency-key': 'l' }),
    'waiting_executions_max',
  )
})

test('an operation waits at the limit and goes on once there is room', async (t) => {
  const { call, create, memory, world } = await setup(t, {
    ...{ waiting_executions_max: 4, executions_per_minute: null },
  })
  for (let n = 0; n < 6; n++) await create({ ...free, name: `job ${n}` })
  const asked = await call('POST', '/jobs/bulk', { action: 'trigger', filter: {} })
  assert.equal(asked.statusCode, 202, asked.body)
  const none = () => {}
  const hints = { onChanged: none, onReady: none, onCancelled: none }
  const room = { lanes: new LaneChooser(), waiting: new WaitingEstimates() }
  const deps = { ...world, ...memory, ...room, ...hints }
  const run = async () => {
    while ((await runOperation(deps)) === 'more');
    const { status, progress } = (await call('GET', `/operations/${asked.json().operation_id}`)).json()
    return [status, progress.done]
  }
  assert.deepEqual(await run(), ['RUNNING', 4])
  await runAll({ memory, world })
  await world.advance(1_000)
  assert.deepEqual(await run(), ['COMPLETED', 6])
})

test('a tenant without limits asks nothing', async (t) => {
  const parts = await setupApp(t)
  const { call, memory } = parts
  let asked = 0
  const { tenantRoom } = memory
  for (const name of ['drawStorage', 'waitingRoom'] as const) {
    const before = tenantRoom[name].bind(tenantRoom) as (...args: never[]) => never
    Object.assign(tenantRoom, {
      [name]: (...args: never[]) => {
        asked += 1
        return before(...args)
      },
    })
  }
  const { job_id: jobId } = (await call('POST', '/jobs', free)).json()
  await call('POST', `/jobs/${jobId}/trigger`, { payload_override: 'x' })
  assert.equal(asked, 0)
})

test('a tenant at its limit asks for a slice now and then, and not for each write', async (t) => {
  const parts = await setup(t, { storage_bytes_max: 10_000_000, waiting_executions_max: 10_000 })
  const { call, create, memory } = parts
  const jobId = await create(free)
  let asked = 0
  const { tenantRoom } = memory
  const before = tenantRoom.drawStorage.bind(tenantRoom)
  Object.assign(tenantRoom, {
    drawStorage: (draw: Parameters<typeof before>[0]) => {
      asked += 1
      return before(draw)
    },
  })
  for (let n = 0; n < 100; n++)
    assert.equal(
      (await call('POST', `/jobs/${jobId}/trigger`, { payload_override: payloadOf(1_000) })).statusCode,
      202,
    )
  assert(asked <= 2, `${asked}`)
})

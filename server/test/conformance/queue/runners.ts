// Conformance of the questions which workers may claim an execution, for every implementation.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { WantedRunner } from '../../../src/domain/executors/kind.ts'
import type { Worker } from '../../../src/domain/queue/worker.ts'
import { ownRunnersMax } from '../../../src/ports/workers.ts'
import type { StoreScenario } from '../stores.ts'

const call: WantedRunner = { executor: 'http', tenantId: null, handler: null, labels: [] }
const plain = { host: 'a', port: null, version: '1', capacity: 2 }

function idOf(number: number): string {
  return `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`
}

export function testRunners(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  async function prepare(t: TestContext) {
    const s = await setup(t)
    const add = (number: number, changes: Partial<Worker> = {}) =>
      s.leases.register({
        ...{ workerId: idOf(number), tenantId: null, executors: ['http'], handlers: [], labels: [] },
        ...plain,
        ...changes,
      })
    return { ...s, add }
  }

  test(`${name}: of a call all active workers of ours with its executor are counted, and no worker of a tenant`, async (t) => {
    const { add, addTenant, leases, maintenance, workers } = await prepare(t)
    const tenantId = await addTenant(1)
    const nobody = { count: 0, hasRoom: false, own: [] }
    assert.deepEqual(await workers.runners(call), nobody)
    await add(1, { tenantId })
    await add(2, { executors: ['shell'] })
    assert.deepEqual(await workers.runners(call), nobody)
    await add(3, { executors: ['http', 'shell'] })
    for (let number = 4; number <= 7; number++) await add(number)
    await leases.beat(idOf(4), { status: 'DRAINING', currentLoad: 0 })
    await leases.unregister(idOf(5))
    await maintenance.reclaim({ holderId: idOf(6), beats: 0 })
    const own = [3, 7].map((number) => ({ workerId: idOf(number), capacity: 2 }))
    assert.deepEqual(await workers.runners(call), { count: 2, hasRoom: true, own })
    assert.deepEqual(await workers.runners({ ...call, executor: 'shell' }), {
      ...{ count: 2, hasRoom: true },
      own: [2, 3].map((number) => ({ workerId: idOf(number), capacity: 2 })),
    })
  })

  test(`${name}: a handler is counted at workers that have it, with all its labels, of its tenant or ours`, async (t) => {
    const { add, addTenant, workers } = await prepare(t)
    const [tenantId, other] = [await addTenant(1), await addTenant(1)]
    const equipped = { executors: ['worker'], handlers: ['report', 'sweep'], labels: ['eu', 'gpu'] } as const
    await add(1, { ...equipped, tenantId })
    await add(2, { ...equipped, tenantId, labels: ['eu'] })
    await add(3, { ...equipped, tenantId, handlers: ['reports'] })
    await add(4, { ...equipped, tenantId: other })
    await add(5, equipped)
    const wanted: WantedRunner = { executor: 'worker', tenantId, handler: 'report', labels: ['eu', 'gpu'] }
    const own = [{ workerId: idOf(5), capacity: 2 }]
    assert.deepEqual(await workers.runners(wanted), { count: 2, hasRoom: true, own })
    assert.equal((await workers.runners({ ...wanted, labels: [] })).count, 3)
    assert.equal((await workers.runners({ ...wanted, tenantId: null })).count, 1)
    assert.equal(await workers.hasRunner(wanted), true)
    assert.equal(await workers.hasRunner({ ...wanted, labels: ['eu', 'us'] }), false)
    assert.equal(await workers.hasRunner({ ...wanted, handler: 'rep' }), false)
  })

  test(`${name}: workers that hold as many executions as their capacity have no room`, async (t) => {
    const { add, claim, createJob, trigger, workers } = await prepare(t)
    await add(1)
    const job = await createJob({ overlapPolicy: 'ALLOW' })
    for (let i = 0; i < 2; i++) await trigger(job)
    await claim(idOf(1), 1)
    assert.equal((await workers.runners(call)).hasRoom, true)
    await claim(idOf(1), 1)
    assert.equal((await workers.runners(call)).hasRoom, false)
    await add(2)
    assert.equal((await workers.runners(call)).hasRoom, true)
  })

  test(`${name}: of many workers of ours the oldest are named, and all are counted`, async (t) => {
    const { add, workers } = await prepare(t)
    for (let number = ownRunnersMax + 1; number >= 1; number--) await add(number)
    const { count, own } = await workers.runners(call)
    assert.equal(count, ownRunnersMax + 1)
    assert.deepEqual(
      own.map(({ workerId }) => workerId),
      Array.from({ length: ownRunnersMax }, (_, at) => idOf(at + 1)),
    )
  })

  test(`${name}: a worker is found while it is active, and on request for as long as it is shown`, async (t) => {
    const { add, addTenant, ageLeases, leases, maintenance, workers } = await prepare(t)
    const tenantId = await addTenant(1)
    const wanted: WantedRunner = { ...call, executor: 'artifact' }
    const find = async () => [
      await workers.hasRunner(wanted),
      await workers.hasRunner(wanted, { orShown: true }),
    ]
    await add(1, { executors: ['artifact'], tenantId })
    assert.deepEqual(await find(), [false, false])
    await add(2, { executors: ['artifact'] })
    assert.deepEqual(await find(), [true, true])
    await leases.beat(idOf(2), { status: 'DRAINING', currentLoad: 0 })
    assert.deepEqual(await find(), [false, true])
    await maintenance.reclaim({ holderId: idOf(2), beats: 1 })
    assert.deepEqual(await find(), [false, true])
    await ageLeases(61 * 60_000)
    assert.deepEqual(await find(), [false, false])
    const ofTenant = { ...wanted, tenantId }
    assert.equal(await workers.hasRunner(ofTenant), false, 'it is silent')
    assert.equal(await workers.hasRunner(ofTenant, { orShown: true }), true)
    await leases.unregister(idOf(1))
    assert.equal(await workers.hasRunner(ofTenant, { orShown: true }), true)
  })
}

// Conformance of the leases and workers ports, for every implementation.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { Worker, WorkerView } from '../../../src/domain/queue/worker.ts'
import type { WorkerQuery } from '../../../src/ports/workers.ts'
import { listWorkers } from '../../list-workers.ts'
import type { StoreScenario } from '../stores.ts'

const idle = { status: 'ACTIVE', currentLoad: 0 } as const

function workerNumbered(number: number): Worker {
  const workerId = `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`
  const kind = { tenantId: null, executors: ['http', 'shell'], handlers: [] } as const
  const place = { host: 'host-a', port: 7_420 }
  return { workerId, ...kind, ...place, version: '1.2.3', labels: ['gpu', 'eu-west'], capacity: 50 }
}

export function testWorkers(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: a registered worker is listed as it described itself`, async (t) => {
    const s = await setup(t)
    const worker = workerNumbered(1)
    await s.leases.register(worker)
    const [view, ...more] = await listWorkers(s.workers, { tenantId: null })
    assert.deepEqual(more, [])
    const { registeredAt, beatAt, ...rest } = view!
    assert.deepEqual(rest, { ...worker, status: 'ACTIVE', currentLoad: 0, endedAt: null })
    assert(Number.isInteger(registeredAt) && beatAt >= registeredAt)
  })

  test(`${name}: registering again after a lost reply changes nothing`, async (t) => {
    const s = await setup(t)
    await s.leases.register(workerNumbered(1))
    await s.leases.beat(workerNumbered(1).workerId, idle)
    const before = await listWorkers(s.workers, { tenantId: null })
    await s.leases.register(workerNumbered(1))
    assert.deepEqual(await listWorkers(s.workers, { tenantId: null }), before)
    assert.deepEqual(await s.maintenance.watch(), [{ holderId: workerNumbered(1).workerId, beats: 1 }])
  })

  test(`${name}: a beat counts up and carries the status; the load is counted, not told`, async (t) => {
    const s = await setup(t)
    const { workerId } = workerNumbered(1)
    await s.leases.register(workerNumbered(1))
    assert.equal(await s.leases.beat(workerId, { status: 'DRAINING', currentLoad: 7 }), 'held')
    const [view] = await listWorkers(s.workers, { tenantId: null })
    assert.equal(view!.status, 'DRAINING')
    assert.equal(view!.currentLoad, 0)
    assert.deepEqual(await s.maintenance.watch(), [{ holderId: workerId, beats: 1 }])
  })

  test(`${name}: a worker silent for the whole lease is listed as DEAD`, async (t) => {
    const s = await setup(t)
    await s.leases.register(workerNumbered(1))
    await s.ageLeases(9_000)
    assert.equal((await listWorkers(s.workers, { tenantId: null }))[0]!.status, 'ACTIVE')
    await s.ageLeases(1_500)
    assert.equal((await listWorkers(s.workers, { tenantId: null }))[0]!.status, 'DEAD')
  })

  test(`${name}: a reclaimed worker has lost its lease for good`, async (t) => {
    const s = await setup(t)
    const { workerId } = workerNumbered(1)
    await s.leases.register(workerNumbered(1))
    assert.notEqual(await s.maintenance.reclaim({ holderId: workerId, beats: 0 }), 'alive')
    assert.equal(await s.leases.beat(workerId, idle), 'lost')
    assert.deepEqual(await s.maintenance.watch(), [])
    assert.equal((await listWorkers(s.workers, { tenantId: null }))[0]!.status, 'DEAD')
    assert.equal(await s.leases.beat(workerId, idle), 'lost')
    assert.equal(await s.maintenance.reclaim({ holderId: workerId, beats: 0 }), 'alive')
  })

  test(`${name}: a worker that died is shown as DEAD for an hour, with everything that it said of itself`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const worker = { ...workerNumbered(1), tenantId }
    await s.leases.register(worker)
    await s.maintenance.reclaim({ holderId: worker.workerId, beats: 0 })
    const [view] = await listWorkers(s.workers, { tenantId })
    const { registeredAt, beatAt, endedAt, ...rest } = view!
    assert.deepEqual(rest, { ...worker, status: 'DEAD', currentLoad: 0 })
    assert(endedAt! >= beatAt && beatAt >= registeredAt)
    assert.equal(await s.workers.find(tenantId, worker.workerId), null)
    await s.ageLeases(59 * 60_000)
    assert.deepEqual(
      (await listWorkers(s.workers, { tenantId, status: 'DEAD' })).map(({ workerId }) => workerId),
      [worker.workerId],
    )
    assert.equal(await s.workers.prune(10), 0)
    await s.ageLeases(61_000)
    assert.deepEqual(await listWorkers(s.workers, { tenantId }), [])
    assert.deepEqual([await s.workers.prune(10), await s.workers.prune(10)], [1, 0])
  })

  test(`${name}: the executions of a worker are counted by tenant`, async (t) => {
    const s = await setup(t)
    const [first, second] = [await s.addTenant(1), await s.addTenant(1)]
    const [workerId, idle] = [await s.addWorker(), await s.addWorker()]
    for (const [tenantId, count] of [
      [first, 2],
      [second, 1],
    ] as const) {
      // biome-ignore format: a table
      const job = await s.createJob({ tenantId, overlapPolicy: 'ALLOW' })
      for (let i = 0; i < count; i++) await s.trigger(job)
    }
    await s.claim(workerId, 10)
    const held = await s.workers.countHeld([workerId, idle])
    assert.deepEqual(
      held.toSorted((a, b) => b.held - a.held),
      [
        { workerId, tenantId: first, held: 2, long: 0 },
        { workerId, tenantId: second, held: 1, long: 0 },
      ],
    )
    assert.deepEqual(await s.workers.countHeld([idle]), [])
  })

  test(`${name}: workers are counted by status, with the executions that they hold`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    for (let number = 1; number <= 4; number++)
      await s.leases.register({ ...workerNumbered(number), tenantId, capacity: 3 })
    await s.leases.register(workerNumbered(5))
    await s.leases.unregister(workerNumbered(4).workerId)
    await s.maintenance.reclaim({ holderId: workerNumbered(3).workerId, beats: 0 })
    await s.leases.beat(workerNumbered(2).workerId, { status: 'DRAINING', currentLoad: 9 })
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    for (let i = 0; i < 2; i++) await s.trigger(job)
    await s.claim(workerNumbered(1).workerId, 2)
    const own = { active: 1, draining: 1, silent: 0, deadLastHour: 1, capacity: 6, running: 2 }
    assert.deepEqual(await s.workers.count({ tenantId }), own)
    assert.deepEqual(await s.workers.count({ tenantId: null }), { ...own, active: 2, capacity: 56 })
    await s.ageLeases(11_000)
    assert.deepEqual(await s.workers.count({ tenantId }), {
      ...{ active: 0, draining: 0, silent: 2, deadLastHour: 1, capacity: 0, running: 0 },
    })
  })

  test(`${name}: of registrations at one moment, a tenant gets as many as it may have`, async (t) => {
    const s = await setup(t)
    const [tenantId, other] = [await s.addTenant(1), await s.addTenant(2)]
    const workers = Array.from({ length: 40 }, (_, at) => ({ ...workerNumbered(at), tenantId }))
    const outcomes = await Promise.all(workers.map((one) => s.leases.register(one, 5)))
    assert.equal(outcomes.filter((outcome) => outcome === 'registered').length, 5)
    assert.equal((await s.workers.count({ tenantId })).active, 5)
    const made = workers[outcomes.indexOf('registered')]!
    assert.equal(await s.leases.register(made, 5), 'registered', 'again, after a lost reply')
    assert.equal(await s.leases.register({ ...workerNumbered(41), tenantId: other }, 5), 'registered')
    assert.equal(await s.leases.register(workerNumbered(42), 5), 'registered', 'ours')
    const refused = workers[outcomes.indexOf('too_many')]!
    await s.leases.unregister(made.workerId)
    assert.equal(await s.leases.register(refused, 5), 'registered')
    assert.equal(await s.leases.register(made, 5), 'too_many')
  })

  test(`${name}: workers are listed a page at a time, and by status`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    for (let number = 1; number <= 5; number++)
      await s.leases.register({ ...workerNumbered(number), tenantId: number === 3 ? null : tenantId })
    await s.maintenance.reclaim({ holderId: workerNumbered(2).workerId, beats: 0 })
    const numbersOf = async (query: Partial<WorkerQuery>) =>
      (await listWorkers(s.workers, { tenantId: null, ...query })).map(({ workerId }) =>
        Number(workerId.slice(-3)),
      )
    assert.deepEqual(await numbersOf({ limit: 2 }), [1, 2])
    assert.deepEqual(await numbersOf({ limit: 2, after: workerNumbered(2).workerId }), [3, 4])
    assert.deepEqual(await numbersOf({ limit: 2, after: workerNumbered(4).workerId }), [5])
    assert.deepEqual(await numbersOf({ tenantId }), [1, 2, 4, 5])
    assert.deepEqual(await numbersOf({ tenantId, status: 'ACTIVE', limit: 2 }), [1, 4])
    assert.deepEqual(await numbersOf({ status: 'DEAD' }), [2])
  })

  test(`${name}: a page of workers ends early at its bytes, and only the last has nothing behind it`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const handlers = Array.from({ length: 200 }, (_, at) => `${'h'.repeat(125)}${100 + at}`)
    for (let number = 1; number <= 7; number++) {
      const own = number < 6 ? handlers : []
      await s.leases.register({ ...workerNumbered(number), tenantId, handlers: own })
    }
    await s.maintenance.reclaim({ holderId: workerNumbered(2).workerId, beats: 0 })
    const pagesOf = async (query: Partial<WorkerQuery>) => {
      const pages: number[][] = []
      for (
        let { after, more }: { after: string | null; more: boolean } = { after: null, more: true };
        more;
      ) {
        const page = await s.workers.page({ tenantId, ...query, after })
        pages.push(page.workers.map(({ workerId }) => Number(workerId.slice(-3))))
        after = page.workers.at(-1)?.workerId ?? after
        more = page.more
      }
      return pages
    }
    assert.deepEqual(await pagesOf({ bytesMax: 80_000 }), [
      [1, 2],
      [3, 4],
      [5, 6, 7],
    ])
    assert.deepEqual(
      await pagesOf({ bytesMax: 80_000, limit: 1 }),
      [1, 2, 3, 4, 5, 6, 7].map((one) => [one]),
    )
    assert.deepEqual(await pagesOf({ bytesMax: 1, status: 'DEAD' }), [[2]])
    assert.deepEqual(await pagesOf({ limit: 7 }), [[1, 2, 3, 4, 5, 6, 7]])
    assert.deepEqual(await pagesOf({ status: 'DRAINING' }), [[]])
  })

  test(`${name}: a worker that beat after it was watched is not reclaimed`, async (t) => {
    const s = await setup(t)
    const { workerId } = workerNumbered(1)
    await s.leases.register(workerNumbered(1))
    await s.leases.beat(workerId, idle)
    assert.equal(await s.maintenance.reclaim({ holderId: workerId, beats: 0 }), 'alive')
    assert.equal(await s.leases.beat(workerId, idle), 'held')
  })

  test(`${name}: a worker that left is shown as LEFT for a while, and leaving twice is harmless`, async (t) => {
    const s = await setup(t)
    await s.leases.register(workerNumbered(1))
    await s.leases.register(workerNumbered(2))
    await s.leases.unregister(workerNumbered(1).workerId)
    await s.leases.unregister(workerNumbered(1).workerId)
    const shown = async () =>
      (await listWorkers(s.workers, { tenantId: null })).map(({ workerId, status }) => [workerId, status])
    assert.deepEqual(await shown(), [
      [workerNumbered(1).workerId, 'LEFT'],
      [workerNumbered(2).workerId, 'ACTIVE'],
    ])
    assert.equal(await s.leases.beat(workerNumbered(1).workerId, idle), 'lost')
    await s.ageLeases(11 * 60_000)
    assert.deepEqual(await shown(), [[workerNumbered(2).workerId, 'DEAD']])
  })

  test(`${name}: the workers of a tenant are listed to it, and all workers to a caller that asks for all`, async (t) => {
    const s = await setup(t)
    const [one, two] = [await s.addTenant(1), await s.addTenant(1)]
    const sdk = { executors: ['worker'], handlers: ['send-report', 'sweep'] } as const
    await s.leases.register(workerNumbered(1))
    await s.leases.register({ ...workerNumbered(2), ...sdk, tenantId: one })
    await s.leases.register({ ...workerNumbered(3), ...sdk, tenantId: two })
    const idsOf = async (tenantId: string | null) =>
      (await listWorkers(s.workers, { tenantId })).map(({ workerId }) => workerId).toSorted()
    assert.deepEqual(
      await idsOf(null),
      [1, 2, 3].map((number) => workerNumbered(number).workerId),
    )
    assert.deepEqual(await idsOf(one), [workerNumbered(2).workerId])
    const [{ tenantId, executors, handlers }] = (await listWorkers(s.workers, { tenantId: two })) as [
      WorkerView,
    ]
    assert.deepEqual([tenantId, executors, handlers], [two, sdk.executors, sdk.handlers])
    assert.deepEqual(await listWorkers(s.workers, { tenantId: s.ids.next() }), [])
  })

  test(`${name}: a worker is found by its tenant only`, async (t) => {
    const s = await setup(t)
    const [one, two] = [await s.addTenant(1), await s.addTenant(1)]
    const { workerId } = workerNumbered(1)
    await s.leases.register({ ...workerNumbered(1), tenantId: one, handlers: ['sweep'] })
    await s.leases.register(workerNumbered(2))
    const found = await s.workers.find(one, workerId)
    assert.deepEqual([found!.workerId, found!.status, found!.handlers], [workerId, 'ACTIVE', ['sweep']])
    assert.equal(await s.workers.find(two, workerId), null)
    assert.equal(await s.workers.find(one, workerNumbered(2).workerId), null)
    await s.ageLeases(11_000)
    assert.equal((await s.workers.find(one, workerId))!.status, 'DEAD')
    await s.leases.unregister(workerId)
    assert.equal(await s.workers.find(one, workerId), null)
  })
}

import assert from 'node:assert/strict'
import test from 'node:test'
import { createScenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { LaneChooser } from '../domain/lane.ts'
import type { JobFilter, LetterFilter, NewOperation, OperationOptions } from '../domain/operation.ts'
import { defaultTenantId } from '../domain/tenant.ts'
import { epochMs } from '../lib/epoch.ts'
import type { NewJob } from '../ports/jobs.ts'
import { createMemoryStore } from '../store/memory/create-memory-store.ts'
import { runOperation } from './run-operations.ts'

const allJobs: JobFilter = { status: null, tag: null, q: null }
const allLetters: LetterFilter = { jobId: null, reason: null, errorType: null, from: null, to: null }

async function setup() {
  const world = createVirtualWorld()
  const { store, ...ports } = createMemoryStore(world.clock)
  const now = async () => world.clock.databaseNow()
  const scenario = await createScenario({ ...ports, ids: world.ids, now })
  const told: string[] = []
  const deps = {
    ...world,
    operations: ports.operations,
    lanes: new LaneChooser(),
    onChanged: () => void told.push('changed'),
    onReady: () => void told.push('ready'),
  }
  const step = () => runOperation(deps)
  async function start(kind: NewOperation['kind'], options: OperationOptions = {}, filter: object = {}) {
    const all = kind === 'redrive' ? allLetters : allJobs
    const operation = {
      operationId: world.ids.next(),
      tenantId: defaultTenantId,
      kind,
      filter: { ...all, ...filter },
      options,
      createdBy: 'ann',
      createdAt: world.clock.databaseNow(),
      total: 0,
      totalCapped: false,
    } as NewOperation
    assert.equal(await ports.operations.create(operation), 'created')
    return operation.operationId
  }
  const show = async (id: string) => {
    const { status, done, skipped } = (await ports.operations.get(defaultTenantId, id))!
    return { status, done, skipped }
  }
  const statusOf = async ({ jobId }: NewJob) => (await ports.jobs.get(defaultTenantId, jobId))!.status
  return { ...scenario, world, store, told, step, start, show, statusOf }
}

test('without an operation there is nothing to do', async () => {
  const { step, told } = await setup()
  assert.equal(await step(), 'idle')
  assert.deepEqual(told, [])
})

test('many jobs are paused in steps, those left alone are counted', async () => {
  const { createJob, step, start, show, statusOf, told, world, jobs } = await setup()
  const made: NewJob[] = []
  for (let i = 0; i < 11; i++) made.push(await createJob({ tags: ['x'] }))
  const over = await createJob({ tags: ['x'], status: 'COMPLETED', slotAt: null })
  const other = await createJob()
  await world.advance(5)
  const until = epochMs(world.clock.databaseNow() + 60_000)
  const id = await start('pause', { reason: 'moving', until }, { tag: 'x' })
  await world.advance(5)
  const late = await createJob({ tags: ['x'] })
  assert.equal(await step(), 'more')
  assert.deepEqual(await show(id), { status: 'RUNNING', done: 9, skipped: 1 })
  assert.equal(await step(), 'more')
  assert.deepEqual(await show(id), { status: 'COMPLETED', done: 11, skipped: 1 })
  assert.equal(await step(), 'idle')
  assert.deepEqual(told, ['changed', 'changed'])
  const { pause } = (await jobs.get(defaultTenantId, made[0]!.jobId))!
  assert.deepEqual([pause?.reason, pause?.by, pause?.until], ['moving', 'ann', until])
  assert.equal(await statusOf(over), 'COMPLETED')
  assert.equal(await statusOf(other), 'ACTIVE')
  assert.equal(await statusOf(late), 'ACTIVE', 'it was created after the operation')
})

test('many jobs are resumed and deleted; what is so already is left alone', async () => {
  const { createJob, step, start, show, statusOf } = await setup()
  const [a, b] = [await createJob(), await createJob()]
  await start('pause', {}, { q: 'report' })
  await step()
  const resume = await start('resume')
  await step()
  assert.deepEqual(await show(resume), { status: 'COMPLETED', done: 2, skipped: 0 })
  const again = await start('resume')
  await step()
  assert.deepEqual(await show(again), { status: 'COMPLETED', done: 0, skipped: 2 })
  const remove = await start('delete')
  await step()
  assert.deepEqual(await show(remove), { status: 'COMPLETED', done: 2, skipped: 0 })
  assert.deepEqual([await statusOf(a), await statusOf(b)], ['DELETED', 'DELETED'])
  const deleted = await start('pause', {}, { status: 'DELETED' })
  await step()
  assert.deepEqual(await show(deleted), { status: 'COMPLETED', done: 0, skipped: 2 })
})

test('many jobs are triggered, with a payload where there is a body for it', async () => {
  const { createJob, step, start, show, told, store } = await setup()
  const job = await createJob()
  await createJob({ execution: { ...job.execution, method: 'GET' } })
  const id = await start('trigger', { payloadOverride: null })
  assert.equal(await step(), 'more')
  assert.deepEqual(await show(id), { status: 'COMPLETED', done: 1, skipped: 1 })
  const plain = await start('trigger')
  await step()
  assert.deepEqual(await show(plain), { status: 'COMPLETED', done: 2, skipped: 0 })
  assert.deepEqual(told, ['ready', 'ready'])
  const live = [...store.live.values()]
  assert.deepEqual(
    live.map((one) => [one.kind, one.payloadOverride]).filter(([, payload]) => payload === null),
    [['trigger', null]],
  )
  assert.equal(live.length, 3)
})

test('dead letters are redriven at the rate that was asked for', async () => {
  const {
    createJob,
    step,
    start,
    show,
    told,
    world,
    fireBatch,
    claimBatch,
    finishBatch,
    failed,
    addWorker,
    jobs,
  } = await setup()
  const made: NewJob[] = []
  for (let i = 0; i < 5; i++) made.push(await createJob())
  const workerId = await addWorker()
  await fireBatch(made, 0)
  await finishBatch(workerId, await claimBatch(workerId), failed({ deadReason: 'NOT_RETRYABLE' }))
  await world.advance(5)
  await jobs.change({ tenantId: defaultTenantId, jobId: made[4]!.jobId }, (state) => ({
    ...state,
    version: null,
    by: 'ann',
    status: 'DELETED',
    slotAt: null,
    skips: [],
    dropsOwed: false,
    cancelsPending: true,
  }))
  const id = await start('redrive', { ratePerSecond: 2 })
  assert.equal(await step(), 'more')
  assert.equal((await show(id)).status, 'RUNNING')
  assert.equal(await step(), 1_000, 'two a second')
  await world.advance(1_000)
  assert.equal(await step(), 'more')
  await world.advance(1_000)
  assert.equal(await step(), 'more')
  assert.deepEqual(await show(id), { status: 'COMPLETED', done: 4, skipped: 1 })
  assert.equal(await step(), 'idle')
  assert.deepEqual(told, ['ready', 'ready', 'ready'])
})

test('a cancelled operation goes no further', async () => {
  const { createJob, step, start, show, operations, told } = await setup()
  for (let i = 0; i < 15; i++) await createJob()
  const id = await start('pause')
  await step()
  await operations.cancel(defaultTenantId, id)
  assert.equal(await step(), 'idle')
  assert.deepEqual(await show(id), { status: 'CANCELLED', done: 10, skipped: 0 })
  assert.deepEqual(told, ['changed'])
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { createScenario, type Scenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { deleteJob } from '../domain/jobs/job-change.ts'
import type {
  BackfillOptions,
  ExecutionFilter,
  JobFilter,
  LetterFilter,
  NewOperation,
  OperationOptions,
} from '../domain/jobs/operation.ts'
import { LaneChooser } from '../domain/queue/lane.ts'
import { defaultTenantId } from '../domain/tenants/tenant.ts'
import { WaitingEstimates } from '../domain/tenants/waiting-estimates.ts'
import { epochMs } from '../lib/time/epoch.ts'
import type { NewJob } from '../ports/jobs.ts'
import { runOperation } from './run-operations.ts'

const allJobs: JobFilter = { status: null, tag: null, q: null }
const allLetters: LetterFilter = { jobId: null, reason: null, errorType: null, from: null, to: null }

const allExecutions: ExecutionFilter = {
  jobId: null,
  status: null,
  kind: null,
  tag: null,
  q: null,
  errorType: null,
  from: null,
  to: null,
}

async function setup() {
  const world = createVirtualWorld()
  const { store, ...ports } = openMemoryStore(world.clock)
  const now = async () => world.clock.databaseNow()
  const scenario = await createScenario({ ...ports, ids: world.ids, now })
  const told: string[] = []
  const deps = {
    ...world,
    operations: ports.operations,
    lanes: new LaneChooser(),
    waiting: new WaitingEstimates(),
    onChanged: () => void told.push('changed'),
    onReady: () => void told.push('ready'),
    onCancelled: () => void told.push('cancelled'),
  }
  const step = () => runOperation(deps)
  async function start(kind: NewOperation['kind'], options: OperationOptions = {}, filter: object = {}) {
    const all = kind === 'redrive' ? allLetters : kind === 'cancel' ? allExecutions : allJobs
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

test('many jobs are paused in steps, and unaffected ones are counted', async () => {
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

test('many jobs are resumed and deleted; jobs that are so already are left alone', async () => {
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
  while ((await step()) === 'more');
  assert.deepEqual(await show(remove), { status: 'COMPLETED', done: 2, skipped: 0 })
  assert.deepEqual([await statusOf(a), await statusOf(b)], ['DELETED', 'DELETED'])
  const deleted = await start('pause', {}, { status: 'DELETED' })
  await step()
  assert.deepEqual(await show(deleted), { status: 'COMPLETED', done: 0, skipped: 2 })
})

test('of many jobs that are deleted, one that others run after is left alone', async () => {
  const { createJob, step, start, show, statusOf } = await setup()
  const after = ({ jobId }: NewJob) => ({ slotAt: null, dependsOn: [{ jobId, on: 'success' as const }] })
  const gone = { tags: ['gone'] }
  const kept = await createJob(gone)
  await createJob(after(kept))
  const parent = await createJob(gone)
  const child = await createJob({ ...gone, ...after(parent) })
  const id = await start('delete', {}, { tag: 'gone' })
  while ((await step()) === 'more');
  // The newest goes first, so that nothing runs after its parent any more.
  assert.deepEqual(await show(id), { status: 'COMPLETED', done: 2, skipped: 1 })
  assert.deepEqual([await statusOf(parent), await statusOf(child)], ['DELETED', 'DELETED'])
  assert.equal(await statusOf(kept), 'ACTIVE')
})

test('quiet jobs are deleted a hundred in a step, and a job with an unended execution in a step of its own', async () => {
  const { createJob, fire, step, start, show, statusOf, executions } = await setup()
  const made: NewJob[] = []
  for (let i = 0; i < 250; i++) made.push(await createJob())
  const waiting = await fire(made[120]!, 0)
  const id = await start('delete')
  let steps = 0
  while ((await step()) === 'more') steps += 1
  // 100 and 29 newer ones, the one that waits, 100 and 20 older ones.
  assert.equal(steps, 5)
  assert.deepEqual(await show(id), { status: 'COMPLETED', done: 250, skipped: 0 })
  for (const job of made) assert.equal(await statusOf(job), 'DELETED')
  assert.equal((await executions.getExecution(defaultTenantId, waiting))!.status, 'CANCELLED')
})

test('many jobs are triggered, with a payload where there is a body for it', async () => {
  const { createJob, step, start, show, told, store } = await setup()
  const job = await createJob()
  const { execution } = job
  assert(execution.type === 'http')
  await createJob({ execution: { ...execution, method: 'GET' } })
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
    cancelsRunning: false,
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

test('many executions are cancelled: running ones are told to stop, later ones are left alone', async () => {
  const {
    createJob,
    step,
    start,
    show,
    fireBatch,
    claimBatch,
    addWorker,
    trigger,
    statusOf: _,
    ...rest
  } = await setup()
  const { told, world, executions } = rest
  const made: NewJob[] = []
  for (let i = 0; i < 3; i++) made.push(await createJob({ tags: ['x'] }))
  const other = await createJob()
  const { executionIds } = await fireBatch([...made, other], 0)
  await claimBatch(await addWorker())
  const waiting = await trigger(made[0]!)
  await world.advance(5)
  const id = await start('cancel', {}, { tag: 'x' })
  await world.advance(5)
  const later = await trigger(made[1]!)
  assert.equal(await step(), 'more')
  assert.deepEqual(await show(id), { status: 'COMPLETED', done: 4, skipped: 0 })
  assert.deepEqual(told, ['cancelled'])
  const statuses = []
  for (const one of [...executionIds, waiting, later])
    statuses.push((await executions.getExecution(defaultTenantId, one))?.status)
  const running = 'CANCELLING'
  assert.deepEqual(statuses, [running, running, running, 'RUNNING', 'CANCELLED', 'PENDING'])
})

test('a backfill makes no more than may run at once, and is over when all have ended', async () => {
  const given = await setup()
  const { createJob, step, start, show, at, world, store, addWorker, told } = given
  const job = await createJob({ overlapPolicy: 'ALLOW' })
  const backfill: BackfillOptions = {
    order: 'asc',
    maxConcurrent: 2,
    schedule: job.schedule,
    anchorAt: job.anchorAt,
  }
  const id = await start('backfill', { backfill }, { jobId: job.jobId, from: at(10), to: at(12) })
  const workerId = await addWorker()
  const slots = () => [...store.live.values()].map(({ slot }) => (slot - at(0)) / 1_000)
  assert.equal(await step(), 'more')
  assert.deepEqual(slots(), [10, 11])
  assert.deepEqual(
    [...store.live.values()].map(({ kind }) => kind),
    ['backfill', 'backfill'],
  )
  await world.advance(1_000)
  assert.equal(await step(), 'more')
  assert.deepEqual(await show(id), { status: 'RUNNING', done: 0, skipped: 0 })
  await endOne(given, workerId)
  await world.advance(1_000)
  await step()
  assert.deepEqual(await show(id), { status: 'RUNNING', done: 1, skipped: 0 })
  assert.deepEqual(slots(), [11, 12])
  await endOne(given, workerId)
  await endOne(given, workerId)
  await world.advance(1_000)
  await step()
  assert.deepEqual(await show(id), { status: 'COMPLETED', done: 3, skipped: 0 })
  assert.deepEqual([...new Set(told)], ['ready'])
})

test('a backfill from the newest passes over excluded slots', async () => {
  const { createJob, step, start, show, at, world, store, ...given } = await setup()
  const from = new Date(at(11)).toISOString()
  const to = new Date(at(13)).toISOString()
  const schedule = {
    type: 'CRON',
    cron_expression: '* * * * * *',
    exclusions: [{ from, to }],
  } as const
  const job = await createJob({
    overlapPolicy: 'ALLOW',
    schedule: { ...schedule, exclusions: [{ from, to }] },
  })
  const backfill: BackfillOptions = {
    order: 'desc',
    maxConcurrent: 9,
    schedule: job.schedule,
    anchorAt: job.anchorAt,
  }
  const id = await start('backfill', { backfill }, { jobId: job.jobId, from: at(9), to: at(14) })
  await step()
  const slots = [...store.live.values()].map(({ slot }) => (slot - at(0)) / 1_000)
  assert.deepEqual(slots, [14, 13, 10, 9])
  const workerId = await given.addWorker()
  for (const _ of slots) await endOne(given, workerId)
  await world.advance(1_000)
  await step()
  assert.deepEqual(await show(id), { status: 'COMPLETED', done: 4, skipped: 0 })
})

test('a backfill of a job that is deleted meanwhile fails, and says so', async () => {
  const { createJob, step, start, at, world, operations, jobs } = await setup()
  const job = await createJob()
  const backfill: BackfillOptions = {
    order: 'asc',
    maxConcurrent: 1,
    schedule: job.schedule,
    anchorAt: job.anchorAt,
  }
  const id = await start('backfill', { backfill }, { jobId: job.jobId, from: at(10), to: at(12) })
  await step()
  await jobs.change({ tenantId: defaultTenantId, jobId: job.jobId }, (state) =>
    deleteJob(state, { by: 'ann' }),
  )
  await world.advance(1_000)
  await step()
  const { status, error } = (await operations.get(defaultTenantId, id))!
  assert.deepEqual([status, error], ['FAILED', 'The job was deleted.'])
})

test('cancelling a backfill ends its executions that do not run yet', async () => {
  const { createJob, step, start, at, show, store, operations } = await setup()
  const job = await createJob()
  const backfill: BackfillOptions = {
    order: 'asc',
    maxConcurrent: 3,
    schedule: job.schedule,
    anchorAt: job.anchorAt,
  }
  const id = await start('backfill', { backfill }, { jobId: job.jobId, from: at(10), to: at(20) })
  await step()
  assert.equal(store.live.size, 3)
  await operations.cancel(defaultTenantId, id)
  assert.equal(store.live.size, 0)
  assert.equal(await step(), 'idle')
  assert.equal((await show(id)).status, 'CANCELLED')
})

/** Lets the first one that waits run and succeed. */
async function endOne(
  { claim, finishLive, succeeded }: Pick<Scenario, 'claim' | 'finishLive' | 'succeeded'>,
  workerId: string,
): Promise<void> {
  const { live } = await claim(workerId, 1)
  await finishLive(workerId, live[0]!, succeeded())
}

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { WhyReply } from '@carillon/contract/slot.ts'
import { assertProblem, runAll, setupApp, testWorker, testWorkerId } from '../../../test/app.ts'
import { at, fireSlot } from '../../../test/fire.ts'
import { unlimitedTier } from '../../../testing/memory-store/first-tiers.ts'
import { sharedLane } from '../../domain/queue/lane.ts'
import { serverRoute } from '../../domain/queue/route.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'

async function setup(t: TestContext, changes: object = {}) {
  const parts = await setupApp(t)
  const execution = { callback_url: 'http://127.0.0.1:7420/echo' }
  const made = await parts.call('POST', '/jobs', { name: 'a', schedule: '@hourly', execution, ...changes })
  assert.equal(made.statusCode, 201, made.body)
  const { job_id: jobId } = made.json()
  const why = async (time?: string): Promise<WhyReply> => {
    const answer = await parts.call('GET', `/jobs/${jobId}/why${time === undefined ? '' : `?at=${time}`}`)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json()
  }
  const fire = (time: string, more: Parameters<typeof fireSlot>[3] = {}) => fireSlot(parts, jobId, time, more)
  const goTo = (time: string) => parts.world.advance(at(time) - parts.world.clock.databaseNow())
  return { ...parts, jobId, why, fire, goTo }
}

test('the answer gives the status of the slot at a second, with its execution', async (t) => {
  const { memory, world, jobId, why, fire, goTo } = await setup(t)
  await goTo('2026-01-01T01:00:00Z')
  const { executionId } = await fire('2026-01-01T01:00:00Z')
  await runAll({ memory, world })
  await goTo('2026-01-01T01:30:00Z')
  const expected = {
    answer: `It ran: the slot 2026-01-01T01:00:00Z started at 2026-01-01T01:00:00Z and succeeded after 250 ms (execution ${executionId}).`,
    at: '2026-01-01T01:00:00Z',
    job_id: jobId,
    status: 'SUCCEEDED',
    scheduled_time: '2026-01-01T01:00:00Z',
    execution_id: executionId,
  }
  assert.deepEqual(await why('2026-01-01T01:00:00Z'), expected)
  assert.deepEqual(await why('2026-01-01T02:00:00.999%2B01:00'), expected)
  assert.equal((await why('2026-01-01T00:59:59Z')).status, 'NO_SLOT')
  const beside = await why('2026-01-01T01:00:01Z')
  assert.deepEqual([beside.status, beside.execution_id], ['NO_SLOT', executionId])
  assert.equal(
    beside.answer,
    `The job has no slot at 2026-01-01T01:00:01Z: the one before, 2026-01-01T01:00:00Z, succeeded (execution ${executionId}), and the one after is 2026-01-01T02:00:00Z.`,
  )
})

test('of several slots before an instant the latest is told', async (t) => {
  const { memory, world, why, fire, goTo } = await setup(t)
  for (const time of ['2026-01-01T01:00:00Z', '2026-01-01T02:00:00Z']) {
    await goTo(time)
    await fire(time)
    await runAll({ memory, world })
  }
  await goTo('2026-01-01T03:30:00Z')
  assert.equal((await why('2026-01-01T02:30:00Z')).scheduled_time, '2026-01-01T02:00:00Z')
})

test('a skipped slot names the execution that was under way', async (t) => {
  const { memory, world, why, fire, goTo } = await setup(t)
  await goTo('2026-01-01T01:00:00Z')
  const { executionId } = await fire('2026-01-01T01:00:00Z')
  await goTo('2026-01-01T02:00:00Z')
  assert.equal((await fire('2026-01-01T02:00:00Z')).answer, 'overlap')
  await goTo('2026-01-01T02:30:00Z')
  const text = `It was skipped: the slot 2026-01-01T02:00:00Z came while the execution ${executionId} was still under way (overlap_policy SKIP).`
  for (const _ of ['while it is under way', 'when it has ended']) {
    const { answer, status, reason } = await why('2026-01-01T02:00:00Z')
    assert.deepEqual([answer, status, reason], [text, 'SKIPPED', 'overlap'])
    await runAll({ memory, world })
  }
})

test('a missed slot names the later one that ran instead', async (t) => {
  const { why, fire, goTo } = await setup(t)
  await goTo('2026-01-01T03:20:00Z')
  const range = { from: at('2026-01-01T01:00:00Z'), to: at('2026-01-01T02:00:00Z'), count: 2 }
  await fire('2026-01-01T03:00:00Z', { late: true, skipped: [{ ...range, reason: 'misfire' }] })
  const { answer, reason } = await why('2026-01-01T01:00:00Z')
  assert.equal(reason, 'misfire')
  assert.match(answer, /the latest missed slot, 2026-01-01T03:00:00Z, ran instead\.$/)
})

test('an exclusion is named by its calendar or its day', async (t) => {
  const { call, why, goTo, fire, jobId } = await setup(t)
  const entries = [{ date: '2026-01-01' }]
  assert.equal((await call('PUT', '/calendars/holidays', { entries })).statusCode, 201)
  const schedule = { cron_expression: '0 * * * *', exclusions: [{ calendar: 'holidays' }] }
  const edited = await call('PATCH', `/jobs/${jobId}`, { schedule }, { 'if-match': '*' })
  assert.equal(edited.statusCode, 200, edited.body)
  const now = await why()
  assert.equal(
    now.answer,
    'Not due: its next slot, 2026-01-01T01:00:00Z, is excluded by the calendar "holidays"; it runs next at 2026-01-02T00:00:00Z.',
  )
  const ahead = await why('2026-01-01T05:00:00Z')
  assert.equal(
    ahead.answer,
    'It will be skipped: the slot 2026-01-01T05:00:00Z is excluded by the calendar "holidays".',
  )
  await goTo('2026-01-01T01:00:00Z')
  assert.equal((await fire('2026-01-01T01:00:00Z', { skip: 'exclusion' })).answer, 'exclusion')
  await goTo('2026-01-01T01:30:00Z')
  const then = await why('2026-01-01T01:00:00Z')
  assert.deepEqual([then.status, then.reason], ['SKIPPED', 'exclusion'])
  assert.match(then.answer, /is excluded by the calendar "holidays"\.$/)
})

test('without an instant it is told why nothing runs right now', async (t) => {
  const { memory, world, jobId, call, why, fire, goTo } = await setup(t, { overlap_policy: 'BUFFER_ONE' })
  assert.deepEqual(await why(), {
    answer: 'Not due until 2026-01-01T01:00:00Z.',
    at: '2026-01-01T00:00:00Z',
    job_id: jobId,
    status: 'SCHEDULED',
    scheduled_time: '2026-01-01T01:00:00Z',
  })
  await goTo('2026-01-01T01:00:10Z')
  assert.match((await why()).answer, /^The slot 2026-01-01T01:00:00Z is due, and no scheduler/)
  const { executionId } = await fire('2026-01-01T01:00:00Z')
  assert.match((await why()).answer, /but no worker is registered\.$/)
  await goTo('2026-01-01T01:00:11Z')
  assert.match((await why('2026-01-01T01:00:00Z')).answer, /but no worker is registered\.$/)
  await memory.leases.register(testWorker({ capacity: 5 }))
  assert.equal((await why()).reason, 'queued')
  const { runners } = memory.workers
  memory.workers.runners = async (wanted) => ({
    ...(await runners.call(memory.workers, wanted)),
    hasRoom: false,
  })
  assert.match((await why()).answer, /but the one worker is at capacity\.$/)
  memory.workers.runners = runners
  await goTo('2026-01-01T02:00:00Z')
  assert.equal((await fire('2026-01-01T02:00:00Z')).answer, 'buffered')
  const waits = await why()
  assert.equal(waits.reason, 'overlap')
  assert.match(
    waits.answer,
    new RegExp(`waits for the end of the execution ${executionId}, .* \\(overlap_policy BUFFER_ONE\\)\\.$`),
  )
  await call('DELETE', `/jobs/${jobId}`)
  await runAll({ memory, world })
  const gone = await why()
  assert.deepEqual([gone.status, gone.execution_id], ['DELETED', undefined])
  assert.match(gone.answer, /^The job was deleted by operator at 2026-01-01T02:00:00Z\.$/)
})

test('a paused job shows which key paused it, since when, why and until when', async (t) => {
  const { jobId, call, why, goTo } = await setup(t)
  await goTo('2026-01-01T00:10:00Z')
  await call('PATCH', `/jobs/${jobId}/pause`, { reason: 'Audit', until: '2026-01-02T00:00:00Z' })
  const said = 'has been paused since 2026-01-01T00:10:00Z by operator ("Audit"), until 2026-01-02T00:00:00Z'
  assert.equal(
    (await why()).answer,
    `The job ${said}; no slot fires until it is resumed, but it can be triggered.`,
  )
  assert.equal((await why('2026-01-01T05:00:00Z')).status, 'PAUSED')
  await goTo('2026-01-01T03:30:00Z')
  const then = await why('2026-01-01T02:00:00Z')
  assert.deepEqual([then.status, then.reason], ['SKIPPED', 'paused'])
  assert.equal(
    then.answer,
    `It was skipped: the slot 2026-01-01T02:00:00Z came while the job is paused: it ${said}.`,
  )
  await call('PATCH', `/jobs/${jobId}/resume`)
  assert.equal(
    (await why('2026-01-01T02:00:00Z')).answer,
    'It was skipped: the slot 2026-01-01T02:00:00Z came while the job was paused by operator at 2026-01-01T00:10:00Z ("Audit").',
  )
})

test('a job that ran its one time tells so', async (t) => {
  const { memory, world, why } = await setup(t, { schedule: { type: 'IMMEDIATE' } })
  await runAll({ memory, world })
  await world.advance(60_000)
  const { answer, status } = await why()
  assert.equal(status, 'COMPLETED')
  assert.match(answer, /^The job is completed: its one slot, 2026-01-01T00:00:00Z, succeeded \(execution /)
})

test('each wrong question is refused by its parameter', async (t) => {
  const { jobId, call } = await setup(t)
  for (const text of ['yesterday!', '2026-01-01', '2026-01-01T00:00:00', '3026-01-01T00:00:00Z'])
    assertProblem(await call('GET', `/jobs/${jobId}/why?at=${text}`), 'INVALID_REQUEST', 'at')
  const plus = await call('GET', `/jobs/${jobId}/why?at=2026-01-03T01:00:00+01:00`)
  assert.match(plus.json().detail, /%2B/)
  assertProblem(await call('GET', `/jobs/${jobId}/why?when=now`), 'INVALID_REQUEST', 'when')
  assertProblem(await call('GET', '/jobs/nope/why'), 'JOB_NOT_FOUND')
})

test('an execution whose tenant is at its share of the workers says so, once a second tenant has jobs', async (t) => {
  const { memory, why, call, world } = await setup(t, { overlap_policy: 'ALLOW' })
  const worker = testWorker({ capacity: 8 })
  await memory.leases.register(worker)
  const execution = { callback_url: 'http://127.0.0.1:7420/echo' }
  const slow = { name: 'slow', schedule: '@hourly', execution, overlap_policy: 'ALLOW' }
  const { job_id: slowId } = (await call('POST', '/jobs', slow)).json()
  for (let i = 0; i < 2; i++) await call('POST', `/jobs/${slowId}/trigger`, {})
  const order = { workerId: worker.workerId, routes: [serverRoute], hosts: [], batchesMax: 10 }
  await memory.queue.claim({ ...order, lanes: [{ lane: sharedLane, count: 2 }] })
  await world.advance(11_000)
  await memory.leases.beat(worker.workerId, { status: 'ACTIVE', currentLoad: 2 })
  const { job_id: jobId } = await why()
  await call('POST', `/jobs/${jobId}/trigger`, {})
  assert.equal((await why()).reason, 'queued', 'one tenant has every place')
  const { tenant_id: tenantId } = (await call('POST', '/tenants', { name: 'other' })).json()
  await call('POST', '/jobs', slow, { 'x-tenant-id': tenantId })
  const told = await why()
  assert.equal(told.reason, 'tenant_share')
  assert.match(told.answer, /but its tenant has 2 under way, its share of the workers while other tenants/)
})

test('an execution whose tenant runs as many as its tier lets run at once says so', async (t) => {
  const { memory, why, call, world } = await setup(t, { overlap_policy: 'ALLOW' })
  const worker = testWorker({ capacity: 8 })
  await memory.leases.register(worker)
  const execution = { callback_url: 'http://127.0.0.1:7420/echo' }
  const slow = { name: 'slow', schedule: '@hourly', execution, overlap_policy: 'ALLOW' }
  const { job_id: slowId } = (await call('POST', '/jobs', slow)).json()
  for (let i = 0; i < 2; i++) await call('POST', `/jobs/${slowId}/trigger`, {})
  const order = { workerId: worker.workerId, routes: [serverRoute], hosts: [], batchesMax: 10 }
  await memory.queue.claim({ ...order, lanes: [{ lane: sharedLane, count: 2 }] })
  await world.advance(1_000)
  const { job_id: jobId } = await why()
  await call('POST', `/jobs/${jobId}/trigger`, {})
  const limit = (concurrentExecutionsMax: number) =>
    memory.tiers.put({ ...unlimitedTier, concurrentExecutionsMax })
  await limit(3)
  assert.equal((await why()).reason, 'queued')
  await limit(2)
  const told = await why()
  assert.equal(told.reason, 'concurrent_executions')
  assert.match(told.answer, /its tenant runs 2 executions, and its tier lets 2 run at once/)
})

test('the workers that could run it are counted, not listed', async (t) => {
  const execution = { type: 'worker', handler: 'report', labels: ['eu'] }
  const { memory, why, fire, goTo } = await setup(t, { execution })
  memory.workers.page = () => assert.fail('10,000 workers with 200 handlers each are 250 MB')
  await goTo('2026-01-01T01:00:10Z')
  await fire('2026-01-01T01:00:00Z')
  const equipped = { tenantId: defaultTenantId, executors: ['worker'], handlers: ['report'] } as const
  await memory.leases.register(testWorker(equipped))
  assert.match((await why()).answer, /but no worker runs the handler report with the labels eu\.$/)
  const workerId = testWorkerId.replace(/aa$/, 'ab')
  await memory.leases.register(testWorker({ ...equipped, workerId, labels: ['eu', 'gpu'] }))
  assert.equal((await why()).reason, 'queued')
})

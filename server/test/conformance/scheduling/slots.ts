// Conformance of the slots port, for every implementation: load, changes, and the state that a fire leaves alone. Slots
// that cannot simply fire are in slots-late.ts.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { partitionOf, partitionsCount } from '../../../src/domain/jobs/job.ts'
import { batchExecutionsMax, executionIdAt } from '../../../src/domain/queue/execution.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { rankOf } from '../../../src/domain/queue/rank.ts'
import { dueAtOf } from '../../../src/domain/schedule/jitter.ts'
import { lookAheadMs } from '../../../src/domain/scheduling/look-ahead.ts'
import { epochMs } from '../../../src/lib/time/epoch.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { missed, type Scenario } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'

const allPartitions = Array.from({ length: partitionsCount }, (_, partitionId) => partitionId)

async function loadAll(s: Scenario) {
  const partitions = allPartitions.map((partitionId) => ({ partitionId, after: null }))
  return s.slots.load({ partitions, dueBefore: s.at(86_400), limit: 100 })
}

async function cursorOf(s: Scenario, job: NewJob) {
  return (await loadAll(s)).find(({ jobId }) => jobId === job.jobId) ?? null
}

export function testSlots(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  testLoad(name, setup)
  testChanges(name, setup)
  testFire(name, setup)
  testMove(name, setup)
}

function testLoad(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: a cursor carries all that is needed to plan its job`, async (t) => {
    const s = await setup(t)
    const schedule = { type: 'INTERVAL', every_seconds: 10 } as const
    const late = { misfirePolicy: 'FIRE_ALL', misfireWindowSeconds: 60 } as const
    const given = { schedule, anchorAt: s.at(-3), priority: 7, jitterSeconds: 5, ...late }
    const job = await s.createJob({ ...given, concurrencyKey: { key: 'exports', limit: 2 } })
    assert.deepEqual(await loadAll(s), [
      {
        jobId: job.jobId,
        partitionId: partitionOf(job.jobId),
        tenantId: job.tenantId,
        version: 1,
        slotAt: s.at(0),
        dueAt: dueAtOf(job, s.at(0)),
        recordedAt: null,
        route: 'server',
        overlapPolicy: 'SKIP',
        ...given,
        limited: true,
        ownRows: true,
        runs: 0,
        calendars: null,
        graphId: null,
      },
    ])
  })

  test(`${name}: only active jobs of the asked partitions that are due before the instant are loaded`, async (t) => {
    const s = await setup(t)
    const due = await s.createJob({ jobId: s.jobIdIn(3), slotAt: s.at(9) })
    await s.createJob({ jobId: s.jobIdIn(3), slotAt: s.at(10) })
    await s.createJob({ jobId: s.jobIdIn(4), slotAt: s.at(9) })
    for (const status of ['PAUSED', 'COMPLETED', 'DELETED'] as const) {
      await s.createJob({ jobId: s.jobIdIn(3), slotAt: s.at(9), status })
    }
    await s.createJob({ jobId: s.jobIdIn(3), slotAt: null })
    const partitions = [{ partitionId: 3, after: null }]
    const loaded = await s.slots.load({ partitions, dueBefore: s.at(10), limit: 10 })
    assert.deepEqual(
      loaded.map(({ jobId }) => jobId),
      [due.jobId],
    )
  })

  test(`${name}: a partition is loaded piece by piece, in the order of due time and id`, async (t) => {
    const s = await setup(t)
    const seconds = [2, 1, 1, 3, 1]
    const jobs = []
    for (const second of seconds) jobs.push(await s.createJob({ jobId: s.jobIdIn(5), slotAt: s.at(second) }))
    const other = await s.createJob({ jobId: s.jobIdIn(6), slotAt: s.at(1) })
    const expected = jobs.toSorted((a, b) => a.slotAt! - b.slotAt! || (a.jobId < b.jobId ? -1 : 1))
    const load = async (after: { dueAt: NewJob['createdAt']; jobId: string } | null) =>
      s.slots.load({
        partitions: [
          { partitionId: 5, after },
          { partitionId: 6, after: null },
        ],
        dueBefore: s.at(10),
        limit: 2,
      })
    const found: string[] = []
    let after = null
    for (let round = 0; round < 9; round++) {
      const loaded = await load(after)
      const [last, ...more] = loaded.filter(({ partitionId }) => partitionId === 5).toReversed()
      assert(loaded.some(({ jobId }) => jobId === other.jobId))
      if (last === undefined) break
      assert(more.length <= 1)
      found.push(...more.toReversed().map(({ jobId }) => jobId), last.jobId)
      after = { dueAt: last.dueAt, jobId: last.jobId }
    }
    assert.deepEqual(
      found,
      expected.map(({ jobId }) => jobId),
    )
  })

  test(`${name}: a cursor tells the latest slot recorded from its own on, run or skipped`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ slotAt: s.at(1) })
    const recordedAt = async () => (await cursorOf(s, job))!.recordedAt
    await s.fire(job, 0)
    assert.equal(await recordedAt(), null)
    await s.runAll()
    await s.fire(job, 1)
    assert.equal(await recordedAt(), s.at(1))
    assert.equal(await s.tryFire(job, 3), 'overlap')
    assert.equal(await recordedAt(), s.at(3))
    await s.runAll()
    await s.fire(job, 2, { late: true })
    assert.equal(await recordedAt(), s.at(3))
  })
}

function testChanges(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: a new job is noted once, for its partition only`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ jobId: s.jobIdIn(8) })
    const others = allPartitions.filter((partitionId) => partitionId !== 8)
    assert.deepEqual(await s.slots.takeChanges(others, 10), [])
    const taken = await s.slots.takeChanges([7, 8], 10)
    assert.deepEqual(taken, [await cursorOf(s, job)])
    assert.deepEqual(await s.slots.takeChanges([8], 10), [])
  })

  test(`${name}: notes are taken a limited number at a time, none twice`, async (t) => {
    const s = await setup(t)
    const jobs = []
    for (const partitionId of [1, 1, 2, 2, 2]) jobs.push(await s.createJob({ jobId: s.jobIdIn(partitionId) }))
    const taken = []
    for (const expected of [2, 2, 1, 0]) {
      const cursors = await s.slots.takeChanges([1, 2], 2)
      assert.equal(cursors.length, expected)
      taken.push(...cursors)
    }
    assert.deepEqual(taken.map(({ jobId }) => jobId).toSorted(), jobs.map(({ jobId }) => jobId).toSorted())
  })

  test(`${name}: jobs that are paused, have no slot, or are due far from now are not noted`, async (t) => {
    const s = await setup(t)
    await s.createJob({ status: 'PAUSED' })
    await s.createJob({ slotAt: null })
    const now = await s.now()
    await s.createJob({ slotAt: epochMs(now + 2 * lookAheadMs + 60_000) })
    const soon = await s.createJob({ slotAt: epochMs(now + 2 * lookAheadMs - 30_000) })
    const taken = await s.slots.takeChanges(allPartitions, 10)
    assert.deepEqual(
      taken.map(({ jobId }) => jobId),
      [soon.jobId],
    )
  })

  test(`${name}: a job that ended before its note was taken is left out`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0, { move: { slotAt: null, dueAt: null, decidedTo: s.at(0) } })
    assert.deepEqual(await s.slots.takeChanges(allPartitions, 10), [])
  })
}

function testFire(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: a slot that fires is an execution that can be claimed`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ priority: 6 })
    const executionId = await s.fire(job, 3)
    assert.equal(await s.statusOf(executionId), 'PENDING')
    const { enqueuedAt, ...batch } = await s.claimBatch(await s.addWorker())
    assert(enqueuedAt >= s.at(600) && enqueuedAt <= (await s.now()))
    assert.deepEqual(batch, {
      batchId: executionId,
      fence: 1,
      lane: sharedLane,
      priority: 6,
      rank: rankOf(enqueuedAt, 6),
      positions: [0],
      jobIds: [job.jobId],
      versions: [1],
      slots: [s.at(3)],
      ...{ kind: 'slot', payloads: null },
    })
  })

  test(`${name}: slots that fire together share a batch, in the order of their positions`, async (t) => {
    const s = await setup(t)
    const jobs = []
    for (let i = 0; i < 4; i++) jobs.push(await s.createJob())
    const { batchId } = await s.fireBatch(jobs, 2)
    const batch = await s.claimBatch(await s.addWorker())
    assert.deepEqual(
      [batch.batchId, batch.positions, batch.jobIds, batch.versions, batch.slots],
      [batchId, [0, 1, 2, 3], jobs.map(({ jobId }) => jobId), [1, 1, 1, 1], new Array(4).fill(s.at(2))],
    )
  })

  test(`${name}: slots go to the lane, priority and route they are fired for`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(3)
    const one = s.slotOf(await s.createJob(), 0, { lane: tenantId })
    const two = s.slotOf(await s.createJob(), 0, { route: 'other', priority: 9 })
    assert.deepEqual(await s.slots.fire([one, two]), [])
    const workerId = await s.addWorker()
    const { batches } = await s.claim(workerId, 10, tenantId)
    assert.deepEqual(
      batches.map(({ batchId }) => batchId),
      [one.executionId],
    )
    const [batch] = (await s.claimOn(workerId, ['other'])).batches
    assert.deepEqual([batch!.batchId, batch!.priority], [two.executionId, 9])
  })

  test(`${name}: a slot that does not fire leaves its place in the batch empty`, async (t) => {
    const s = await setup(t)
    const [first, second, third] = [
      await s.createJob(),
      await s.createJob({ status: 'PAUSED' }),
      await s.createJob(),
    ]
    const batchId = s.ids.nextBatch()
    const items = [first, second, third].map((job, i) =>
      s.slotOf(job, 0, { executionId: executionIdAt(batchId, i) }),
    )
    assert.deepEqual(await s.slots.fire(items), [{ jobId: second.jobId, slot: s.at(0), answer: 'stale' }])
    const { positions, jobIds } = await s.claimBatch(await s.addWorker())
    assert.deepEqual(
      [positions, jobIds],
      [
        [0, 2],
        [first.jobId, third.jobId],
      ],
    )
  })

  test(`${name}: a slot fires once, also when it is fired again after it ended`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const executionId = await s.fire(job, 0)
    assert.equal(await s.tryFire(job, 0), 'already_recorded')
    assert.equal(await s.tryFire(job, 0, { late: true }), 'already_recorded')
    await s.runAll()
    assert.equal(await s.tryFire(job, 0), 'already_recorded')
    assert.equal(await s.tryFire(job, 0, { late: true }), 'already_recorded')
    assert.deepEqual(
      (await s.list(job)).executions.map((one) => one.executionId),
      [executionId],
    )
    assert.deepEqual(await s.skipsOf(job), [])
  })

  for (const overlapPolicy of ['ALLOW', 'SKIP'] as const) {
    test(`${name}: a slot that is named twice in one fire fires once, with overlap ${overlapPolicy}`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob({ overlapPolicy })
      const batchId = s.ids.nextBatch()
      const items = [0, 1].map((i) => s.slotOf(job, 0, { executionId: executionIdAt(batchId, i) }))
      await s.slots.fire(items)
      assert.equal((await s.list(job)).total, 1)
    })
  }

  test(`${name}: a slot fires once when two schedulers fire it at the same time`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const answers = await Promise.all(Array.from({ length: 4 }, () => s.tryFire(job, 0)))
    assert.equal(answers.filter((answer) => answer === 'fired').length, 1)
    assert(answers.every((answer) => ['fired', 'already_recorded', 'busy'].includes(answer)))
    assert.equal((await s.list(job)).total, 1)
  })

  test(`${name}: a job never fires from a stale copy`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    assert.equal(await s.tryFire(job, 0, { version: 2 }), 'stale')
    for (const status of ['PAUSED', 'COMPLETED', 'DELETED'] as const) {
      assert.equal(await s.tryFire(await s.createJob({ status }), 0), 'stale')
    }
    assert.deepEqual(await s.queue.waiting(['server'], 10), { lanes: [], hosts: [] })
  })

  test(`${name}: a job that is not there is stale, so that nobody tries again`, async (t) => {
    const s = await setup(t)
    assert.equal(await s.tryFire(await s.createJob(), 0, { jobId: s.ids.next() }), 'stale')
  })

  test(`${name}: no slot fires early, and one that was early leaves no trace`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const dueAt = epochMs((await s.now()) + 60_000)
    const move = { slotAt: s.at(9), dueAt: s.at(9), decidedTo: s.at(0) }
    const skipped = missed({ from: s.at(-3), to: s.at(-1), count: 3 })
    assert.equal(await s.tryFire(job, 0, { dueAt, move, skipped }), 'early')
    assert.equal((await cursorOf(s, job))!.slotAt, s.at(0))
    assert.deepEqual([await s.skipsOf(job), (await s.list(job)).total], [[], 0])
    // A slot that only a fast clock finds late does not fire, and nothing that it would skip or owe is recorded.
    const plannedAt = epochMs((await s.now()) + 60_000)
    assert.equal(await s.tryFire(job, 0, { plannedAt, move, skipped, owedTo: s.at(8) }), 'early')
    assert.equal(await s.tryFire(job, 0, { plannedAt, move, skip: 'misfire', skipped }), 'early')
    assert.deepEqual([await s.skipsOf(job), (await s.list(job)).total], [[], 0])
    await s.fire(job, 0)
  })

  test(`${name}: slots of the same job fire together if overlap is allowed`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const batchId = s.ids.nextBatch()
    const items = Array.from({ length: batchExecutionsMax }, (_, i) =>
      s.slotOf(job, i, { executionId: executionIdAt(batchId, i) }),
    )
    assert.deepEqual(await s.slots.fire(items), [])
    const { slots } = await s.claimBatch(await s.addWorker())
    assert.deepEqual(
      slots,
      items.map(({ slot }) => slot),
    )
    assert.equal(await s.tryFire(job, 200), 'fired')
  })
}

function testMove(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: a cursor stays where it is unless the fire moves it`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    assert.equal((await cursorOf(s, job))!.slotAt, s.at(0))
    await s.runAll()
    await s.fire(job, 1, { move: { slotAt: s.at(60), dueAt: s.at(63), decidedTo: s.at(59) } })
    const { slotAt, dueAt, recordedAt } = (await cursorOf(s, job))!
    assert.deepEqual([slotAt, dueAt, recordedAt], [s.at(60), s.at(63), null])
    assert.equal((await s.jobs.get(job.tenantId, job.jobId))!.slotAt, s.at(60))
  })

  test(`${name}: nothing fires that the cursor has passed`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 1, { move: { slotAt: s.at(60), dueAt: s.at(60), decidedTo: s.at(59) } })
    await s.runAll()
    const reaching = { move: { slotAt: s.at(99), dueAt: s.at(99), decidedTo: s.at(98) } }
    assert.equal(await s.tryFire(job, 30, reaching), 'stale')
    assert.equal(await s.tryFire(job, 30), 'already_recorded')
    assert.equal(await s.tryFire(job, 59, { late: true }), 'already_recorded')
    assert.equal((await cursorOf(s, job))!.slotAt, s.at(60))
    assert.equal(await s.tryFire(job, 60), 'fired')
  })

  test(`${name}: a cursor moves forward only`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    await s.fire(job, 10, { move: { slotAt: s.at(20), dueAt: s.at(20), decidedTo: s.at(15) } })
    for (const decidedTo of [s.at(14), s.at(15)]) {
      const back = { slotAt: s.at(12), dueAt: s.at(12), decidedTo }
      await s.fire(job, decidedTo === s.at(14) ? 16 : 17, { move: back })
      assert.equal((await cursorOf(s, job))!.slotAt, s.at(20))
    }
  })

  test(`${name}: of several moves in one fire the furthest holds`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const items = [1, 2, 3].map((second) => {
      const move = { slotAt: s.at(second + 1), dueAt: s.at(second + 1), decidedTo: s.at(second) }
      return s.slotOf(job, second, { move })
    })
    assert.deepEqual(await s.slots.fire(items), [])
    assert.equal((await cursorOf(s, job))!.slotAt, s.at(4))
  })

  test(`${name}: a slot that has its record still moves the cursor`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    const move = { slotAt: s.at(5), dueAt: s.at(5), decidedTo: s.at(0) }
    assert.equal(await s.tryFire(job, 0, { move }), 'already_recorded')
    assert.equal((await cursorOf(s, job))!.slotAt, s.at(5))
  })

  test(`${name}: a job without another slot is completed, even if its execution still runs`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const executionId = await s.fire(job, 0, { move: { slotAt: null, dueAt: null, decidedTo: s.at(0) } })
    const { status, slotAt } = (await s.jobs.get(job.tenantId, job.jobId))!
    assert.deepEqual([status, slotAt], ['COMPLETED', null])
    assert.equal(await cursorOf(s, job), null)
    assert.equal(await s.tryFire(job, 1), 'stale')
    assert.equal((await s.claimBatch(await s.addWorker())).batchId, executionId)
  })
}

// Conformance: the fate of a slot that comes while an execution of its job is live, by overlap policy, and of the slots
// of a job with executions that are counted before they start.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { OVERLAP_POLICIES } from '@carillon/contract/constants.ts'
import { bufferMax } from '../../../src/domain/jobs/job.ts'
import { executionIdAt } from '../../../src/domain/queue/execution.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { change, edit } from '../jobs/changes.ts'
import { UNDER_WAY } from '../queue/under-way.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const nothing = { batches: [], live: [] }
const byPolicy = {
  ALLOW: 'fired',
  SKIP: 'overlap',
  BUFFER_ONE: 'buffered',
  BUFFER_ALL: 'buffered',
  CANCEL_RUNNING: 'buffered',
} as const
const BUFFERING = ['BUFFER_ONE', 'BUFFER_ALL', 'CANCEL_RUNNING'] as const

export function testOverlap(name: string, setup: Setup): void {
  testPolicies(name, setup)
  testBuffer(name, setup)
  testLimited(name, setup)
  testLimitedKinds(name, setup)
}

function testPolicies(name: string, setup: Setup): void {
  for (const overlapPolicy of OVERLAP_POLICIES) {
    for (const { how, begin } of UNDER_WAY) {
      test(`${name}: ${overlapPolicy}: a slot that comes while an execution ${how}`, async (t) => {
        const s = await setup(t)
        // Begun while it was SKIP: a buffering job has no executions in batches, but its earlier ones may be in a
        // batch.
        const job = await s.createJob()
        await begin(s, job)
        await change(s, job, edit({ overlapPolicy }))
        assert.equal(await s.tryFire(job, 9, { overlapPolicy, version: 2 }), byPolicy[overlapPolicy])
        const { executions } = await s.list(job)
        assert.equal(executions.length, overlapPolicy === 'SKIP' ? 1 : 2)
        assert.equal((await s.skipsOf(job))!.length, overlapPolicy === 'SKIP' ? 1 : 0)
      })
    }

    test(`${name}: ${overlapPolicy}: a slot that comes while nothing of its job is live fires`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob({ overlapPolicy })
      await s.fire(job, 0)
      await s.runAll()
      assert.equal(await s.tryFire(job, 1), 'fired')
      const { batches, live } = await s.claim(await s.addWorker())
      const isAlone = overlapPolicy !== 'ALLOW' && overlapPolicy !== 'SKIP'
      assert.deepEqual([batches.length, live.length], isAlone ? [0, 1] : [1, 0])
    })

    test(`${name}: ${overlapPolicy}: a late slot is owed unless overlap is allowed`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob({ overlapPolicy })
      await s.fire(job, 0)
      const answer = await s.tryFire(job, 1, { late: true })
      assert.equal(answer, overlapPolicy === 'ALLOW' ? 'fired' : 'deferred')
      assert.deepEqual(await s.skipsOf(job), [])
    })
  }
}

function testBuffer(name: string, setup: Setup): void {
  test(`${name}: a buffered slot has its execution at once, which nobody can claim`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'BUFFER_ONE' })
    await s.fire(job, 0)
    await s.claimLive(await s.addWorker())
    const move = { slotAt: s.at(2), dueAt: s.at(2), decidedTo: s.at(1) }
    const item = s.slotOf(job, 1, { move })
    assert.deepEqual(await s.slots.fire([item]), [{ jobId: job.jobId, slot: s.at(1), answer: 'buffered' }])
    const { executionId, kind, slot, status, attempt } = await s.view(item.executionId)
    assert.deepEqual(
      [executionId, kind, slot, status, attempt],
      [item.executionId, 'slot', s.at(1), 'PENDING', 0],
    )
    assert.deepEqual(await s.claim(await s.addWorker()), nothing)
    const { lastRunAt, slotAt } = (await s.jobs.get(job.tenantId, job.jobId))!
    assert.deepEqual([lastRunAt, slotAt], [s.at(1), s.at(2)])
    assert.deepEqual(await s.maintenance.findWaiting(null, 10), [job.jobId])
  })

  for (const overlapPolicy of BUFFERING) {
    test(`${name}: ${overlapPolicy}: a slot is buffered once`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob({ overlapPolicy })
      await s.fire(job, 0)
      assert.equal(await s.tryFire(job, 1), 'buffered')
      assert.equal(await s.tryFire(job, 1), 'already_recorded')
      assert.equal(await s.tryFire(job, 1, { late: true }), 'already_recorded')
      assert.equal((await s.list(job)).total, 2)
    })

    test(`${name}: ${overlapPolicy}: a fire decides a single slot for each job`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob({ overlapPolicy })
      const [answer, ...more] = await s.slots.fire([s.slotOf(job, 0), s.slotOf(job, 1)])
      assert.deepEqual([answer, more], [{ jobId: job.jobId, slot: s.at(1), answer: 'busy' }, []])
      assert.equal(await s.tryFire(job, 1), 'buffered')
    })
  }

  test(`${name}: BUFFER_ONE keeps one slot and skips the others, until there is room again`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'BUFFER_ONE' })
    await s.fire(job, 0)
    const answers = []
    for (const second of [1, 2, 3]) {
      answers.push(await s.tryFire(job, second, { previousSlot: s.at(second - 1) }))
    }
    assert.deepEqual(answers, ['buffered', 'overlap', 'overlap'])
    assert.deepEqual(await s.skipsOf(job), [{ from: s.at(2), to: s.at(3), count: 2, reason: 'overlap' }])
    await s.runAll()
    await s.release(job)
    assert.equal(await s.tryFire(job, 4), 'buffered', 'the one that waited is under way')
    assert.equal(await s.tryFire(job, 5), 'overlap')
  })

  test(`${name}: only slots count against the room for slots`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'BUFFER_ONE' })
    for (let i = 0; i < 3; i++) await s.trigger(job)
    assert.equal(await s.tryFire(job, 0), 'buffered')
    assert.equal(await s.tryFire(job, 1), 'overlap')
  })

  for (const overlapPolicy of ['BUFFER_ALL', 'CANCEL_RUNNING'] as const) {
    test(`${name}: ${overlapPolicy} keeps a thousand slots and skips any further ones`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob({ overlapPolicy: 'ALLOW', concurrencyLimit: 1 })
      await bufferSlots(s, job, bufferMax - 1)
      await change(s, job, edit({ overlapPolicy, concurrencyLimit: null }))
      const asEdited = { version: 2, overlapPolicy, limited: false, ownRow: true }
      assert.equal(await s.tryFire(job, 0, asEdited), 'buffered')
      assert.equal(await s.tryFire(job, 1, asEdited), 'overlap')
      const at = s.at(1)
      assert.deepEqual(await s.skipsOf(job), [{ from: at, to: at, count: 1, reason: 'overlap' }])
    })
  }
}

/** Slots up to second 0 of a job that is limited and allows overlap. */
async function bufferSlots(s: StoreScenario, job: NewJob, count: number): Promise<void> {
  for (let from = 0; from < count; from += 100) {
    const size = Math.min(100, count - from)
    const batchId = s.ids.nextBatch()
    const items = Array.from({ length: size }, (_, i) =>
      s.slotOf(job, from + i - count, { executionId: executionIdAt(batchId, i) }),
    )
    const answers = await s.slots.fire(items)
    assert.deepEqual(new Set(answers.map(({ answer }) => answer)), new Set(['buffered']))
    assert.equal(answers.length, size)
  }
}

function testLimited(name: string, setup: Setup): void {
  const concurrencyKey = { key: 'exports', limit: 3 }

  test(`${name}: slots of a limited job wait to be counted, also when nothing is under way`, async (t) => {
    const s = await setup(t)
    for (const limits of [{ concurrencyLimit: 5 }, { concurrencyKey }]) {
      const job = await s.createJob({ overlapPolicy: 'ALLOW', ...limits })
      assert.equal(await s.tryFire(job, 0), 'buffered')
      assert.equal(await s.tryFire(job, 1, { late: true }), 'buffered')
      const expected = 'concurrencyKey' in limits ? concurrencyKey : null
      const { waiting, underWay } = await s.look(job)
      assert.deepEqual(
        waiting.map((one) => one.concurrencyKey),
        [expected, expected],
      )
      assert.equal(underWay, 0)
    }
    assert.deepEqual(await s.claim(await s.addWorker()), nothing)
  })

  test(`${name}: the concurrency limit of a job does not hold up a slot that its overlap policy decides`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'SKIP', concurrencyLimit: 1 })
    assert.equal(await s.tryFire(job, 0), 'fired')
    assert.equal(await s.tryFire(job, 1), 'overlap')
  })

  test(`${name}: with a key the overlap policy still decides about the next slot`, async (t) => {
    const s = await setup(t)
    const expected = {
      ALLOW: ['buffered', 'buffered', 'buffered'],
      SKIP: ['buffered', 'overlap', 'overlap'],
      BUFFER_ONE: ['buffered', 'overlap', 'overlap'],
      BUFFER_ALL: ['buffered', 'buffered', 'buffered'],
      CANCEL_RUNNING: ['buffered', 'buffered', 'buffered'],
    }
    for (const overlapPolicy of OVERLAP_POLICIES) {
      const job = await s.createJob({ overlapPolicy, concurrencyKey })
      const answers = []
      for (const second of [0, 1, 2]) answers.push(await s.tryFire(job, second))
      assert.deepEqual(answers, expected[overlapPolicy], overlapPolicy)
    }
  })

  test(`${name}: a late slot of a job with a key is owed behind another, unless overlap is allowed`, async (t) => {
    const s = await setup(t)
    for (const overlapPolicy of OVERLAP_POLICIES) {
      const job = await s.createJob({ overlapPolicy, concurrencyKey })
      assert.equal(await s.tryFire(job, 0, { late: true }), 'buffered')
      const answer = await s.tryFire(job, 1, { late: true })
      assert.equal(answer, overlapPolicy === 'ALLOW' ? 'buffered' : 'deferred', overlapPolicy)
    }
  })

  test(`${name}: a limited job that allows overlap keeps a thousand slots and skips any further ones`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW', concurrencyLimit: 1 })
    await bufferSlots(s, job, bufferMax)
    assert.equal(await s.tryFire(job, 0), 'overlap')
    await s.release(job)
    assert.equal(await s.tryFire(job, 1), 'buffered')
  })
}

function testLimitedKinds(name: string, setup: Setup): void {
  const concurrencyKey = { key: 'exports', limit: 1 }
  const limited = { overlapPolicy: 'ALLOW', concurrencyKey } as const

  test(`${name}: the one execution of a limited job that runs at once waits to be counted`, async (t) => {
    const s = await setup(t)
    const immediate = { executionId: s.ids.nextBatch(), slot: s.at(0), lane: sharedLane }
    const schedule = { type: 'IMMEDIATE' } as const
    const status = 'COMPLETED' as const
    const job = await s.createJob({ ...limited, schedule, status, slotAt: null, immediate })
    assert.deepEqual(await s.claim(await s.addWorker()), nothing)
    const { kind, slot, concurrencyKey: key } = (await s.look(job)).waiting[0]!
    assert.deepEqual([kind, slot, key], ['slot', s.at(0), concurrencyKey])
    assert.equal((await s.release(job)).ready, 1)
    assert.equal((await s.claimLive(await s.addWorker())).executionId, immediate.executionId)
  })

  test(`${name}: triggers, retries and redrives of a limited job wait to be counted`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob(limited)
    const workerId = await s.addWorker()
    const executionId = await s.trigger(job)
    assert.deepEqual(await s.claim(workerId), nothing)
    await s.release(job)
    await s.finishLive(workerId, await s.claimLive(workerId), s.died())
    const [retried, redriven] = [s.ids.next(), s.ids.next()]
    const { tenantId } = job
    const original = { tenantId, executionId, lane: sharedLane }
    const { kind } = await s.control.retry({ ...original, newExecutionId: retried })
    assert.equal(kind, 'retried')
    await s.release(job)
    await s.finishLive(workerId, await s.claimLive(workerId), s.died())
    const letters = [{ executionId: retried, newExecutionId: redriven, lane: sharedLane }]
    assert.equal((await s.deadLetters.redrive({ tenantId, letters })).redriven.length, 1)
    assert.deepEqual(await s.claim(workerId), nothing)
    const { waiting } = await s.look(job)
    assert.deepEqual(
      waiting.map((one) => [one.executionId, one.kind, one.concurrencyKey]),
      [[redriven, 'redrive', concurrencyKey]],
    )
  })

  test(`${name}: a waiting execution keeps the key it was made with`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob(limited)
    await s.trigger(job)
    await change(s, job, edit({ concurrencyKey: { key: 'imports', limit: 9 } }))
    await s.trigger(job)
    const { waiting, ...known } = await s.look(job)
    assert.deepEqual(waiting.map((one) => one.concurrencyKey?.key).toSorted(), ['exports', 'imports'])
    assert.deepEqual(known.concurrencyKey, { key: 'imports', limit: 9 })
  })
}

// fire×fire, fire×trigger, fire×finish, trigger×trigger: in either order, a slot has one record and one execution, and
// a job that skips overlaps has one execution in progress.
import assert from 'node:assert/strict'
import test from 'node:test'
import { executionIdAt } from '../../src/domain/queue/execution.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import { insertTriggers, lockFreeJobs } from '../../src/postgres/jobs/triggers.sql.ts'
import { finishBatches } from '../../src/postgres/queue/queue.sql.ts'
import { fireSlots } from '../../src/postgres/scheduling/fire-slots.sql.ts'
import { lockCursors } from '../../src/postgres/scheduling/slots.sql.ts'
import { allHeld, missed, type Scenario } from '../conformance/scenario.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole, fatesOf, placesOf } from './invariants.ts'
import { createRace, hammer, releaseAll, type Session } from './sessions.ts'

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: fire×fire: the second finds the cursor locked, and then the slot taken`, async (t) => {
    const { s, client, first, second } = await createRace(t, version)
    const job = await s.createJob()
    const [one, other] = [s.slotOf(job, 0), s.slotOf(job, 0)]
    const held = first.holdAfter(fireSlots)
    const firing = first.slots.fire([one])
    await held.reached
    assert.deepEqual(await second.slots.fire([other]), [{ jobId: job.jobId, slot: s.at(0), answer: 'busy' }])
    held.resume()
    assert.deepEqual(await firing, [])
    assert.deepEqual(await second.slots.fire([other]), [
      { jobId: job.jobId, slot: s.at(0), answer: 'already_recorded' },
    ])
    assert.deepEqual(await placesOf(client), { [one.executionId]: 'batch' })
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: fire×fire: of jobs fired together, each is fired by one of them`, async (t) => {
    const { s, client, first, second } = await createRace(t, version)
    const jobs = await Promise.all(Array.from({ length: 4 }, () => s.createJob()))
    const [a, b, c, d] = jobs.map((job) => s.slotOf(job, 0))
    const [b2, c2] = jobs.slice(1, 3).map((job) => s.slotOf(job, 0))
    const held = first.holdBefore(fireSlots)
    const firing = first.slots.fire([c!, b!, a!])
    await held.reached
    const answers = await second.slots.fire([d!, c2!, b2!])
    assert.deepEqual(
      answers.map(({ jobId, answer }) => [jobId, answer]),
      [c2!, b2!].map(({ jobId }) => [jobId, 'busy']),
    )
    held.resume()
    assert.deepEqual(await firing, [])
    const expected = [a!, b!, c!, d!].map(({ executionId }) => [executionId, 'batch'])
    assert.deepEqual(await placesOf(client), Object.fromEntries(expected))
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: fire×trigger: the trigger waits for the fire, and then behind its execution`, async (t) => {
    const { s, client, first, second, waiting } = await createRace(t, version)
    const job = await s.createJob()
    const slot = s.slotOf(job, 0)
    const held = first.holdAfter(fireSlots)
    const firing = first.slots.fire([slot])
    await held.reached
    const executionId = s.ids.next()
    const order = { tenantId: job.tenantId, jobId: job.jobId, executionId, lane: sharedLane }
    const triggering = second.jobs.trigger(order)
    await waiting()
    held.resume()
    await Promise.all([firing, triggering])
    assert.deepEqual(await placesOf(client), { [slot.executionId]: 'batch', [executionId]: 'waiting' })
    await assertWhole(client)
  })

  for (const statement of [lockFreeJobs, insertTriggers]) {
    test(`PostgreSQL ${version}: trigger×fire: the fire finds the cursor locked after ${statement.name}`, async (t) => {
      const { s, client, first, second } = await createRace(t, version)
      const job = await s.createJob()
      const executionId = s.ids.next()
      const held = first.holdAfter(statement)
      const order = { tenantId: job.tenantId, jobId: job.jobId, executionId, lane: sharedLane }
      const triggering = first.jobs.trigger(order)
      await held.reached
      const slot = s.slotOf(job, 0)
      assert.deepEqual(
        (await second.slots.fire([slot])).map(({ answer }) => answer),
        ['busy'],
      )
      held.resume()
      await triggering
      assert.deepEqual(
        (await second.slots.fire([slot])).map(({ answer }) => answer),
        ['overlap'],
      )
      assert.deepEqual(await placesOf(client), { [executionId]: 'live' })
      await assertWhole(client)
    })
  }

  test(`PostgreSQL ${version}: trigger×trigger: the second waits behind the first`, async (t) => {
    const { s, client, first, second, waiting } = await createRace(t, version)
    const { jobId, tenantId } = await s.createJob()
    const [one, other] = [s.ids.next(), s.ids.next()]
    const held = first.holdAfter(insertTriggers)
    const triggering = first.jobs.trigger({ tenantId, jobId, executionId: one, lane: sharedLane })
    await held.reached
    const behind = second.jobs.trigger({ tenantId, jobId, executionId: other, lane: sharedLane })
    await waiting()
    held.resume()
    await Promise.all([triggering, behind])
    assert.deepEqual(await placesOf(client), { [one]: 'live', [other]: 'waiting' })
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: fire×finish: a finish that is not committed is an execution under way`, async (t) => {
    const { s, client, first, second } = await createRace(t, version)
    const job = await s.createJob()
    const executionId = await s.fire(job, 0)
    const workerId = await s.addWorker()
    const { batchId, fence } = await s.claimBatch(workerId)
    const held = first.holdAfter(finishBatches)
    const report = [{ batchId, fence, endings: [{ position: 0, ending: s.succeeded() }] }]
    const finishing = first.queue.finishBatches(workerId, report)
    await held.reached
    assert.deepEqual(
      (await second.slots.fire([s.slotOf(job, 1)])).map(({ answer }) => answer),
      ['overlap'],
    )
    held.resume()
    assert.deepEqual(await finishing, allHeld)
    const next = s.slotOf(job, 2)
    assert.deepEqual(await second.slots.fire([next]), [])
    assert.deepEqual(await placesOf(client), { [executionId]: 'final', [next.executionId]: 'batch' })
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: fire×finish: an execution that leaves its batch meanwhile is still seen`, async (t) => {
    const { s, client, first } = await createRace(t, version)
    const job = await s.createJob()
    await s.fire(job, 0)
    const workerId = await s.addWorker()
    const batch = await s.claimBatch(workerId)
    const held = first.holdBefore(fireSlots)
    const firing = first.slots.fire([s.slotOf(job, 1)])
    await held.reached
    await s.finishBatch(workerId, batch, s.running())
    held.resume()
    assert.deepEqual(
      (await firing).map(({ answer }) => answer),
      ['overlap'],
    )
    await assertWhole(client)
  })
}

test('fire×fire with owed slots: the same plan twice owes them once', async (t) => {
  const { s, client, first, second } = await createRace(t)
  const job = await s.createJob()
  const plan = () =>
    s.slotOf(job, 3, {
      late: true,
      owedTo: s.at(6),
      skipped: missed({ from: s.at(0), to: s.at(2), count: 3 }),
      move: { slotAt: s.at(7), dueAt: s.at(7), decidedTo: s.at(6) },
    })
  const [one, other] = [plan(), plan()]
  const held = first.holdAfter(lockCursors)
  const firing = first.slots.fire([one])
  await held.reached
  assert.deepEqual(
    (await second.slots.fire([other])).map(({ answer }) => answer),
    ['busy'],
  )
  held.resume()
  assert.deepEqual(await firing, [])
  assert.deepEqual(
    (await second.slots.fire([other])).map(({ answer }) => answer),
    ['already_recorded'],
  )
  const fates = await fatesOf(client, job, { from: s.at(0), to: s.at(6) })
  assert.deepEqual(fates, ['skipped', 'skipped', 'skipped', 'ran', 'owed', 'owed', 'owed'])
  assert.deepEqual(Object.values(await placesOf(client)), ['batch'])
  await assertWhole(client)
})

// Two schedulers load the same cursor, and one looks at the clock a second later than the other: its plan reaches
// further, and begins where the other's began. Either it is carried out as far as it is new, or it is refused as stale
// and the job is noted, so that it is planned anew from where its cursor is now. 'already_recorded' would say that all is decided.
const late = {
  'nothing of which runs': (s: Scenario, job: NewJob, last: number) =>
    s.slotOf(job, last, {
      skipped: missed({ from: s.at(0), to: s.at(last), count: last + 1 }),
      skip: 'misfire',
      move: { slotAt: s.at(last + 1), dueAt: s.at(last + 1), decidedTo: s.at(last) },
    }),
  'of which the last runs': (s: Scenario, job: NewJob, last: number) =>
    s.slotOf(job, last, {
      late: true,
      skipped: missed({ from: s.at(0), to: s.at(last - 1), count: last }),
      move: { slotAt: s.at(last + 1), dueAt: s.at(last + 1), decidedTo: s.at(last) },
    }),
  'of which the last four run': (s: Scenario, job: NewJob, last: number) =>
    s.slotOf(job, last - 3, {
      late: true,
      owedTo: s.at(last),
      skipped: missed({ from: s.at(0), to: s.at(last - 4), count: last - 3 }),
      move: { slotAt: s.at(last + 1), dueAt: s.at(last + 1), decidedTo: s.at(last) },
    }),
}

for (const [what, plan] of Object.entries(late)) {
  for (const overlapPolicy of ['SKIP', 'ALLOW'] as const) {
    test(`fire×fire: two plans of late slots ${what}, one a second later (${overlapPolicy}), leave no gap`, async (t) => {
      const { s, client, first, second } = await createRace(t)
      const job = await s.createJob({ overlapPolicy })
      const allow = overlapPolicy === 'ALLOW'
      const [one, other] = [plan(s, job, 8), plan(s, job, 9)]
      if (allow) for (const slot of [one, other]) Object.assign(slot, { late: false, owedTo: null })
      assert.deepEqual(
        (await first.slots.fire([one])).map(({ answer }) => answer).filter((answer) => answer !== 'misfire'),
        [],
      )
      await client.query('DELETE FROM changes')
      const [answer] = await second.slots.fire([other])
      const fates = await fatesOf(client, job, { from: s.at(0), to: s.at(9) })
      const { rows } = await client.query('SELECT slot_at, decided_to FROM cursors WHERE job_id = $1', [
        job.jobId,
      ])
      if (answer?.answer === 'stale') {
        assert.equal((await client.query('SELECT FROM changes')).rowCount, 1, 'the job is to be loaded anew')
        assert.deepEqual([Number(rows[0].slot_at), Number(rows[0].decided_to)], [s.at(9), s.at(8)])
        fates.pop()
      }
      // If a job allows overlaps, slots that are not fired at once are not owed: the plan names each slot.
      if (!allow || what !== 'of which the last four run') assert(!fates.includes('nothing'), fates.join())
      await assertWhole(client)
    })
  }
}

test('fire×fire: a late plan for slots that another scheduler fires on time meanwhile skips none that ran', async (t) => {
  const { s, client, first, second } = await createRace(t)
  const job = await s.createJob()
  for (const at of [0, 1, 2, 3]) {
    await first.slots.fire([s.slotOf(job, at)])
    await s.runAll()
  }
  await second.slots.fire([late['of which the last runs'](s, job, 6)])
  const fates = await fatesOf(client, job, { from: s.at(0), to: s.at(3) })
  assert.deepEqual(fates, new Array(4).fill('ran'))
  await assertWhole(client)
})

test('a second outage while slots are owed: the slots it skips do not run', async (t) => {
  const { s, client } = await createRace(t)
  const job = await s.createJob()
  await s.fire(job, 0, {
    late: true,
    owedTo: s.at(3),
    move: { slotAt: s.at(4), dueAt: s.at(4), decidedTo: s.at(3) },
  })
  const answer = await s.tryFire(job, 8, {
    late: true,
    owedTo: s.at(9),
    skipped: missed({ from: s.at(4), to: s.at(7), count: 4 }),
    move: { slotAt: s.at(10), dueAt: s.at(10), decidedTo: s.at(9) },
  })
  assert.equal(answer, 'deferred')
  for (let rounds = 0; rounds < 20; rounds++) {
    await s.runAll()
    const owed = await s.owedBy(job)
    if (owed === null) break
    await releaseAll(s, [job.jobId])
  }
  const fates = await fatesOf(client, job, { from: s.at(0), to: s.at(9) })
  assert.deepEqual(fates, [...new Array(4).fill('ran'), ...new Array(4).fill('skipped'), 'ran', 'ran'])
  await assertWhole(client)
})

test('two slots of a job that skips overlaps, fired in one statement: only one execution is in progress', async (t) => {
  const { s, client } = await createRace(t)
  const job = await s.createJob()
  await s.slots.fire([s.slotOf(job, 0), s.slotOf(job, 1)])
  await assertWhole(client)
})

test('two schedulers fire every slot of the same jobs in order while people trigger these jobs', async (t) => {
  const { s, client, first, second } = await createRace(t)
  const jobs = await Promise.all(Array.from({ length: 10 }, () => s.createJob()))
  const fire = ({ slots }: Session) => {
    const next = new Map(jobs.map(({ jobId }) => [jobId, 0]))
    return async () => {
      const some = jobs.filter(() => Math.random() < 0.7).toSorted(() => Math.random() - 0.5)
      const answers = await slots.fire(some.map((job) => s.slotOf(job, next.get(job.jobId)!)))
      const busy = new Set(answers.filter(({ answer }) => answer === 'busy').map(({ jobId }) => jobId))
      for (const { jobId } of some) if (!busy.has(jobId)) next.set(jobId, Math.min(590, next.get(jobId)! + 1))
    }
  }
  const trigger = async () => {
    const { tenantId, jobId } = jobs[Math.floor(Math.random() * jobs.length)]!
    await second.jobs.trigger({ tenantId, jobId, executionId: s.ids.next(), lane: sharedLane })
  }
  const errors = await hammer(1_500, [fire(first), fire(second), fire(first), trigger, () => s.runAll()])
  assert.deepEqual(errors, [])
  await assertWhole(client)
})

test('nothing joins a batch that was enqueued before', async (t) => {
  const { s } = await createRace(t)
  const [first, second] = [await s.createJob(), await s.createJob()]
  const { batchId } = await s.fireBatch([first], 0)
  const move = { slotAt: s.at(60), dueAt: s.at(60), decidedTo: s.at(0) }
  const later = { executionId: executionIdAt(batchId, 7), runs: { max: 5, count: 1 }, move }
  await assert.rejects(s.slots.fire([s.slotOf(second, 0, later)]))
  assert.deepEqual((await s.claimBatch(await s.addWorker())).jobIds, [first.jobId])
})

// Conformance of the slots port for on-time slots of a job that catches up (FIRE_ALL): they join the owed slots instead of
// being skipped, up to a bound.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { joinedMax } from '../../../src/domain/scheduling/misfire.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { SlotToFire } from '../../../src/ports/slots.ts'
import { change, remove } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testJoiningSlots(name: string, setup: Setup): void {
  test(`${name}: a slot on time joins the owed slots of a job that fires all, and runs in its turn`, async (t) => {
    const s = await setup(t)
    for (const overlapPolicy of ['SKIP', 'BUFFER_ONE'] as const) {
      const job = await s.createJob({ ...everySecond, overlapPolicy })
      await s.fire(job, 0, { late: true, owedTo: s.at(2), ...joining(s, 2) })
      await s.runAll()
      assert.equal(await s.tryFire(job, 3, joining(s, 3)), 'deferred')
      assert.equal(await s.tryFire(job, 4, joining(s, 4)), 'deferred')
      const ran = [await s.list(job)]
      for (let round = 0; round < 4; round++) {
        await s.release(job)
        await s.runAll()
        ran.push(await s.list(job))
      }
      assert.deepEqual(
        ran.map(({ total }) => total),
        [1, 2, 3, 4, 5],
      )
      assert.deepEqual(await s.skipsOf(job), [])
    }
  })

  test(`${name}: a slot on time waits for the last execution of a catch-up too`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob(everySecond)
    await s.fire(job, 0, { late: true, owedTo: s.at(1), ...joining(s, 1) })
    await s.runAll()
    await s.release(job)
    // Slot 1 is under way, and nothing is owed behind it.
    assert.equal(await s.tryFire(job, 2, joining(s, 2)), 'deferred')
    await s.runAll()
    await s.release(job)
    await s.runAll()
    assert.equal((await s.list(job, { status: 'SUCCEEDED' })).total, 3)
    await s.release(job)
    assert.equal(await s.owedBy(job), null)
    assert.equal(await s.tryFire(job, 3, joining(s, 3)), 'fired')
    // The catch-up is over: the overlap policy decides again.
    assert.equal(await s.tryFire(job, 4, joining(s, 4)), 'overlap')
  })

  test(`${name}: a single late slot that fires is a catch-up until it has ended`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob(everySecond)
    await s.fire(job, 0, { late: true, ...joining(s, 0) })
    assert.equal(await s.tryFire(job, 1, joining(s, 1)), 'deferred')
    assert.deepEqual(await s.owedBy(job), { from: s.at(1), to: s.at(1) })
  })

  test(`${name}: a slot that joins is decided: a scheduler that starts anew does not plan it again`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob(everySecond)
    await s.fire(job, 0, { late: true, owedTo: s.at(2), ...joining(s, 2) })
    const unmoved = { ...joining(s, 3), move: null }
    assert.equal(await s.tryFire(job, 3, unmoved), 'deferred')
    assert.equal((await s.jobs.get(job.tenantId, job.jobId))!.slotAt, s.at(4))
    assert.equal(await s.tryFire(job, 3, unmoved), 'already_recorded')
  })

  test(`${name}: a catch-up takes a thousand slots on time, and skips any further one until it is over`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob(everySecond)
    const first = -joinedMax - 10
    await s.fire(job, first, { late: true, owedTo: s.at(first + 1), ...joining(s, first + 1) })
    for (let joined = 1; joined <= joinedMax; joined++) {
      const second = first + 1 + joined
      assert.equal(await s.tryFire(job, second, joining(s, second)), 'deferred')
    }
    const owed = await s.owedBy(job)
    for (const second of [-5, -4])
      assert.equal(
        await s.tryFire(job, second, { previousSlot: s.at(second - 1), ...joining(s, second) }),
        'overlap',
      )
    assert.deepEqual(await s.owedBy(job), owed)
    assert.deepEqual(await s.skipsOf(job), [{ from: s.at(-5), to: s.at(-4), count: 2, reason: 'overlap' }])
    // A slot that has gone makes no room for another: otherwise the catch-up might never end.
    await s.runAll()
    await s.release(job)
    assert.equal(await s.tryFire(job, -3, joining(s, -3)), 'overlap')
  })

  test(`${name}: a catch-up whose last execution runs owes nothing, and ends with its job`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob(everySecond)
    await s.fire(job, 0, { late: true, ...joining(s, 0) })
    const { tenantId, jobId } = job
    const query = { tenantId, jobId, from: s.at(-10), to: s.at(10), limit: 10, lateMs: 1_000 }
    assert.equal((await s.slotLedger.listSlots(query))!.owed, null)
    assert.equal((await s.executions.underWay(tenantId, jobId))!.owed, null)
    await change(s, job, remove)
    await s.release(job)
    assert.equal(await s.owedBy(job), null)
  })
}

const everySecond: Partial<NewJob> = {
  misfirePolicy: 'FIRE_ALL',
  overlapPolicy: 'SKIP',
}

/** The fields of a slot that joins a catch-up, with the cursor behind the slot `decided`. */
function joining(s: StoreScenario, decided: number): Pick<SlotToFire, 'joins' | 'move'> {
  const move = { slotAt: s.at(decided + 1), dueAt: s.at(decided + 1), decidedTo: s.at(decided) }
  return { joins: move, move }
}

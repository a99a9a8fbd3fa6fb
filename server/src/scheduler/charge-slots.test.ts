import assert from 'node:assert/strict'
import test from 'node:test'
import { setup as setupFire } from '../../test/fire-scene.ts'
import { unlimitedTier } from '../../testing/memory-store/first-tiers.ts'
import { dueAtOf } from '../domain/schedule/jitter.ts'
import type { NewJob } from '../ports/jobs.ts'
import { SlotCharger } from './charge-slots.ts'

/** Jobs of a tenant that may start so many executions a minute; all are due now. */
async function setup({
  executionsPerMinute = 1 as number | null,
  waitingExecutionsMax = null as number | null,
  jobs = 0,
  changes = {} as Partial<NewJob>,
} = {}) {
  const scene = await setupFire()
  const { tiers, tenants, ids, createEvery } = scene
  const tier = (await tiers.get('free'))!
  await tiers.put({ ...tier, executionsPerMinute, waitingExecutionsMax })
  const tenantId = ids.next()
  await tenants.create({ tenantId, name: 'small', tier: 'free' })
  const made: NewJob[] = []
  for (let n = 0; n < jobs; n++) made.push(await createEvery(3_600, 600, { tenantId, ...changes }))
  const stateOf = (job: NewJob) =>
    [...scene.store.jobs.get(job.jobId)!.live].map(({ host, state }) => [state, host])[0] ?? 'in a batch'
  const spent = () => scene.executionBudgets.spent(tenantId)
  return { ...scene, tenantId, made, stateOf, spent }
}

test('slots with budget fire as ever, the others wait for it, and the loop that lets them go is woken', async () => {
  const { made, load, fire, stateOf, calls, store } = await setup({ executionsPerMinute: 1, jobs: 3 })
  await load()
  await fire()
  const states = made.map(stateOf)
  assert.equal(states.filter((state) => state === 'in a batch').length, 1)
  assert.deepEqual(
    states.filter((state) => state !== 'in a batch'),
    [
      ['ready', 'quota'],
      ['ready', 'quota'],
    ],
  )
  assert(calls.includes('owed') && calls.includes('enqueued'))
  const held = made.flatMap(({ jobId }) => [...store.jobs.get(jobId)!.live])
  assert(held.every(({ skipAt, slot }) => skipAt === slot + 3_600_000))
})

test('the most urgent slots get the budget', async () => {
  const { createEvery, tenantId, load, fire, stateOf } = await setup()
  const low = await createEvery(3_600, 600, { tenantId, priority: 9 })
  const high = await createEvery(3_600, 600, { tenantId, priority: 2 })
  await load()
  await fire()
  assert.equal(stateOf(high), 'in a batch')
  assert.deepEqual(stateOf(low), ['ready', 'quota'])
})

test('a slot that makes no execution costs nothing', async () => {
  const { made, trigger, load, fire, calls, spent } = await setup({ executionsPerMinute: 100, jobs: 2 })
  await trigger(made[0]!)
  await load()
  await fire()
  assert.equal(await spent(), 1, 'the slot that fired; the other one was skipped for overlap')
  assert(!calls.includes('owed'))
})

test('a slot that waits behind an execution is charged once, when it comes', async () => {
  const changes = { overlapPolicy: 'BUFFER_ONE' } as const
  const { made, trigger, load, fire, stateOf, spent } = await setup({
    executionsPerMinute: 1,
    jobs: 1,
    changes,
  })
  await trigger(made[0]!)
  await load()
  await fire()
  assert.equal(await spent(), 1)
  assert.deepEqual(stateOf(made[0]!), ['ready', null])
})

test('other tenants are not charged, and nothing is drawn for them', async () => {
  const { createEvery, load, fire, store, calls } = await setup()
  await createEvery(3_600, 600)
  await load()
  await fire()
  assert.equal(store.budgets.size, 0)
  assert.deepEqual(calls, ['enqueued'])
})

test('a fire whose outcome is unknown forfeits its charge and nothing else', async () => {
  const { made, load, fire, fireOnceBy, stateOf, spent } = await setup({ executionsPerMinute: 100, jobs: 2 })
  await load()
  fireOnceBy(async (real, slots) => {
    await real(slots)
    throw new Error('the answer was lost')
  })
  await assert.rejects(fire())
  await fire()
  assert.deepEqual(made.map(stateOf), ['in a batch', 'in a batch'])
  // Charged twice, and given back once: the second fire found their records.
  assert.equal(await spent(), 2)
})

test('a root of a graph waits as long as it takes: it is never skipped', async () => {
  const { made, createEvery, tenantId, load, fire, store } = await setup({ jobs: 1 })
  const root = await createEvery(3_600, 600, { tenantId })
  await createEvery(3_600, 600, {
    ...{ tenantId, slotAt: null },
    dependsOn: [{ jobId: root.jobId, on: 'success' }],
  })
  await load()
  await fire()
  assert.equal(made.length, 1)
  const held = [...store.jobs.values()]
    .flatMap(({ live }) => [...live])
    .filter(({ host }) => host === 'quota')
  for (const { runId, skipAt } of held) assert.equal(skipAt === null, runId !== null)
  assert.equal(held.length, 1)
})

test('the misfire window of a slot that waits begins when the slot is due, which jitter delays', async () => {
  const { createEvery, tenantId, at, world, executionBudgets, load, fire, store } = await setup()
  const changes = { tenantId, jitterSeconds: 1_800, misfireWindowSeconds: 60 }
  const job = await createEvery(3_600, 600, changes)
  const dueAt = dueAtOf(job, at(600))
  assert(dueAt > at(660), 'the window of the slot itself is over before it is due')
  await world.advance(dueAt - world.clock.databaseNow())
  await load()
  await executionBudgets.draw([{ tenantId, use: 'slot', count: 1, whole: true }])
  await fire()
  const [held] = store.jobs.get(job.jobId)!.live
  assert.equal(held!.skipAt, dueAt + 60_000)
})

test('while as many executions wait as the tier allows, further slots are skipped for quota, in one range', async () => {
  const limits = { executionsPerMinute: null, waitingExecutionsMax: 2 }
  const { at, world, tenantId, createEvery, load, fire, store } = await setup(limits)
  const jobs: NewJob[] = []
  for (let n = 0; n < 3; n++)
    jobs.push(await createEvery(30, 600, { tenantId, priority: n + 1, overlapPolicy: 'ALLOW' }))
  await load()
  await fire()
  const skipsOf = ({ jobId }: NewJob) => store.jobs.get(jobId)!.skips
  assert.deepEqual(
    jobs.map((job) => skipsOf(job).length),
    [0, 0, 1],
  )
  await world.advance(30_000)
  await fire()
  const range = { from: at(600), to: at(630), count: 2, reason: 'quota', version: 1 }
  assert.deepEqual(skipsOf(jobs[2]!), [range])
  assert.deepEqual(skipsOf(jobs[0]!), [{ ...range, from: at(630), count: 1 }])
})

test('slots fire again once fewer executions wait', async () => {
  const limits = { executionsPerMinute: null, waitingExecutionsMax: 1 }
  const { world, tenantId, createEvery, load, fire, runAll, slotsOf, store } = await setup(limits)
  const job = await createEvery(30, 600, { tenantId, overlapPolicy: 'ALLOW' })
  await load()
  for (let n = 0; n < 3; n++) {
    await fire()
    if (n === 1) await runAll()
    await world.advance(30_000)
  }
  assert.equal(slotsOf(job).length, 3)
  assert.equal(store.jobs.get(job.jobId)!.skips.length, 1)
})

test('no slot is skipped for executions that have ended since they were counted', async () => {
  const limits = { executionsPerMinute: null, waitingExecutionsMax: 2 }
  const { world, at, tenantId, createEvery, load, fire, runAll, slotsOf, store } = await setup(limits)
  const seconds = [600, 600, 600.3, 600.3, 600.6]
  const jobs: NewJob[] = []
  for (const second of seconds) jobs.push(await createEvery(3_600, second, { tenantId }))
  await load()
  for (const second of new Set(seconds)) {
    await world.advance(at(second) - world.clock.databaseNow())
    await fire()
    await runAll()
  }
  for (const job of jobs) {
    assert.deepEqual(store.jobs.get(job.jobId)!.skips, [])
    assert.equal(slotsOf(job).length, 1)
  }
})

/** A charger of its own, with a tenant whose limit is as `answer` says when it is asked for. */
async function setupCharger() {
  const scene = await setup({ executionsPerMinute: null })
  const { world, tenantId, executionBudgets, tenantRoom, createEvery, slotOf } = scene
  const state = { executionsPerMinute: null as number | null, revision: 0, asked: 0 }
  /** Set while an answer is under way. */
  let held: Promise<void> | null = null
  const charger = new SlotCharger({
    ...{ clock: world.clock, tenantRoom },
    executionBudgets: {
      draw: (orders) => executionBudgets.draw(orders),
      giveBack: (charges) => executionBudgets.giveBack(charges),
      limitsRevision: async () => state.revision,
      async limits() {
        const { executionsPerMinute } = state
        state.asked += 1
        await held
        return executionsPerMinute === null
          ? []
          : [{ tenantId, executionsPerMinute, waitingExecutionsMax: null }]
      },
    },
  })
  const job = await createEvery(3_600, 600, { tenantId })
  const due = [{ ...job, windowMs: 60_000, afterCompletion: null }] as never
  const charge = () => charger.charge(due, [slotOf(job, 600)])
  const setLimit = (executionsPerMinute: number) => {
    Object.assign(state, { executionsPerMinute, revision: state.revision + 1 })
    const tier = { ...unlimitedTier, tier: 'free', executionsPerMinute }
    return scene.tiers.put(tier)
  }
  const holdAnswer = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    held = promise
    return () => {
      held = null
      resolve()
    }
  }
  return { charger, charge, setLimit, holdAnswer, state }
}

test('a limit that changes between the first fire and the first look at the revision is noticed', async () => {
  const { charger, charge, setLimit } = await setupCharger()
  assert.deepEqual(await charge(), [])
  await setLimit(100)
  await charger.refresh()
  assert.equal((await charge()).length, 1)
})

test('a limit that changes while the old one is on its way is noticed', async () => {
  const { charger, charge, setLimit, holdAnswer, state } = await setupCharger()
  await charger.refresh()
  const answer = holdAnswer()
  const charging = charge()
  await setLimit(100)
  await charger.refresh()
  answer()
  assert.equal((await charging).length, 1)
  assert.equal(state.asked, 2)
})

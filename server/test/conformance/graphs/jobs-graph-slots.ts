// Conformance of the slots of a job that runs after others: it has none of its own meanwhile.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { noSchedule } from '../../../src/domain/jobs/job.ts'
import { change, pause, resume } from '../jobs/changes.ts'
import { after, depend, graphsOf, loadAll, viewOf } from '../jobs/dependencies.ts'
import { oweSlots, takeAllChanges } from '../jobs/job-states.ts'
import { ledgerOf, secondOf } from '../scheduling/ledger.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

export function testJobsGraphSlots(name: string, setup: Setup): void {
  test(`${name}: a job with dependencies has no slot, is never loaded, and awaits nothing`, async (t) => {
    const s = await setup(t)
    const root = await s.createJob()
    const made = await s.createJob({ dependsOn: after([root]), slotAt: null })
    const bare = await s.createJob({ dependsOn: after([root]), slotAt: null, schedule: noSchedule })
    const edited = await s.createJob()
    await depend(s, edited, [root])
    for (const job of [made, bare, edited]) {
      const { status, slotAt } = await viewOf(s, job)
      assert.deepEqual([status, slotAt], ['ACTIVE', null])
      assert.deepEqual((await s.look(job)).awaits, null)
    }
    assert.deepEqual(
      (await loadAll(s)).map(({ jobId, graphId }) => [jobId, graphId]),
      [[root.jobId, root.jobId]],
    )
    assert.deepEqual(
      (await takeAllChanges(s)).map(({ jobId }) => jobId),
      [root.jobId],
    )
    assert.deepEqual(await s.maintenance.findWaiting(null, 10), [])
    assert.equal((await s.release(made, bare, edited)).planned, false)
  })

  test(`${name}: taking on dependencies records the slots that did not fire, and without dependencies the job fires again`, async (t) => {
    const s = await setup(t)
    const parent = await s.createJob()
    const job = await s.createJob()
    await s.fire(job, 0)
    await s.runAll()
    const before = await s.now()
    await depend(s, job, [parent])
    assert.equal(await s.tryFire(job, 1), 'stale')
    assert.equal(await s.tryFire(job, 1, { version: 2 }), 'stale')
    const [ran, skipped, ...rest] = await ledgerOf(s, job)
    assert.deepEqual(
      [ran, skipped!.from, skipped!.fate, rest],
      [{ from: 0, to: 0, fate: 'fired' }, 1, 'edited', []],
    )
    assert(skipped!.to >= secondOf(s, before) - 1)
    await takeAllChanges(s)
    const { slotAt, updatedAt, status } = await depend(s, job, [])
    assert.equal(status, 'ACTIVE')
    assert(slotAt! > updatedAt && slotAt! <= updatedAt + 1_000)
    assert.deepEqual(
      (await takeAllChanges(s)).map(({ jobId }) => jobId).toSorted(),
      [parent.jobId, job.jobId].toSorted(),
    )
    assert.deepEqual((await ledgerOf(s, job)).length, 2)
    assert.equal(await s.tryFire(job, secondOf(s, slotAt!) + 60, { version: 3 }), 'early')
  })

  test(`${name}: the owed slots of a job are dropped when it takes on dependencies`, async (t) => {
    const s = await setup(t)
    const { job } = await oweSlots(s)
    await depend(s, job, [await s.createJob()])
    assert.equal(await s.owedBy(job), null)
    const fates = (await ledgerOf(s, job)).map(({ fate }) => fate)
    assert.deepEqual(fates, ['fired', 'edited', 'overlap', 'misfire', 'edited'])
    assert.deepEqual(await s.maintenance.findWaiting(null, 10), [])
  })

  test(`${name}: a job with dependencies is paused and resumed, and nothing is skipped`, async (t) => {
    const s = await setup(t)
    const parent = await s.createJob()
    for (const schedule of [parent.schedule, noSchedule]) {
      const job = await s.createJob({ dependsOn: after([parent]), slotAt: null, schedule })
      assert.equal((await change(s, job, pause())).status, 'PAUSED')
      const { status, slotAt } = await change(s, job, resume())
      assert.deepEqual([status, slotAt], ['ACTIVE', null])
      assert.deepEqual(await s.skipsOf(job), [])
      assert.deepEqual(await graphsOf(s, { job, parent }), { job: 'parent', parent: 'parent' })
    }
  })

  test(`${name}: a slot that is planned before its job came into a graph is stale`, async (t) => {
    const s = await setup(t)
    const root = await s.createJob()
    await s.createJob({ dependsOn: after([root]), slotAt: null })
    await takeAllChanges(s)
    assert.equal(await s.tryFire(root, 0), 'stale')
    const [cursor] = await takeAllChanges(s)
    assert.deepEqual([cursor!.jobId, cursor!.graphId], [root.jobId, root.jobId])
  })
}

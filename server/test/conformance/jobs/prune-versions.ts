// Conformance of the pruning of job versions, for every implementation.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { pageBytesMax } from '@carillon/contract/constants.ts'
import type { JobVersion } from '../../../src/domain/jobs/job.ts'
import { lighten, versionsAnEdit } from '../../../src/domain/jobs/kept-versions.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { createAfter, runOn, stepRuns } from '../graphs/run-scene.ts'
import type { StoreScenario } from '../stores.ts'
import { change, edit, remove } from './changes.ts'

const limit = 100

const execution = {
  type: 'http',
  callback_url: 'https://example.com/report',
  method: 'POST',
  headers: { authorization: 'Bearer secret' },
  payload: { for: 'sales', text: '\u0001 é 1e400' },
  timeout_seconds: 30,
  total_timeout_seconds: 90,
} as const

/** A page of the versions as they are stored, with their payloads in place. */
async function listed(s: StoreScenario, { tenantId, jobId }: NewJob, before: number | null = null) {
  const bounds = { limit: 200, bytesMax: pageBytesMax, payloads: true }
  const page = (await s.jobVersions.list({ tenantId, jobId, before, ...bounds }))!
  const versions = page.versions.map(({ job, payload, ...made }) => {
    const execution = payload === null ? job.execution : { ...job.execution, payload: JSON.parse(payload) }
    return { ...made, job: { ...job, execution } }
  })
  return { ...page, versions }
}

/** The numbers of the versions that are whole, the latest first. */
async function whole(s: StoreScenario, job: NewJob): Promise<number[]> {
  const { versions } = await listed(s, job)
  for (const { job: version, prunedAt } of versions)
    assert.equal('payload' in version.execution, prunedAt === null, `version ${version.version}`)
  return versions.filter(({ prunedAt }) => prunedAt === null).map((one) => one.job.version)
}

const full = (changes: Partial<NewJob> = {}): Partial<NewJob> => ({
  execution,
  description: 'long',
  metadata: { a: 'b' },
  ...changes,
})

async function editTimes(s: StoreScenario, job: NewJob, times: number, changes: Partial<JobVersion> = {}) {
  for (let at = 0; at < times; at++) {
    await s.tick()
    await change(s, job, edit({ name: `edit ${at}`, ...changes }))
  }
}

/** Prunes until nothing is due, without the time for which a replaced version is left alone. */
async function pruneAll(s: StoreScenario): Promise<void> {
  await s.tick()
  while ((await s.jobVersions.prune(limit, 0)) === limit);
}

export function testPruneVersions(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: a version that nothing names loses its payload and keeps its schedule and policies`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob(full({ tags: ['x'], jitterSeconds: 3 }))
    const others = await s.createJob(full())
    await editTimes(s, job, 2)
    const before = await listed(s, job)
    await pruneAll(s)
    const after = await listed(s, job)
    assert.equal(after.total, 3)
    assert.deepEqual(
      after.versions.map((one) => one.job),
      before.versions.map((one, at) => (at === 0 ? one.job : lighten(one.job))),
    )
    assert.deepEqual(Object.keys(after.versions[1]!.job.execution).toSorted(), [
      ...['callback_url', 'method', 'timeout_seconds', 'total_timeout_seconds', 'type'],
    ])
    assert(after.versions[1]!.prunedAt! >= before.versions[0]!.createdAt!)
    assert.deepEqual((await s.jobs.get(job.tenantId, job.jobId))!.execution, execution)
    assert.deepEqual(await whole(s, others), [1])
    await pruneAll(s)
    assert.deepEqual(await listed(s, job), after)
  })

  test(`${name}: a version is left alone for some time after the next one was made`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob(full())
    await editTimes(s, job, 1)
    assert.equal(await s.jobVersions.prune(limit), 0)
    assert.deepEqual(await whole(s, job), [2, 1])
  })

  test(`${name}: executions that wait, run, are retried or have ended keep the payload of their version`, async (t) => {
    const s = await setup(t)
    const { total_timeout_seconds: _, ...plain } = execution
    for (const state of ['waits', 'runs', 'is retried', 'ended', 'waits in a row of its own'] as const) {
      const job = await s.createJob(full({ overlapPolicy: 'ALLOW', execution: plain }))
      await editTimes(s, job, 1)
      const isTrigger = state === 'waits in a row of its own'
      const executionId = isTrigger ? await s.trigger(job) : await s.fire(job, 10, { version: 2 })
      const workerId = await s.addWorker()
      if (state === 'runs') await s.claim(workerId)
      if (state === 'is retried')
        await s.finishBatch(workerId, await s.claimBatch(workerId), s.failedForNow())
      if (state === 'ended') await s.finishBatch(workerId, await s.claimBatch(workerId), s.failed())
      await editTimes(s, job, 1)
      await pruneAll(s)
      assert.deepEqual(await whole(s, job), [3, 2], state)
      const shown = (await s.executions.getExecution(job.tenantId, executionId))!
      assert.deepEqual([shown.version, shown.execution.payload], [2, execution.payload], state)
      if (state.startsWith('waits')) await s.runAll()
    }
  })

  test(`${name}: the nodes of a graph run keep the payload of the versions that the run pinned`, async (t) => {
    const s = await setup(t)
    const root = await s.createJob(full())
    const child = await createAfter(s, [root], full())
    await s.trigger(root)
    await stepRuns(s)
    await editTimes(s, child, 2)
    await pruneAll(s)
    assert.deepEqual(await whole(s, child), [3, 1])
    await runOn(s)
    assert.deepEqual(await whole(s, child), [3, 1])
  })

  test(`${name}: a retry and a redrive run the current version, also when theirs is pruned`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob(full())
    const executionId = await s.trigger(job)
    const workerId = await s.addWorker()
    await s.finishLive(
      workerId,
      await s.claimLive(workerId),
      s.failed({ deadReason: 'MAX_RETRIES_EXCEEDED' }),
    )
    await editTimes(s, job, 2)
    await s.ageHistory(366)
    await pruneAll(s)
    assert.deepEqual(await whole(s, job), [3])
    const { tenantId, jobId } = job
    const letters = [{ executionId, newExecutionId: s.ids.next(), lane: 'shared' }]
    const { redriven } = await s.deadLetters.redrive({ tenantId, letters })
    const shown = (await s.executions.getExecution(tenantId, redriven[0]!.newExecutionId))!
    assert.deepEqual([shown.jobId, shown.version, shown.execution], [jobId, 3, execution])
  })

  test(`${name}: a skipped slot keeps the schedule of its version, and no payload`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob(full())
    await s.fire(job, 10, { skipped: [{ from: s.at(1), to: s.at(9), count: 9, reason: 'misfire' }] })
    await s.runAll()
    await editTimes(s, job, 2)
    await pruneAll(s)
    assert.deepEqual(await whole(s, job), [3, 1])
    const assertSkipped = async () => {
      const skips = await s.slotLedger.listSkips({ ...job, from: s.at(0), to: s.at(60), limit: 10 })
      assert.deepEqual(
        skips!.map(({ count, version, schedule }) => [count, version, schedule]),
        [[9, 1, job.schedule]],
      )
    }
    await assertSkipped()
    await s.ageHistory(366)
    await pruneAll(s)
    assert.deepEqual(await whole(s, job), [3])
    assert.deepEqual(
      (await listed(s, job)).versions.map((one) => one.job.version),
      [3, 1],
    )
    await assertSkipped()
  })

  test(`${name}: the versions of a deleted job go too, the last one after the retention`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob(full())
    await editTimes(s, job, 1)
    await change(s, job, remove)
    await pruneAll(s)
    assert.deepEqual(await whole(s, job), [2])
    await s.ageHistory(366)
    await pruneAll(s)
    const { versions } = await listed(s, job)
    assert.deepEqual(
      versions.map((one) => [one.job.version, one.prunedAt !== null, one.job.metadata]),
      [[2, true, {}]],
    )
  })

  test(`${name}: after the retention a version goes entirely`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob(full())
    await s.fire(job, 0)
    await s.runAll()
    await editTimes(s, job, 2)
    await pruneAll(s)
    assert.deepEqual(await whole(s, job), [3, 1])
    await s.ageHistory(366)
    await pruneAll(s)
    const { versions, total } = await listed(s, job)
    assert.deepEqual([versions.map((one) => one.job.version), total], [[3], 1])
  })

  test(`${name}: many edits at one time prune the versions before them`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob(full())
    await editTimes(s, job, 2)
    await s.trigger(job)
    await editTimes(s, job, versionsAnEdit - 4)
    assert.equal((await whole(s, job)).length, 200)
    await editTimes(s, job, 1)
    const { versions } = await listed(s, job, 6)
    assert.deepEqual(
      versions.map((one) => [one.job.version, one.prunedAt === null]),
      [
        [5, false],
        [4, false],
        [3, true],
        [2, false],
        [1, false],
      ],
    )
    assert.deepEqual(await whole(s, job), [versionsAnEdit])
  })
}

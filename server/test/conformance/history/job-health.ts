// Conformance when a job has run: its last result, its failures in a row, and the lists that begin with the trouble.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { AttemptEnd } from '../../../src/domain/queue/attempt.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { HealthPlace, HealthQuery } from '../../../src/ports/job-health.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { change, pause, remove } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const broken = { type: 'HTTP_ERROR', message: 'the target answered 503' } as const
const failed: Partial<AttemptEnd> = { outcome: 'failed', error: broken, httpStatus: 503 }
const everything = { status: null, tag: null, q: null }
const firstPage: HealthQuery = {
  tenantId: defaultTenantId,
  filter: everything,
  order: 'failing_first',
  after: null,
  limit: 50,
  payloads: false,
  bytesMax: 1_000_000,
}

/** Fires a slot and lets its execution end so. */
async function end(
  s: StoreScenario,
  job: NewJob,
  second: number,
  changes: Partial<AttemptEnd> = {},
  fire = {},
) {
  const executionId = await s.fire(job, second, fire)
  const workerId = await s.addWorker()
  await s.finishBatch(workerId, await s.claimBatch(workerId), s.succeeded(changes))
  await s.tick()
  return executionId
}

/** An execution whose first attempt fails, and whose second one succeeds. */
async function recover(s: StoreScenario, job: NewJob, second: number): Promise<void> {
  await s.fire(job, second)
  const workerId = await s.addWorker()
  await s.finishBatch(workerId, await s.claimBatch(workerId), s.failed({ retryAt: s.at(-1) }))
  await s.maintenance.wake(1)
  await s.finishLive(workerId, await s.claimLive(workerId), s.succeeded())
  await s.tick()
}

async function healthOf(s: StoreScenario, job: NewJob) {
  await s.foldRollups()
  return s.jobHealth.get(job.tenantId, job.jobId)
}

const idsOf = ({ jobs }: { jobs: readonly { jobId: string }[] }) => jobs.map(({ jobId }) => jobId)

export function testJobHealth(name: string, setup: Setup): void {
  testResults(name, setup)
  testLists(name, setup)
}

function testResults(name: string, setup: Setup): void {
  test(`${name}: failures in a row are counted from the first of them, with the last error`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    assert.equal(await healthOf(s, job), null)
    await end(s, job, 0)
    const first = await end(s, job, 1, failed)
    const known = (await healthOf(s, job))!
    assert.deepEqual([known.failures, known.last.executionId], [1, first])
    await end(s, job, 2, { ...failed, outcome: 'timed_out' })
    const last = await end(s, job, 3, failed)
    const { failures, failingSince, recoveredAt, last: result } = (await healthOf(s, job))!
    assert.deepEqual([failures, failingSince, recoveredAt], [3, known.last.finishedAt, null])
    const { finishedAt, ...facts } = result
    assert(finishedAt >= known.last.finishedAt)
    assert.deepEqual(facts, {
      executionId: last,
      outcome: 'failed',
      httpStatus: 503,
      errorType: 'HTTP_ERROR',
      errorMessage: broken.message,
    })
  })

  test(`${name}: a success ends the failures, within a fold and between two`, async (t) => {
    const s = await setup(t)
    const [within, between] = [await s.createJob(), await s.createJob()]
    for (const job of [within, between]) await end(s, job, 0, failed)
    await s.foldRollups()
    await end(s, between, 1)
    await s.foldRollups()
    await end(s, within, 1)
    await end(s, within, 2, failed)
    const health = (await healthOf(s, within))!
    assert.deepEqual([health.failures, health.failingSince], [1, health.last.finishedAt])
    const other = (await healthOf(s, between))!
    assert.deepEqual([other.failures, other.failingSince, other.last.outcome], [0, null, 'succeeded'])
  })

  test(`${name}: a cancelled execution neither fails nor heals a job`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const executionId = await end(s, job, 0, failed)
    const cancelled = await s.fire(job, 1)
    await s.control.cancel({ tenantId: defaultTenantId, executionId: cancelled, message: 'no' })
    await s.tick()
    const health = (await healthOf(s, job))!
    assert.deepEqual([health.failures, health.last.executionId], [1, executionId])
  })

  test(`${name}: an execution that ends after a later one does not change how the job goes`, async (t) => {
    const s = await setup(t)
    const [folded, open] = [await s.createJob(overlapping), await s.createJob(overlapping)]
    for (const job of [folded, open]) {
      await s.fire(job, 0)
      const workerId = await s.addWorker()
      const older = await s.claimBatch(workerId)
      const later = await end(s, job, 1)
      if (job === folded) await s.foldRollups()
      await s.finishBatch(workerId, older, s.failed())
      await s.tick()
      const health = (await healthOf(s, job))!
      assert.deepEqual([health.failures, health.last.executionId], [0, later])
    }
  })

  test(`${name}: an execution that succeeded at its second attempt leaves a job flaky, not failing`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await recover(s, job, 0)
    const health = (await healthOf(s, job))!
    assert.deepEqual([health.failures, health.recoveredAt], [0, health.last.finishedAt])
    await end(s, job, 1)
    assert.equal((await healthOf(s, job))!.recoveredAt, health.recoveredAt)
    assert.deepEqual(idsOf(await s.jobHealth.list({ ...firstPage, order: 'flaky' })), [job.jobId])
    assert.equal((await s.jobHealth.count(defaultTenantId, everything, 'failing')).total, 0)
    await end(s, job, 2, failed)
    await s.foldRollups()
    assert.deepEqual(idsOf(await s.jobHealth.list({ ...firstPage, order: 'flaky' })), [])
  })

  test(`${name}: nobody sees how the job of another tenant goes`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const job = await s.createJob({ tenantId })
    await end(s, job, 0, failed)
    assert.equal((await healthOf(s, job))!.failures, 1)
    assert.equal(await s.jobHealth.get(defaultTenantId, job.jobId), null)
    assert.deepEqual(await s.jobHealth.list(firstPage), { jobs: [], next: null })
    assert.equal((await s.jobHealth.count(defaultTenantId, everything, 'failing')).total, 0)
  })
}

const overlapping = { overlapPolicy: 'ALLOW' } as const

function testLists(name: string, setup: Setup): void {
  test(`${name}: failing jobs come first, the latest to break at the top, then the others by age`, async (t) => {
    const s = await setup(t)
    const jobs: NewJob[] = []
    for (let n = 0; n < 6; n++) jobs.push(await s.createJob({ tags: n % 2 === 0 ? ['even'] : [] }))
    const [a, b, c, d, e, f] = jobs.map(({ jobId }) => jobId)
    const failAt = (n: number, second: number, slot = 0) =>
      end(s, jobs[n]!, slot, { ...failed, finishedAt: s.at(second) })
    await failAt(3, 10)
    await failAt(0, 20)
    await failAt(4, 30)
    await failAt(3, 40, 1)
    await end(s, jobs[1]!, 1)
    await s.foldRollups()
    const expected = [e, a, d, f, c, b]
    for (const limit of [1, 2, 3, 4, 50]) {
      const found: (string | undefined)[] = []
      let after: HealthPlace | null = null
      do {
        const page = await s.jobHealth.list({ ...firstPage, limit, after })
        assert(page.jobs.length <= limit)
        found.push(...idsOf(page))
        after = page.next
      } while (after !== null)
      assert.deepEqual(found, expected, `by ${limit}`)
    }
    const { jobs: listed } = await s.jobHealth.list(firstPage)
    assert.deepEqual(
      listed.map(({ health }) => health?.failures ?? null),
      [1, 1, 2, null, null, 0],
    )
    const even = { ...everything, tag: 'even' }
    assert.deepEqual(idsOf(await s.jobHealth.list({ ...firstPage, filter: even })), [e, a, c])
    assert.deepEqual(await s.jobHealth.count(defaultTenantId, even, 'failing'), { total: 2, capped: false })
    assert.deepEqual(idsOf(await s.jobHealth.list({ ...firstPage, order: 'failing', filter: even })), [e, a])
    const byName = await s.jobs.list({ ...firstPage, before: null, offset: 0 })
    assert.deepEqual(
      byName.jobs.map(({ health }) => health?.failures ?? null),
      [null, 1, 2, null, 0, 1],
    )
  })

  test(`${name}: a paused job fails on, a deleted one does not, and a completed one only if it runs once`, async (t) => {
    const s = await setup(t)
    const paused = await s.createJob()
    const deleted = await s.createJob()
    const ended = await s.createJob()
    const once = await s.createJob({ schedule: { type: 'ONE_TIME', scheduled_time: '2026-01-01T00:00:00Z' } })
    for (const job of [paused, deleted]) await end(s, job, 0, failed)
    const last = { move: { slotAt: null, dueAt: null, decidedTo: s.at(0) } }
    for (const job of [ended, once]) await end(s, job, 0, failed, last)
    await s.foldRollups()
    await change(s, paused, pause())
    await change(s, deleted, remove)
    const failing = { ...firstPage, order: 'failing' } as const
    assert.deepEqual(idsOf(await s.jobHealth.list(failing)), [once.jobId, paused.jobId])
    assert.equal((await s.jobHealth.count(defaultTenantId, everything, 'failing')).total, 2)
    const filter = { ...everything, status: 'PAUSED' } as const
    assert.deepEqual(idsOf(await s.jobHealth.list({ ...firstPage, filter })), [paused.jobId])
    const page = await s.jobHealth.list(firstPage)
    assert.deepEqual(idsOf(page), [once.jobId, paused.jobId, ended.jobId])
    assert.equal(page.jobs[2]!.health!.failures, 1, 'it keeps its last result')
  })
}

// Conformance of the dashboard query for past outcomes.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { AttemptEnd } from '../../../src/domain/queue/attempt.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../../../src/lib/time/epoch.ts'
import type { ActivityBucket, ActivityStep } from '../../../src/ports/activity.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const hourMs = 3_600_000
const stepMs = { minute: 60_000, hour: hourMs, day: 24 * hourMs }

/** Fires a slot and lets its execution end so. */
async function end(
  s: StoreScenario,
  job: NewJob,
  second: number,
  changes: Partial<AttemptEnd>,
): Promise<void> {
  await s.fire(job, second)
  const workerId = await s.addWorker()
  await s.finishBatch(workerId, await s.claimBatch(workerId), s.succeeded(changes))
}

const broken = { type: 'HTTP_ERROR', message: 'the target answered 500' } as const

/** Everything recorded since a day ago, summed up: the clock may have passed an hour, or a day, meanwhile. */
async function sumOf(
  s: StoreScenario,
  step: ActivityStep,
  job: NewJob | null = null,
  tenantId = defaultTenantId,
) {
  await s.foldRollups()
  const now = await s.now()
  const span = { from: epochMs(now - 24 * hourMs), to: epochMs(now + hourMs) }
  const page =
    job === null || step === 'minute'
      ? await s.activity.ofTenant({ tenantId, step, ...span })
      : await s.activity.ofJob({ tenantId, jobId: job.jobId, step, ...span })
  assert(page !== null)
  for (const { at } of page.buckets) assert.equal(at % stepMs[step], 0)
  return page.buckets.reduce(add)
}

function add(a: ActivityBucket, b: ActivityBucket): ActivityBucket {
  assert(a.at < b.at, 'oldest first')
  const sum = Object.fromEntries(
    Object.entries(a).map(([name, value]) => [name, Number(value) + Number(b[name as 'failed'])]),
  ) as unknown as ActivityBucket
  return { ...sum, at: b.at, peak: b.peak }
}

export function testActivity(name: string, setup: Setup): void {
  for (const [what, step, ofJob] of [
    ['a minute of a tenant', 'minute', false],
    ['an hour of a tenant', 'hour', false],
    ['a day of a tenant', 'day', false],
    ['an hour of a job', 'hour', true],
    ['a day of a job', 'day', true],
  ] as const) {
    test(`${name}: ${what} shows how executions ended and how long they took`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob()
      const startedAt = s.at(0)
      await end(s, job, 0, { startedAt, durationMs: 100 })
      await end(s, job, 1, { startedAt: s.at(3), durationMs: 201 })
      await end(s, job, 2, { startedAt: s.at(12), outcome: 'failed', error: broken, durationMs: 300 })
      await end(s, job, 3, { startedAt: s.at(3), outcome: 'timed_out', error: broken, durationMs: 1_000 })
      const executionId = await s.fire(job, 4)
      await s.control.cancel({ tenantId: defaultTenantId, executionId, message: 'no' })
      const { at: _at, peak, ...counts } = await sumOf(s, step, ofJob ? job : null)
      assert.deepEqual(counts, {
        ...{ succeeded: 2, failed: 1, timedOut: 1, cancelled: 1, skipped: 0, attempts: 5, retries: 0 },
        ...{ deadLetters: 0, durationMsSum: 1_601, durationMsMax: 1_000 },
        ...{ started: 4, within1s: 2, within5s: 3, lateMsMax: 10_000 },
      })
      if (ofJob) assert.equal(peak, null)
      else assert(peak !== null && peak.count >= 1 && peak.count <= 4)
    })
  }

  test(`${name}: the busiest minute of an hour and of a day is known`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    for (let second = 0; second < 3; second++) await end(s, job, second, {})
    const minute = await sumOf(s, 'minute')
    for (const step of ['hour', 'day'] as const) {
      const { peak } = await sumOf(s, step)
      assert(peak !== null && peak.count >= 2 && peak.count <= 3 && peak.at <= minute.at)
    }
  })

  test(`${name}: a retry is counted as one, and its execution once, by how it ended`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.fire(job, 0)
    const workerId = await s.addWorker()
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.failedForNow())
    await s.maintenance.wake(1)
    await s.finishLive(workerId, await s.claimLive(workerId), s.died())
    const { failed, attempts, retries, deadLetters, started, durationMsSum } = await sumOf(s, 'hour')
    assert.deepEqual([failed, attempts, retries, deadLetters, started], [1, 2, 1, 1, 1])
    assert.equal(durationMsSum, 1_000)
  })

  test(`${name}: attempts that are folded repeatedly are counted once`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    for (const second of [0, 1]) {
      await end(s, job, second, {})
      await s.foldRollups()
      await s.foldRollups()
    }
    for (const step of ['minute', 'hour', 'day'] as const)
      assert.equal((await sumOf(s, step, job)).succeeded, 2, step)
  })

  test(`${name}: a job with jitter is not late within it`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ jitterSeconds: 60 })
    await end(s, job, 0, { startedAt: s.at(40) })
    await end(s, job, 1, { startedAt: s.at(64) })
    const { started, within1s, within5s, lateMsMax } = await sumOf(s, 'hour')
    assert.deepEqual([started, within1s, within5s, lateMsMax], [2, 1, 2, 3_000])
  })

  test(`${name}: a job that runs once, at a time before its creation, is due at its creation`, async (t) => {
    const s = await setup(t)
    const schedule = { type: 'ONE_TIME', scheduled_time: toRfc3339(s.at(-7_200)) } as const
    const job = await s.createJob({ schedule, slotAt: s.at(-7_200), createdAt: s.at(0) })
    await end(s, job, -7_200, { startedAt: s.at(3) })
    const { started, within1s, within5s, lateMsMax } = await sumOf(s, 'hour')
    assert.deepEqual([started, within1s, within5s, lateMsMax], [1, 0, 1, 3_000])
    assert.deepEqual(await s.activity.late({ tenantId: job.tenantId, from: s.at(-86_400), limit: 20 }), [])
  })

  test(`${name}: how late a retry by hand began is nobody's concern, and a trigger is due when it was given`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await s.trigger(job)
    await s.release(job)
    const workerId = await s.addWorker()
    const { enqueuedAt, ...claimed } = await s.claimLive(workerId)
    const startedAt = epochMs(enqueuedAt + 2_000)
    await s.finishLive(workerId, { enqueuedAt, ...claimed }, s.succeeded({ startedAt }))
    const { started, within1s, within5s } = await sumOf(s, 'hour')
    assert.deepEqual([started, within1s, within5s], [1, 0, 1])
  })

  test(`${name}: buckets outside of the span are left out, and so are other tenants`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const [job, other] = [await s.createJob(), await s.createJob({ tenantId })]
    await end(s, job, 0, {})
    await end(s, other, 0, { outcome: 'failed', error: broken })
    assert.equal((await sumOf(s, 'hour')).failed, 0)
    assert.equal((await sumOf(s, 'day', null, tenantId)).succeeded, 0)
    const now = await s.now()
    const none = async (from: number, to: number) => {
      const span = { from: from as EpochMs, to: to as EpochMs }
      const { buckets } = await s.activity.ofTenant({ tenantId, step: 'minute', ...span })
      return buckets.length === 0
    }
    assert(await none(now - hourMs, now - stepMs.minute * 10))
    assert(await none(now + stepMs.minute, now + hourMs))
  })

  test(`${name}: nobody sees the activity of another tenant's job`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const { jobId } = await s.createJob({ tenantId })
    const now = await s.now()
    const query = { step: 'day', from: epochMs(now - hourMs), to: now } as const
    assert.equal(await s.activity.ofJob({ tenantId: defaultTenantId, jobId, ...query }), null)
    assert.deepEqual((await s.activity.ofJob({ tenantId, jobId, ...query }))!.buckets, [])
  })

  test(`${name}: executions that wait for a worker are visible to their tenant and to operators`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    assert.deepEqual(await s.activity.queue({ tenantId: null }), { depth: 0, capped: false, oldestAt: null })
    const [a, b] = [await s.createJob(), await s.createJob({ tenantId })]
    await s.fireBatch([a, b], 0)
    await s.trigger(await s.createJob())
    const before = await s.now()
    const [all, own, theirs] = [
      await s.activity.queue({ tenantId: null }),
      await s.activity.queue({ tenantId: defaultTenantId }),
      await s.activity.queue({ tenantId }),
    ]
    assert.deepEqual([all.depth, own.depth, theirs.depth], [3, 2, 1])
    assert(own.oldestAt! <= before && all.oldestAt! <= own.oldestAt!)
    await s.claim(await s.addWorker())
    assert.equal((await s.activity.queue({ tenantId: null })).depth, 0)
  })

  test(`${name}: how much history a tenant has is known by estimate`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const job = await s.createJob()
    await end(s, job, 0, {})
    await end(s, job, 1, {})
    await s.foldRollups()
    const own = await s.activity.historySize({ tenantId: defaultTenantId })
    assert.equal(own.attempts, 2)
    assert.equal(own.oldestAt! % stepMs.day, 0)
    assert.equal(own.written.attempts, 2)
    const other = await s.activity.historySize({ tenantId })
    assert.deepEqual([other.attempts, other.written.attempts], [0, 0])
    const all = await s.activity.historySize({ tenantId: null })
    assert(all.attempts > 0)
    // All of it was written just now.
    assert.equal(all.written.attempts, all.attempts)
    assert(all.written.bytes === null || all.written.bytes > 0)
  })
}

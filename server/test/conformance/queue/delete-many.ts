// Conformance: a job is deleted with more executions than end in one transaction. Nothing of it starts from the first
// commit on; the release loop ends the others, a bounded number in each step.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { jobDeletedMessage } from '../../../src/domain/jobs/job-change.ts'
import type { SettledAttempt } from '../../../src/domain/queue/attempt.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { endedWithJobMax, toTriggerBatches } from '../../../src/domain/queue/trigger-batches.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { change, edit, remove } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const nothing = { batches: [], live: [] }

async function triggerMany(s: StoreScenario, { tenantId, jobId }: NewJob, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1_000) {
    const some = { count: Math.min(left, 1_000), payloads: null }
    const batches = toTriggerBatches(some, () => s.ids.nextBatch())
    const outcome = await s.jobs.triggerMany({ tenantId, jobId, lane: sharedLane, batches })
    assert.equal(outcome.kind, 'triggered')
  }
}

/** Deletes the job; the executions that ended with it. */
async function deleteNow(s: StoreScenario, { tenantId, jobId }: NewJob): Promise<readonly SettledAttempt[]> {
  const outcome = await s.jobs.change({ tenantId, jobId }, remove)
  assert(typeof outcome === 'object' && 'status' in outcome)
  assert.equal(outcome.status, 'DELETED')
  return outcome.cancelled ?? []
}

/** The release loop until nothing of the job is left to end; the executions that ended in each step. */
async function releaseAll(s: StoreScenario, job: NewJob): Promise<(readonly SettledAttempt[])[]> {
  const steps: (readonly SettledAttempt[])[] = []
  while ((await s.maintenance.findWaiting(null, 500)).includes(job.jobId)) {
    const { settled = [], ready, more } = await s.release(job)
    assert.deepEqual([ready, more], [0, true])
    assert(settled.length > 0 && settled.length <= 2 * endedWithJobMax, `${settled.length} ended`)
    steps.push(settled)
  }
  return steps
}

function assertEndedOnce(settled: readonly SettledAttempt[], count: number): void {
  assert.equal(new Set(settled.map(({ executionId }) => executionId)).size, count)
  for (const { outcome, isFinal, executor } of settled)
    assert.deepEqual([outcome, isFinal, executor], ['cancelled', true, 'http'])
}

export function testDeleteMany(name: string, setup: Setup): void {
  test(`${name}: a job with many executions in batches is deleted in bounded steps, and none is claimed in between`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const count = 2 * endedWithJobMax + 500
    await triggerMany(s, job, count)
    const other = await s.createJob()
    const { executionIds } = await s.fireBatch([job, other], 0)
    const first = await deleteNow(s, job)
    assert.equal(first.length, endedWithJobMax + 1)
    const statuses = await Promise.all(executionIds.map((executionId) => s.statusOf(executionId)))
    assert.deepEqual(statuses, ['CANCELLED', 'PENDING'], 'its part of a mixed batch ends at once')
    const { batches, live } = await s.claim(await s.addWorker(), 100)
    assert.deepEqual([batches.map(({ jobIds }) => jobIds), live], [[[other.jobId]], []])
    assert.equal((await s.list(job, { status: 'PENDING' })).total, count - endedWithJobMax)
    assert.deepEqual(await deleteNow(s, job), [], 'deleted before')
    const steps = await releaseAll(s, job)
    assert.equal(steps.length, 2)
    assertEndedOnce([...first, ...steps.flat()], count + 1)
    const last = await s.view(steps.at(-1)!.at(-1)!.executionId)
    assert.deepEqual([last.status, last.error?.message], ['CANCELLED', jobDeletedMessage])
    assert.equal((await s.list(job, { status: 'PENDING' })).total, 0)
  })

  test(`${name}: a job with many executions alone is deleted in bounded steps, and none is claimed in between`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'SKIP' })
    const ready = endedWithJobMax + 500
    const count = ready + 400
    await triggerMany(s, job, count)
    const workerId = await s.addWorker()
    const running = await s.claimLive(workerId)
    await change(s, job, edit({ overlapPolicy: 'ALLOW' }))
    // A hundred are let go in each step.
    for (let released = 0; released < ready; released += 100) assert.equal((await s.release(job)).ready, 100)
    const first = await deleteNow(s, job)
    assert.equal(first.length, endedWithJobMax)
    assert.deepEqual(await s.claim(workerId, 100), nothing)
    assert.equal((await s.list(job, { status: 'PENDING' })).total, count - 1 - endedWithJobMax)
    await s.finishLive(workerId, running, s.failedForNow())
    assert.equal(await s.maintenance.wake(10), 1, 'a running execution goes on to its end')
    const steps = await releaseAll(s, job)
    assert.equal(steps.length, 1)
    assertEndedOnce([...first, ...steps.flat()], count - 1)
    assert.equal((await s.claimLive(workerId)).executionId, running.executionId)
  })
}

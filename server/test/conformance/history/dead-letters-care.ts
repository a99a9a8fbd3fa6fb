// Conformance when dead letters are searched, edited and redriven automatically.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { LetterFilter } from '../../../src/domain/jobs/operation.ts'
import type { AttemptEnd } from '../../../src/domain/queue/attempt.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { type EpochMs, epochMs } from '../../../src/lib/time/epoch.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { change, edit, remove } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'
import { anyLetter, die, dieAll, everyLetter } from './dead-letters.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

/** Fires a slot and lets its execution die so. */
async function dieOf(
  s: StoreScenario,
  job: NewJob,
  second: number,
  changes: Partial<AttemptEnd>,
): Promise<string> {
  const executionId = await s.fire(job, second)
  const workerId = await s.addWorker()
  await s.finishBatch(workerId, await s.claimBatch(workerId), s.died(changes))
  return executionId
}

async function find(s: StoreScenario, filter: Partial<LetterFilter>): Promise<string[]> {
  const page = await s.deadLetters.list({ ...everyLetter, filter: { ...anyLetter, ...filter } })
  assert.equal(page.total, page.deadLetters.length)
  return page.deadLetters.map(({ executionId }) => executionId)
}

/** The policy of a job that is redriven by itself. */
const redrivenAfter = (seconds: number) => ({
  retryPolicy: {
    max_retries: 0,
    backoff: 'FIXED',
    initial_delay_ms: 1,
    max_delay_ms: 1,
    auto_redrive_after_seconds: seconds,
  } as const,
})

export function testDeadLettersCare(name: string, setup: Setup): void {
  testSearch(name, setup)
  testEdit(name, setup)
  testAutoRedrive(name, setup)
  testDeletedJobs(name, setup)
}

function testSearch(name: string, setup: Setup): void {
  test(`${name}: dead letters are found by job, reason, last error and time, alone and together`, async (t) => {
    const s = await setup(t)
    const [one, two] = [await s.createJob(), await s.createJob()]
    const refused = { type: 'CONNECTION_REFUSED', message: 'nobody there' } as const
    const first = await dieOf(s, one, 0, { deadReason: 'NOT_RETRYABLE' })
    await s.tick()
    const second = await dieOf(s, two, 0, { error: refused, httpStatus: null })
    await s.tick()
    const third = await dieOf(s, one, 1, { error: refused, httpStatus: null })
    const died = async (executionId: string) =>
      (await s.deadLetters.get(defaultTenantId, executionId))!.diedAt as EpochMs
    const [, secondAt, thirdAt] = [await died(first), await died(second), await died(third)]
    assert.deepEqual(await find(s, {}), [third, second, first])
    assert.deepEqual(await find(s, { jobId: one.jobId }), [third, first])
    assert.deepEqual(await find(s, { reason: 'NOT_RETRYABLE' }), [first])
    assert.deepEqual(await find(s, { reason: 'MAX_RETRIES_EXCEEDED' }), [third, second])
    assert.deepEqual(await find(s, { errorType: 'CONNECTION_REFUSED' }), [third, second])
    assert.deepEqual(await find(s, { errorType: 'HTTP_ERROR' }), [first])
    assert.deepEqual(await find(s, { errorType: 'TIMEOUT' }), [])
    assert.deepEqual(await find(s, { from: secondAt }), [third, second])
    assert.deepEqual(await find(s, { from: epochMs(secondAt + 1) }), [third])
    assert.deepEqual(await find(s, { to: secondAt }), [first])
    assert.deepEqual(await find(s, { to: epochMs(secondAt + 1) }), [second, first])
    assert.deepEqual(await find(s, { from: secondAt, to: thirdAt }), [second])
    const all = { jobId: one.jobId, reason: 'MAX_RETRIES_EXCEEDED', errorType: 'CONNECTION_REFUSED' } as const
    assert.deepEqual(await find(s, { ...all, from: thirdAt, to: epochMs(thirdAt + 1) }), [third])
    assert.deepEqual(await find(s, { ...all, to: thirdAt }), [])
  })

  test(`${name}: a letter is found by its last error, not by earlier ones`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const executionId = await s.fire(job, 0)
    const workerId = await s.addWorker()
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.failedForNow())
    await s.maintenance.wake(1)
    const error = { type: 'TIMEOUT', message: 'too slow' } as const
    await s.finishLive(workerId, await s.claimLive(workerId), s.died({ outcome: 'timed_out', error }))
    assert.deepEqual(await find(s, { errorType: 'TIMEOUT' }), [executionId])
    assert.deepEqual(await find(s, { errorType: 'HTTP_ERROR' }), [])
  })

  test(`${name}: the oldest letter of the tenant is returned for every search`, async (t) => {
    const s = await setup(t)
    await die(s, await s.createJob({ tenantId: await s.addTenant(1) }))
    assert.equal((await s.deadLetters.list(everyLetter)).oldestAt, null)
    await s.tick()
    const oldest = await die(s, await s.createJob())
    await s.tick()
    const other = await s.createJob()
    await die(s, other)
    const { diedAt } = (await s.deadLetters.get(defaultTenantId, oldest))!
    const filter = { ...anyLetter, jobId: other.jobId }
    const page = await s.deadLetters.list({ ...everyLetter, filter })
    assert.deepEqual([page.total, page.oldestAt], [1, diedAt])
  })
}

function testEdit(name: string, setup: Setup): void {
  for (const payload of [{ fixed: [1, null, { 'käse "x"': true }] }, 'text', 0, false, null]) {
    test(`${name}: a letter is redriven with the payload ${JSON.stringify(payload)} that it was given`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob({ overlapPolicy: 'ALLOW' })
      const executionId = await s.trigger(job, { payloadOverride: 'old' })
      await dieAll(s)
      const before = (await s.deadLetters.get(defaultTenantId, executionId))!
      assert.equal(before.editedAt, null)
      const edited = (await s.deadLetters.edit(defaultTenantId, executionId, payload))!
      assert(edited.editedAt! >= before.diedAt && edited.editedAt! <= (await s.now()))
      assert.deepEqual(
        { ...edited, payload: JSON.parse(edited.payload!) },
        { ...before, payload, editedAt: edited.editedAt },
      )
      assert.deepEqual(await s.deadLetters.get(defaultTenantId, executionId), edited)
      const letters = [{ executionId, newExecutionId: s.ids.next(), lane: sharedLane }]
      await s.deadLetters.redrive({ tenantId: defaultTenantId, letters })
      const claimed = await s.claimLive(await s.addWorker())
      assert('payloadOverride' in claimed)
      assert.deepEqual(claimed.payloadOverride, payload)
    })
  }

  test(`${name}: a letter that is not there cannot be edited`, async (t) => {
    const s = await setup(t)
    assert.equal(await s.deadLetters.edit(defaultTenantId, s.ids.next(), 'x'), null)
    const executionId = await die(s, await s.createJob())
    await s.deadLetters.discard(defaultTenantId, executionId)
    assert.equal(await s.deadLetters.edit(defaultTenantId, executionId, 'x'), null)
  })
}

function testAutoRedrive(name: string, setup: Setup): void {
  test(`${name}: a letter says when it is redriven by itself, by the version that died`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob(redrivenAfter(3_600))
    await s.fire(job, 0)
    await change(s, job, edit(redrivenAfter(60)))
    await dieAll(s)
    const { deadLetters } = await s.deadLetters.list(everyLetter)
    const [letter, ...more] = deadLetters
    assert.deepEqual([letter!.redriveAt, more], [letter!.diedAt + 3_600_000, []])
    assert.deepEqual(await s.deadLetters.findDue(10), [])
    const plain = await die(s, await s.createJob())
    assert.equal((await s.deadLetters.get(defaultTenantId, plain))!.redriveAt, null)
  })

  test(`${name}: letters of lost workers are redriven by themselves too`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob(redrivenAfter(0))
    const executionId = await s.fire(job, 0)
    for (let losses = 0; losses < 5; losses++) {
      const workerId = await s.addWorker()
      await s.claim(workerId)
      await s.maintenance.reclaim({ holderId: workerId, beats: 0 })
    }
    const letter = (await s.deadLetters.get(defaultTenantId, executionId))!
    assert.deepEqual([letter.reason, letter.redriveAt], ['WORKER_LOST', letter.diedAt])
    assert.deepEqual(await s.deadLetters.findDue(10), [{ tenantId: defaultTenantId, executionId }])
  })

  test(`${name}: letters that are due are found, the oldest first, of all tenants`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const due: { tenantId: string; executionId: string }[] = []
    for (const owner of [tenantId, defaultTenantId]) {
      const job = await s.createJob({ tenantId: owner, ...redrivenAfter(0) })
      due.push({ tenantId: owner, executionId: await die(s, job) })
      await s.tick()
    }
    await die(s, await s.createJob())
    await die(s, await s.createJob(redrivenAfter(60)))
    assert.deepEqual(await s.deadLetters.findDue(10), due)
    assert.deepEqual(await s.deadLetters.findDue(1), due.slice(0, 1))
  })

  test(`${name}: a letter is redriven by itself once`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW', ...redrivenAfter(0) })
    const executionId = await die(s, job)
    const newExecutionId = s.ids.next()
    const letters = [{ executionId, newExecutionId, lane: sharedLane }]
    await s.deadLetters.redrive({ tenantId: defaultTenantId, letters })
    await dieAll(s)
    assert.equal((await s.deadLetters.get(defaultTenantId, newExecutionId))!.redriveAt, null)
    assert.deepEqual(await s.deadLetters.findDue(10), [])
    const again = s.ids.next()
    const order = { tenantId: defaultTenantId, executionId: newExecutionId, newExecutionId: again }
    await s.control.retry({ ...order, lane: sharedLane })
    await dieAll(s)
    // A person repeated it: it may be redriven by itself again.
    assert.deepEqual(await s.deadLetters.findDue(10), [{ tenantId: defaultTenantId, executionId: again }])
  })

  test(`${name}: an edited letter is still redriven by itself`, async (t) => {
    const s = await setup(t)
    const executionId = await die(s, await s.createJob(redrivenAfter(0)))
    const { redriveAt } = (await s.deadLetters.get(defaultTenantId, executionId))!
    assert.equal((await s.deadLetters.edit(defaultTenantId, executionId, 'x'))!.redriveAt, redriveAt)
  })
}

function testDeletedJobs(name: string, setup: Setup): void {
  test(`${name}: letters of deleted jobs stay, and are not redriven, by nobody`, async (t) => {
    const s = await setup(t)
    const gone = await s.createJob(redrivenAfter(0))
    const kept = await s.createJob({ overlapPolicy: 'ALLOW' })
    const lost = [await die(s, gone, 0), await die(s, gone, 1)]
    const redriven = await die(s, kept, 0)
    await change(s, gone, remove)
    const letters = [lost[0]!, redriven, lost[1]!].map((executionId) => {
      return { executionId, newExecutionId: s.ids.next(), lane: sharedLane }
    })
    const answer = await s.deadLetters.redrive({ tenantId: defaultTenantId, letters })
    const { executionId, newExecutionId } = letters[1]!
    assert.deepEqual(answer.redriven, [{ executionId, newExecutionId }])
    assert.deepEqual(answer.jobDeleted.toSorted(), lost.toSorted())
    assert.deepEqual(await s.deadLetters.findDue(10), [])
    for (const id of lost) assert.equal((await s.deadLetters.get(defaultTenantId, id))!.redriveAt, null)
    assert.equal((await s.claim(await s.addWorker())).live.length, 1)
    assert.equal(await s.deadLetters.discard(defaultTenantId, lost[0]!), 'discarded')
  })
}

// Conformance of the limit on active jobs, for every implementation of the jobs port.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { defaultTenantId as tenantId } from '../../../src/domain/tenants/tenant.ts'
import type { ChangeOutcome, NewJob } from '../../../src/ports/jobs.ts'
import type { StoreScenario } from '../stores.ts'
import { type Decision, edit, editSchedule, pause, remove, resume } from './changes.ts'

/** Jobs like a first one, which is active too. */
async function setupLimit(setup: Setup, t: TestContext) {
  const s = await setup(t)
  const like = await s.createJob()
  const create = (activeJobsMax: number | null, changes: Partial<NewJob> = {}) =>
    s.jobs.create({ ...like, jobId: s.ids.next(), ...changes }, { activeJobsMax })
  const change = ({ jobId }: NewJob, decide: Decision, activeJobsMax: number | null) =>
    s.jobs.change({ tenantId, jobId, activeJobsMax }, decide)
  return { s, like, create, change }
}

type Setup = (t: TestContext) => Promise<StoreScenario>

const full = (used: number) => ({ refusal: 'active_jobs_full', used }) as const
const statusOf = (outcome: ChangeOutcome) =>
  typeof outcome === 'object' && 'status' in outcome ? outcome.status : outcome

export function testActiveJobs(name: string, setup: Setup): void {
  test(`${name}: of creates that come at once exactly as many are made as the limit leaves room for`, async (t) => {
    const { s, like, create } = await setupLimit(setup, t)
    const dependsOn = [{ jobId: like.jobId, on: 'success' }] as const
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        create(10, n % 3 === 0 ? { dependsOn: [...dependsOn], slotAt: null } : {}),
      ),
    )
    assert.equal(outcomes.filter((outcome) => outcome === 'created').length, 9)
    for (const outcome of outcomes) if (outcome !== 'created') assert.deepEqual(outcome, full(10))
    assert.equal((await s.jobs.count(tenantId, { status: null, tag: null, q: null })).total, 10)
  })

  test(`${name}: a key that is taken uses no room`, async (t) => {
    const { create } = await setupLimit(setup, t)
    const keys = ['a', 'a', 'a', 'b', 'c']
    const outcomes = await Promise.all(keys.map((key) => create(3, { key })))
    const created = outcomes.filter((outcome) => outcome === 'created')
    assert.equal(created.length, 2)
    assert.deepEqual(await create(3, { key: 'd' }), full(3))
  })

  test(`${name}: jobs made without a limit count when there is one, and another tenant's do not`, async (t) => {
    const { s, create } = await setupLimit(setup, t)
    for (let n = 0; n < 3; n++) assert.equal(await create(null), 'created')
    await s.createJob({ tenantId: await s.addTenant(1) })
    assert.deepEqual(await create(4), full(4))
    assert.equal(await create(5), 'created')
    assert.deepEqual(await create(5), full(5))
  })

  test(`${name}: a job that runs once at once is never active`, async (t) => {
    const { s, create } = await setupLimit(setup, t)
    const immediate = { executionId: s.ids.nextBatch(), slot: s.at(1), lane: 'shared' }
    const changes: Partial<NewJob> = { status: 'COMPLETED', slotAt: null, immediate }
    assert.equal(await create(1, { ...changes, schedule: { type: 'IMMEDIATE' } }), 'created')
    assert.deepEqual(await create(1), full(1))
  })

  test(`${name}: a pause without an end gives the place back, and the resume needs one`, async (t) => {
    const { s, like, create, change } = await setupLimit(setup, t)
    assert.deepEqual(await create(1), full(1))
    assert.equal(statusOf(await change(like, pause(), 1)), 'PAUSED')
    assert.equal(await create(1), 'created')
    assert.deepEqual(await change(like, resume(), 1), full(1))
    assert.equal((await s.jobs.get(tenantId, like.jobId))!.status, 'PAUSED')
    const until = s.at(86_400)
    assert.deepEqual(await change(like, pause('with an end', until), 1), full(1), 'it would count again')
    assert.equal(statusOf(await change(like, resume(), 2)), 'ACTIVE')
    assert.equal(statusOf(await change(like, pause('with an end', until), 2)), 'PAUSED')
    assert.deepEqual(await create(2), full(2))
    assert.equal(statusOf(await change(like, resume(), 1)), 'ACTIVE', 'it counted already')
  })

  test(`${name}: beyond the limit a job is edited, paused and deleted, and a deleted one counts no more`, async (t) => {
    const { s, like, create, change } = await setupLimit(setup, t)
    for (let n = 0; n < 2; n++) assert.equal(await create(null), 'created')
    assert.deepEqual(await create(1), full(3))
    assert.equal(statusOf(await change(like, edit({ name: 'renamed' }), 1)), 'ACTIVE')
    assert.equal(statusOf(await change(like, editSchedule(), 1)), 'ACTIVE')
    assert.equal(statusOf(await change(like, remove, 3)), 'DELETED')
    assert.equal(await create(3), 'created')
    assert.deepEqual(await create(3), full(3))
    assert.equal((await s.jobs.count(tenantId, { status: 'ACTIVE', tag: null, q: null })).total, 3)
  })
}

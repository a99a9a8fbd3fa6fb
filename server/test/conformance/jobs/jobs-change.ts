// Conformance of job changes: edit, pause, resume and delete in every status, and after each of them a ledger without a
// gap and without a slot on record twice.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { JobStatus, JobView } from '../../../src/domain/jobs/job.ts'
import type { JobState } from '../../../src/domain/jobs/job-change.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { EpochMs } from '../../../src/lib/time/epoch.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { type Fate, ledgerOf, secondOf } from '../scheduling/ledger.ts'
import type { StoreScenario } from '../stores.ts'
import { change, type Decision, edit, editSchedule, pause, remove, resume } from './changes.ts'
import { makeActive, makeCompleted, makeDeleted, makeMoved, oweSlots, takeAllChanges } from './job-states.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const MAKERS: Record<
  string,
  { make: (s: StoreScenario) => Promise<NewJob>; status: JobStatus; ran: number }
> = {
  'an active job': { make: makeActive, status: 'ACTIVE', ran: 3 },
  'an active job whose cursor moved': { make: makeMoved, status: 'ACTIVE', ran: 3 },
  'a paused job': { make: (s) => s.createJob({ status: 'PAUSED' }), status: 'PAUSED', ran: 0 },
  'a completed job': { make: makeCompleted, status: 'COMPLETED', ran: 1 },
  'a deleted job': { make: makeDeleted, status: 'DELETED', ran: 1 },
}

interface Expected {
  status: JobStatus
  /** Why the slots up to now do not run; null: nothing is decided about them. */
  skipped: Fate | null
  /** The job is as it was. */
  unchanged?: true
}

const CHANGES: { title: string; decide: Decision; expected: Partial<Record<JobStatus, Expected>> }[] = [
  {
    title: 'edited without a change of its schedule',
    decide: edit({ name: 'renamed' }),
    expected: {
      ACTIVE: { status: 'ACTIVE', skipped: null },
      PAUSED: { status: 'PAUSED', skipped: null },
      COMPLETED: { status: 'COMPLETED', skipped: null },
    },
  },
  {
    title: 'given another schedule',
    decide: editSchedule(),
    expected: {
      ACTIVE: { status: 'ACTIVE', skipped: 'edited' },
      PAUSED: { status: 'PAUSED', skipped: 'paused' },
      COMPLETED: { status: 'ACTIVE', skipped: null },
    },
  },
  {
    title: 'given a schedule that has no slot left',
    decide: editSchedule({ type: 'ONE_TIME', scheduled_time: '2020-01-01T00:00:00Z' }),
    expected: {
      ACTIVE: { status: 'COMPLETED', skipped: 'edited' },
      PAUSED: { status: 'COMPLETED', skipped: 'paused' },
      COMPLETED: { status: 'COMPLETED', skipped: null },
    },
  },
  {
    title: 'paused',
    decide: pause(),
    expected: {
      ACTIVE: { status: 'PAUSED', skipped: 'paused' },
      PAUSED: { status: 'PAUSED', skipped: null },
      COMPLETED: { status: 'COMPLETED', skipped: null, unchanged: true },
      DELETED: { status: 'DELETED', skipped: null, unchanged: true },
    },
  },
  {
    title: 'resumed',
    decide: resume(),
    expected: {
      ACTIVE: { status: 'ACTIVE', skipped: null, unchanged: true },
      PAUSED: { status: 'ACTIVE', skipped: 'paused' },
      COMPLETED: { status: 'COMPLETED', skipped: null, unchanged: true },
      DELETED: { status: 'DELETED', skipped: null, unchanged: true },
    },
  },
  {
    title: 'deleted',
    decide: remove,
    expected: {
      ACTIVE: { status: 'DELETED', skipped: 'deleted' },
      PAUSED: { status: 'DELETED', skipped: 'paused' },
      COMPLETED: { status: 'DELETED', skipped: null },
      DELETED: { status: 'DELETED', skipped: null, unchanged: true },
    },
  },
]

export function testJobsChange(name: string, setup: Setup): void {
  testPairs(name, setup)
  testWrites(name, setup)
}

function testPairs(name: string, setup: Setup): void {
  for (const [what, { make, status: before, ran }] of Object.entries(MAKERS)) {
    for (const { title, decide, expected } of CHANGES) {
      const wanted = expected[before]
      if (wanted === undefined) continue
      test(`${name}: ${what} is ${title}`, async (t) => {
        const s = await setup(t)
        const job = await make(s)
        const earlier = (await s.jobs.get(defaultTenantId, job.jobId))!
        const view = await change(s, job, decide)
        assert.deepEqual(await s.jobs.get(defaultTenantId, job.jobId), view)
        if (wanted.unchanged) assert.deepEqual(view, earlier)
        else assert(view.updatedAt > earlier.updatedAt && view.updatedBy !== earlier.updatedBy)
        assert.equal(view.status, wanted.status)
        await checkLedger(s, job, view, { ran, skipped: wanted.skipped })
        await checkFires(s, job, view, wanted)
      })
    }
  }
}

/** The slots that ran, then one range of skips up to the change, and nothing after it. */
async function checkLedger(
  s: StoreScenario,
  job: NewJob,
  { updatedAt }: JobView,
  { ran, skipped }: { ran: number; skipped: Fate | null },
): Promise<void> {
  const fired = ran === 0 ? [] : [{ from: 0, to: ran - 1, fate: 'fired' }]
  const rest = skipped === null ? [] : [{ from: ran, to: secondOf(s, updatedAt), fate: skipped }]
  assert.deepEqual(await ledgerOf(s, job), [...fired, ...rest])
}

/** A scheduler that does not know of the change fires nothing that the change has decided. */
async function checkFires(
  s: StoreScenario,
  job: NewJob,
  { status, version, slotAt, updatedAt }: JobView,
  { skipped, unchanged }: Expected,
): Promise<void> {
  const now = secondOf(s, updatedAt)
  if (status !== 'ACTIVE' || version > 1) assert.equal(await s.tryFire(job, now), 'stale')
  if (status !== 'ACTIVE') {
    assert.equal(slotAt === null, status !== 'PAUSED')
    assert.equal(await s.tryFire(job, now, { version }), 'stale')
    return
  }
  assert(slotAt !== null)
  if (skipped !== null || version > 1) assert.equal(await s.tryFire(job, 2, { version }), 'already_recorded')
  // Undecided slots fire under the version that is now in force.
  if (skipped === null && !unchanged && version > 1 && slotAt < updatedAt)
    assert.equal(await s.tryFire(job, 3, { version }), 'fired')
  if (skipped !== null) {
    assert.equal(await s.tryFire(job, now, { version }), 'already_recorded')
    assert(slotAt > updatedAt)
    assert.equal(await s.tryFire(job, secondOf(s, slotAt) + 60, { version }), 'early')
  }
}

function testWrites(name: string, setup: Setup): void {
  test(`${name}: the decision sees the job as it is under the lock`, async (t) => {
    const s = await setup(t)
    const { job } = await oweSlots(s)
    let seen: JobState | null = null
    const begunAt = await s.now()
    const view = await change(s, job, (state) => {
      seen = state
      return null
    })
    const { now, decidedTo, recordedAt, owed, owedDecided, graphId, ...rest } = seen!
    assert(now >= begunAt && now <= (await s.now()))
    assert.deepEqual(rest, await s.jobs.get(defaultTenantId, job.jobId))
    assert.deepEqual(rest, view)
    assert.deepEqual([decidedTo, recordedAt, graphId], [s.at(10), s.at(5), null])
    assert.deepEqual(owed, { from: s.at(1), to: s.at(10) })
    // A skipped slot may be named by its row as well as by its range.
    const decided = new Set(owedDecided.map(({ from, to }) => `${secondOf(s, from)} to ${secondOf(s, to)}`))
    assert.deepEqual([...decided], ['5 to 5', '6 to 8'])
  })

  test(`${name}: an error thrown by the decision leaves the job alone`, async (t) => {
    const s = await setup(t)
    const job = await makeActive(s)
    const before = await s.jobs.get(defaultTenantId, job.jobId)
    const refuse = () => {
      throw new Error('not like this')
    }
    await assert.rejects(change(s, job, refuse), /not like this/)
    assert.deepEqual(await s.jobs.get(defaultTenantId, job.jobId), before)
    assert.equal(await s.tryFire(job, 3), 'fired')
  })

  test(`${name}: an edited job is read as it was edited, and its executions keep the version they were fired with`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ key: 'nightly', tags: ['old'] })
    const fired = await s.fire(job, 0)
    const changes = {
      name: 'second',
      description: 'better',
      tags: ['new', 'newer'],
      execution: { ...job.execution, payload: { a: [1] }, timeout_seconds: 5 },
      retryPolicy: { ...job.retryPolicy, auto_redrive_after_seconds: 60 },
      priority: 1,
      overlapPolicy: 'ALLOW',
      misfireWindowSeconds: 90,
      jitterSeconds: 4,
      concurrencyLimit: 3,
      concurrencyKey: { key: 'exports', limit: 2 },
      metadata: { team: 'ops' },
    } as const
    const view = await change(s, job, edit(changes, 'weekly'))
    const { immediate: _immediate, ...given } = job
    const { updatedAt, ...rest } = view
    const expected = { ...given, ...changes, version: 2, key: 'weekly', pause: null, updatedBy: 'editor' }
    assert.deepEqual(rest, { ...expected, runs: 0, lastRunAt: s.at(0), isUnderWay: false })
    assert(updatedAt <= (await s.now()))
    assert.equal((await s.view(fired)).version, 1)
    const [first, second] = [1, 2].map((version) => ({ jobId: job.jobId, version }))
    const definitions = await s.queue.definitions([first!, second!])
    assert.deepEqual(definitions.map(({ name: named }) => named).toSorted(), ['report', 'second'])
    assert.equal((await s.view(await s.trigger(job))).version, 2)
  })

  test(`${name}: a pause records its author, start, reason and end, and keeps its start`, async (t) => {
    const s = await setup(t)
    const job = await makeActive(s)
    const first = await change(s, job, pause('holidays', s.at(9_000)))
    const since = first.updatedAt
    assert.deepEqual(first.pause, { since, reason: 'holidays', by: 'pauser', until: s.at(9_000) })
    await s.tick()
    const second = await change(s, job, pause(null))
    assert.deepEqual(second.pause, { since, reason: null, by: 'pauser', until: null })
    assert.deepEqual((await s.jobs.get(defaultTenantId, job.jobId))!.pause, second.pause)
    assert.equal((await change(s, job, resume())).pause, null)
  })

  test(`${name}: slots that a pause skipped keep its reason and person, also when it is over`, async (t) => {
    const s = await setup(t)
    const [job, other] = [await makeActive(s), await makeActive(s)]
    const { updatedAt: since } = await change(s, job, pause('holidays'))
    await change(s, job, resume())
    await change(s, other, editSchedule())
    const range = { tenantId: job.tenantId, from: s.at(-86_400), to: s.at(86_400), limit: 10 }
    const [skip] = (await s.slotLedger.listSkips({ ...range, jobId: job.jobId }))!
    assert.deepEqual(skip!.pause, { since, by: 'pauser', reason: 'holidays' })
    const [edited] = (await s.slotLedger.listSkips({ ...range, jobId: other.jobId }))!
    assert.deepEqual([edited!.reason, edited!.pause], ['edited', null])
  })

  test(`${name}: paused jobs are found when their pause is over, the oldest first`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const jobs = [
      await s.createJob(),
      await s.createJob({ tenantId }),
      await s.createJob(),
      await s.createJob(),
    ]
    const until = [s.at(500), s.at(400), s.at(9_000), null]
    for (const [n, job] of jobs.entries()) await change(s, job, pause(null, until[n]!))
    const due = [1, 0].map((n) => {
      const { tenantId: owner, jobId } = jobs[n]!
      const at = until[n] as EpochMs
      return { tenantId: owner, jobId, until: at, at }
    })
    assert.deepEqual(await s.jobs.findResumable(10), due)
    assert.deepEqual(await s.jobs.findResumable(1), due.slice(0, 1))
    await change(s, jobs[1]!, resume())
    await change(s, jobs[0]!, remove)
    assert.deepEqual(await s.jobs.findResumable(10), [])
  })

  test(`${name}: however many pauses of a tenant are over, a pause of another is found first or second`, async (t) => {
    const s = await setup(t)
    const many: string[] = []
    for (let n = 0; n < 5; n++) {
      const job = await s.createJob()
      await change(s, job, pause(null, s.at(400 + n)))
      many.push(job.jobId)
    }
    const other = await s.createJob({ tenantId: await s.addTenant(1) })
    await change(s, other, pause(null, s.at(500)))
    const found = async (limit: number) => (await s.jobs.findResumable(limit)).map(({ jobId }) => jobId)
    assert.deepEqual(await found(10), [many[0], other.jobId, ...many.slice(1)])
    assert.deepEqual(await found(3), [many[0], other.jobId, many[1]])
  })

  test(`${name}: schedulers hear of a change when the job is due soon, and only then`, async (t) => {
    const s = await setup(t)
    const jobs = await Promise.all([0, 1, 2, 3, 4].map(() => s.createJob()))
    const [edited, paused, resumed, later, gone] = jobs
    await change(s, resumed!, pause())
    await takeAllChanges(s)
    await change(s, edited!, edit({ name: 'renamed' }))
    await change(s, paused!, pause())
    await change(s, resumed!, resume())
    await change(s, later!, editSchedule({ type: 'CRON', cron_expression: '0 0 1 1 *' }))
    await change(s, gone!, remove)
    const heard = (await takeAllChanges(s)).map(({ jobId, version }) => `${jobId} ${version}`)
    assert.deepEqual(heard.toSorted(), [`${edited!.jobId} 2`, `${resumed!.jobId} 1`].toSorted())
  })

  test(`${name}: two edits at once are made one after the other`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    const views = await Promise.all(['a', 'b', 'c'].map((named) => change(s, job, edit({ name: named }))))
    assert.deepEqual(views.map(({ version }) => version).toSorted(), [2, 3, 4])
    const last = views.find(({ version }) => version === 4)!
    assert.equal((await s.jobs.get(defaultTenantId, job.jobId))!.name, last.name)
  })

  test(`${name}: nobody changes the job of another tenant`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const job = await s.createJob({ tenantId, key: 'mine' })
    const before = await s.jobs.get(tenantId, job.jobId)
    for (const decide of [edit({ name: 'stolen' }), pause(), remove]) {
      const target = { tenantId: defaultTenantId, jobId: job.jobId }
      assert.equal(await s.jobs.change(target, decide), 'not_found')
      assert.equal(await s.jobs.change({ ...target, jobId: s.ids.next() }, decide), 'not_found')
    }
    assert.deepEqual(await s.jobs.get(tenantId, job.jobId), before)
  })
}

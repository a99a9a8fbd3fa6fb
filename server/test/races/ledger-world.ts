// Real schedulers, and the ledger of every slot as they and people that change jobs leave it.

import assert from 'node:assert/strict'
import { type JobView, partitionsCount } from '../../src/domain/jobs/job.ts'
import type { JobWrite } from '../../src/domain/jobs/job-change.ts'
import { LaneChooser, sharedLane } from '../../src/domain/queue/lane.ts'
import { compileSchedule } from '../../src/domain/schedule/compile-schedule.ts'
import { slotsBetween } from '../../src/domain/schedule/next-run.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import { type EpochMs, epochMs } from '../../src/lib/time/epoch.ts'
import { Releaser } from '../../src/maintenance/release-waiting.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import { SlotCharger } from '../../src/scheduler/charge-slots.ts'
import { DueQueue } from '../../src/scheduler/due-queue.ts'
import { fillWindow, recoverOverdue, takeChanges } from '../../src/scheduler/fill-window.ts'
import { fireDue } from '../../src/scheduler/fire-due.ts'
import { LoadWindow } from '../../src/scheduler/load-window.ts'
import { OutageDetector } from '../../src/scheduler/outage-detector.ts'
import type { Decision } from '../conformance/jobs/changes.ts'
import type { Race, Session } from './sessions.ts'

const allPartitions = Array.from({ length: partitionsCount }, (_, id) => id)
/** PostgreSQL runs on this machine. */
export const clock = {
  databaseNow: () => epochMs(Date.now()),
  uncertaintyMs: () => 0,
  monotonicMs: () => performance.now(),
}
export const everySecond = { type: 'CRON', cron_expression: '* * * * * *' } as const

/** A job of every second whose first slot is then, with its version in `begins`. */
export async function createEverySecondJob(
  { s }: Race,
  begins: Begins,
  job: Pick<NewJob, 'overlapPolicy'> & { slotAt: EpochMs },
): Promise<NewJob> {
  const { slotAt } = job
  const created = await s.createJob({ anchorAt: s.at(0), schedule: everySecond, ...job })
  begins.set(`${created.jobId} 1`, epochMs(slotAt - 1))
  return created
}

/** Where the slots of each version of a job begin: after this instant. By job and version. */
export type Begins = Map<string, EpochMs>

/** A scheduler that holds everything, and now and then starts anew. */
export function createScheduler({ slots, executionBudgets, tenantRoom }: Session, { s }: Race) {
  let dueQueue = new DueQueue()
  let window = new LoadWindow()
  window.hold(allPartitions)
  const lanes = new LaneChooser()
  let outages = new OutageDetector()
  const charger = new SlotCharger({ clock, executionBudgets, tenantRoom })
  const loadDeps = () => ({ clock, slots, dueQueue, window, onPut() {}, onReload() {} })
  return {
    load: () => fillWindow(loadDeps()),
    takeChanges: () => takeChanges(loadDeps()),
    findOverdue: () => recoverOverdue(loadDeps()),
    fire: () =>
      fireDue(
        {
          clock,
          ids: s.ids,
          slots,
          dueQueue,
          window,
          lanes,
          outages,
          charger,
          smallTenants: { firedSinceMs: null },
          directDispatch: null,
          onEnqueued() {},
          onOwed() {},
        },
        { misfireAfterMs: 60_000 },
      ),
    async restart() {
      if (Math.random() >= 0.01) return
      dueQueue = new DueQueue()
      outages = new OutageDetector()
      window = new LoadWindow()
      window.hold(allPartitions)
    },
  }
}

export function createReleaser({ maintenance }: Session, ids: Race['s']['ids']): Releaser {
  const told = { onReady() {}, onCancelled() {}, onPlanned() {} }
  return new Releaser({ clock, ids, lanes: new LaneChooser(), maintenance, ...told })
}

/** Changes a job and remembers where the slots of the version begin that this made. */
export async function changeNoted(
  { jobs }: Session,
  begins: Begins,
  job: NewJob,
  decide: Decision,
): Promise<JobView> {
  let write: JobWrite | null = null
  const view = await jobs.change(job, (state) => {
    write = state.status === 'DELETED' ? null : decide(state)
    return write
  })
  assert(typeof view === 'object' && 'status' in view, JSON.stringify(view))
  const { version: made = null, decidedTo } = (write ?? {}) as Partial<JobWrite>
  // An edit that leaves the schedule alone goes on with the slots of the version before it.
  if (made !== null) begins.set(`${job.jobId} ${made.version}`, decidedTo ?? epochMs(0))
  return view
}

/** Ends all executions in progress, until none is left. */
export async function drain({ s, client, first }: Race): Promise<void> {
  const releaser = createReleaser(first, s.ids)
  for (const lease of await s.maintenance.watch()) await s.maintenance.reclaim(lease)
  for (let rounds = 0; rounds < 2_000; rounds++) {
    await first.maintenance.wake(100)
    await releaser.step()
    await runAll(s)
    const { rows } = await client.query(
      `SELECT FROM live UNION ALL SELECT FROM batches UNION ALL SELECT FROM catchups`,
    )
    if (rows.length === 0) return
  }
  const { rows } = await client.query(
    `SELECT l.*, c.status FROM live l JOIN cursors c USING (job_id) LIMIT 3`,
  )
  assert.fail(`something is stuck: ${JSON.stringify(rows)}`)
}

/** A burst waits in the lane of its tenant. Some may be cancelled meanwhile: a newer slot of CANCEL_RUNNING has come. */
export async function runAll(s: Race['s']): Promise<void> {
  const workerId = await s.addWorker()
  const ending = s.succeeded()
  for (const lane of [sharedLane, tenantId]) {
    const { batches, live } = await s.claim(workerId, 1_000, lane)
    for (const { batchId, fence, positions } of batches) {
      const endings = positions.map((position) => ({ position, ending }))
      const { missing } = await s.queue.finishBatches(workerId, [{ batchId, fence, endings }])
      assert.deepEqual(missing, [])
    }
    for (const { executionId, fence, attempt } of live) {
      const { missing } = await s.queue.finishLive(workerId, [{ executionId, fence, attempt, ending }])
      assert.deepEqual(missing, [])
    }
  }
}

/** Every slot of every version of a job up to its last decided instant. */
function slotsOf(begins: Begins, { jobId }: NewJob, versions: readonly JobView[], decidedTo: EpochMs) {
  return versions.flatMap(({ version, schedule, anchorAt }, i) => {
    const answer = compileSchedule(schedule, { createdAt: anchorAt, jobId })
    assert(answer.ok)
    const next = versions[i + 1]
    const from = epochMs(begins.get(`${jobId} ${version}`)! + 1)
    const to = epochMs((next === undefined ? decidedTo : begins.get(`${jobId} ${next.version}`)!) + 1)
    return slotsBetween(answer.value.compiled, { from, to }).map((slot) => ({ slot, version }))
  })
}

/** Each slot of the job, under the version that was in force, is fired or skipped, once; and no other is. */
export async function assertLedger({ client, first }: Race, begins: Begins, job: NewJob): Promise<void> {
  const { jobId } = job
  const { rows: versions } = await client.query(
    `SELECT version, schedule, to_ms(anchor_at) AS anchor FROM job_versions WHERE job_id = $1 ORDER BY version`,
    [jobId],
  )
  // A version that left the schedule alone shares the slots of the one before.
  let begun: (typeof versions)[number] | null = null
  for (const row of versions) {
    row.anchorAt = Number(row.anchor)
    const isSame =
      begun !== null &&
      begun.anchorAt === row.anchorAt &&
      JSON.stringify(begun.schedule) === JSON.stringify(row.schedule)
    if (isSame) begins.delete(`${jobId} ${row.version}`)
    else begun = row
  }
  const changed = versions.filter(({ version }) => begins.has(`${jobId} ${version}`)) as JobView[]
  const { rows: cursor } = await client.query(
    'SELECT status, to_ms(decided_to) AS decided FROM cursors WHERE job_id = $1',
    [jobId],
  )
  const expected = slotsOf(begins, job, changed, epochMs(Number(cursor[0].decided)))
  const { rows: fired } = await client.query(
    'SELECT to_ms(slot) AS slot FROM slots WHERE job_id = $1 AND reason IS NULL',
    [jobId],
  )
  const { rows: skips } = await client.query(
    'SELECT to_ms(from_slot) AS f, to_ms(to_slot) AS t, slot_count, reason, version FROM skips WHERE job_id = $1',
    [jobId],
  )
  const ran = new Set(fired.map((row) => Number(row.slot)))
  const broken: string[] = []
  let skipped = 0
  for (const { slot, version } of expected) {
    const within = skips.filter((skip) => Number(skip.f) <= slot && slot <= Number(skip.t))
    skipped += within.length
    const records = [...(ran.has(slot) ? ['ran'] : []), ...within.map(({ reason }) => reason)]
    if (records.length !== 1) broken.push(`${new Date(slot).toISOString()} of v${version}: ${records.join()}`)
    ran.delete(slot)
  }
  assert.deepEqual(broken, [], `${cursor[0].status} ${JSON.stringify(changed)} ${JSON.stringify(skips)}`)
  assert.deepEqual([...ran], [], 'a slot ran that no version has')
  assert.equal(
    skips.reduce((sum, { slot_count: count }) => sum + count, 0),
    skipped,
    'the counts of skipped slots',
  )
  assert.equal((await first.jobs.get(tenantId, jobId))!.status, cursor[0].status)
}

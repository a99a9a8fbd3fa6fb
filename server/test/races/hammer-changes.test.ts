// Two schedulers as they are, and people who change, trigger, cancel and repeat what they fire, on a few jobs at once:
// no error escapes, every slot of every version is fired or skipped, once, and every execution comes to its end.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { JobView } from '../../src/domain/job.ts'
import { partitionsCount } from '../../src/domain/job.ts'
import type { JobWrite } from '../../src/domain/job-change.ts'
import { LaneChooser, sharedLane } from '../../src/domain/lane.ts'
import { serverRoute } from '../../src/domain/route.ts'
import { compileSchedule } from '../../src/domain/schedule/compile-schedule.ts'
import { slotsBetween } from '../../src/domain/schedule/next-run.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenant.ts'
import { type EpochMs, epochMs } from '../../src/lib/epoch.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import type { Claimed, Ending } from '../../src/ports/queue.ts'
import { fireDue } from '../../src/scheduler/fire-due.ts'
import { findOverdue, loadWindow, takeChanges } from '../../src/scheduler/load-window.ts'
import { TimerWheel } from '../../src/scheduler/timer-wheel.ts'
import { Window } from '../../src/scheduler/window.ts'
import { Releaser } from '../../src/upkeep/release-waiting.ts'
import {
  type Decision,
  edit,
  editSchedule,
  otherSchedule,
  pause,
  remove,
  resume,
} from '../conformance/changes.ts'
import { POSTGRES_VERSIONS, type PostgresVersion } from '../database.ts'
import { assertWhole } from './invariants.ts'
import { createRace, hammer, type Race, type Session } from './sessions.ts'

const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)]!
const chance = (probability: number) => Math.random() < probability
const allPartitions = Array.from({ length: partitionsCount }, (_, id) => id)
const everySecond = { type: 'CRON', cron_expression: '* * * * * *' } as const
/** PostgreSQL runs on this machine. */
const clock = { databaseNow: () => epochMs(Date.now()), monotonicMs: () => performance.now() }

/** A scheduler that holds everything, and now and then starts anew. */
function createScheduler({ slots }: Session, { s }: Race) {
  let wheel = new TimerWheel()
  let window = new Window()
  window.hold(allPartitions)
  const lanes = new LaneChooser()
  const loadDeps = () => ({ clock, slots, wheel, window, onPut() {}, onReload() {} })
  return {
    load: () => loadWindow(loadDeps()),
    takeChanges: () => takeChanges(loadDeps()),
    findOverdue: () => findOverdue(loadDeps()),
    fire: () =>
      fireDue(
        { clock, ids: s.ids, slots, wheel, window, lanes, onEnqueued() {}, onOwed() {} },
        { misfireAfterMs: 60_000 },
      ),
    async restart() {
      if (!chance(0.01)) return
      wheel = new TimerWheel()
      window = new Window()
      window.hold(allPartitions)
    },
  }
}

async function createWorld(t: TestContext, version: PostgresVersion) {
  const race = await createRace(t, version)
  const { s, client, first, second } = race
  /** All there were, and those that are not deleted, of which there are always as many. */
  const jobs: NewJob[] = []
  let alive: NewJob[] = []
  /** Where the slots of each version of a job begin: after this instant. */
  const begins = new Map<string, EpochMs>()
  const inHand = new Map<string, Claimed>()

  /** Begun up to two minutes ago: some slots are misfired, some late. */
  async function addJob() {
    const slotAt = s.at(600 - pick([0, 3, 40, 120]))
    const job = await s.createJob({
      ...{ slotAt, anchorAt: s.at(0), schedule: everySecond },
      overlapPolicy: pick(['SKIP', 'SKIP', 'ALLOW']),
    })
    begins.set(`${job.jobId} 1`, epochMs(slotAt - 1))
    jobs.push(job)
    alive.push(job)
  }
  for (let i = 0; i < 8; i++) await addJob()

  async function change({ jobs: port }: Session, job: NewJob, decide: Decision) {
    let write: JobWrite | null = null
    const view = await port.change(job, (state) => {
      write = state.status === 'DELETED' ? null : decide(state)
      return write
    })
    assert(typeof view === 'object', String(view))
    const { version: made = null, decidedTo } = (write ?? {}) as Partial<JobWrite>
    // An edit that leaves the schedule alone goes on with the slots of the version before it.
    if (made !== null) begins.set(`${job.jobId} ${made.version}`, decidedTo ?? epochMs(0))
    return view
  }

  const somePlace = async (where: string) => {
    const { rows } = await client.query<{ execution_id: string }>(
      `SELECT execution_id FROM place WHERE ${where} ORDER BY random() LIMIT 1`,
    )
    return rows[0]?.execution_id ?? null
  }

  const ending = (): Exclude<Ending, { kind: 'running' }> =>
    pick<() => Exclude<Ending, { kind: 'running' }>>([
      () => s.succeeded(),
      () => s.succeeded(),
      () => s.failedForNow(),
      () => s.died(),
      () => ({ kind: 'unstarted', host: null }),
    ])()

  const moves = {
    editName: (session: Session) => change(session, pick(alive), edit({ name: `job ${Math.random()}` })),
    editSchedule: (session: Session) =>
      change(session, pick(alive), editSchedule(pick([everySecond, otherSchedule]))),
    pause: (session: Session) => change(session, pick(alive), pause()),
    resume: (session: Session) => change(session, pick(alive), resume()),
    resumeAgain: (session: Session) => change(session, pick(alive), resume()),
    resumeLate: (session: Session) =>
      change(session, pick(alive), (state) => resume(epochMs(state.now - pick([100, 3_000])))(state)),
    async delete(session: Session) {
      const job = pick(alive)
      if (!chance(0.01)) return
      await change(session, job, remove)
      if (!alive.includes(job)) return
      alive = alive.filter((one) => one !== job)
      await addJob()
    },
    async trigger({ jobs: port }: Session) {
      const order = () => ({
        tenantId,
        jobId: pick(alive).jobId,
        executionId: s.ids.next(),
        lane: sharedLane,
      })
      await Promise.all([1, 2, 3].map(() => port.trigger(order())))
    },
    async cancel({ control }: Session) {
      const executionId = await somePlace(`place <> 'final'`)
      if (executionId !== null) await control.cancel({ tenantId, executionId, message: 'no' })
    },
    async retry({ control }: Session) {
      const executionId = await somePlace(`place = 'final'`)
      if (executionId === null || !chance(0.2)) return
      await control.retry({ tenantId, executionId, newExecutionId: s.ids.next(), lane: sharedLane })
    },
    async redrive({ deadLetters }: Session) {
      const filter = { jobId: null, reason: null, errorType: null, from: null, to: null }
      const { deadLetters: found } = await deadLetters.list({ tenantId, filter, before: null, limit: 10 })
      const letters = found.map(({ executionId }) => ({
        ...{ executionId, newExecutionId: s.ids.next() },
        lane: sharedLane,
      }))
      if (chance(0.2)) await deadLetters.redrive({ tenantId, letters })
    },
    async claim({ queue }: Session) {
      const workerId = await s.addWorker()
      const lanes = [sharedLane, tenantId].map((lane) => ({ lane, count: pick([1, 5, 50]) }))
      try {
        const order = { workerId, route: serverRoute, lanes, hosts: [], batchesMax: 5 }
        inHand.set(workerId, await queue.claim(order))
      } catch (error) {
        // Declared dead before its first claim: what a claim in flight meets then.
        assert.equal((error as { code?: string }).code, '23503')
      }
    },
    async finish({ queue }: Session) {
      const [workerId, claimed] = pick([...inHand]) ?? []
      if (workerId === undefined || claimed === undefined) return
      inHand.delete(workerId)
      const batches = claimed.batches.map(({ batchId, fence, positions }) => ({
        ...{ batchId, fence },
        endings: positions.map((position) => ({ position, ending: ending() })),
      }))
      const live = claimed.live.map((one) => ({ ...one, ending: ending() }))
      await Promise.all([queue.finishBatches(workerId, batches), queue.finishLive(workerId, live)])
    },
    async reclaim({ upkeep }: Session) {
      const lease = pick(await upkeep.watch())
      if (lease !== undefined && chance(0.1)) await upkeep.reclaim(lease)
    },
    wake: ({ upkeep }: Session) => upkeep.wake(100),
  }

  const lanes = new LaneChooser()
  const schedulers = [first, second].map((session) => createScheduler(session, race))
  const releasers = [first, second].map(
    ({ upkeep }) => new Releaser({ clock, ids: s.ids, lanes, upkeep, onReady() {} }),
  )
  const actors = [
    ...schedulers.flatMap((scheduler) => Object.values(scheduler)),
    ...releasers.map((releaser) => () => releaser.step()),
    ...[first, second].flatMap((session) => Object.values(moves).map((move) => () => move(session))),
  ]
  return { ...race, actors, jobs, begins, change, wake: moves.wake, releaser: releasers[0]! }
}

type World = Awaited<ReturnType<typeof createWorld>>

/** Ends whatever is under way, until nothing is. */
async function drain({ s, client, first, wake, releaser }: World): Promise<void> {
  for (const lease of await s.upkeep.watch()) await s.upkeep.reclaim(lease)
  for (let rounds = 0; rounds < 2_000; rounds++) {
    await wake(first)
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

/** A burst waits in the lane of its tenant. */
async function runAll(s: World['s']): Promise<void> {
  const workerId = await s.addWorker()
  for (const lane of [sharedLane, tenantId]) {
    const { batches, live } = await s.claim(workerId, 1_000, lane)
    for (const batch of batches) await s.finishBatch(workerId, batch, s.succeeded())
    for (const one of live) await s.finishLive(workerId, one, s.succeeded())
  }
}

/** Every slot of every version of a job up to what is decided. */
function slotsOf({ begins }: World, { jobId }: NewJob, versions: readonly JobView[], decidedTo: EpochMs) {
  return versions.flatMap(({ version, schedule, anchorAt }, i) => {
    const answer = compileSchedule(schedule, { createdAt: anchorAt, jobId })
    assert(answer.ok)
    const next = versions[i + 1]
    const from = epochMs(begins.get(`${jobId} ${version}`)! + 1)
    const to = epochMs((next === undefined ? decidedTo : begins.get(`${jobId} ${next.version}`)!) + 1)
    return slotsBetween(answer.value.compiled, { from, to }).map((slot) => ({ slot, version }))
  })
}

async function assertLedger(world: World, job: NewJob): Promise<void> {
  const { client, first, begins } = world
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
  const expected = slotsOf(world, job, changed, epochMs(Number(cursor[0].decided)))
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

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: fires, changes, triggers, cancels, retries, claims and finishes, hammered`, async (t) => {
    const world = await createWorld(t, version)
    const { client, actors, jobs, change, first } = world
    await assertWhole(client)
    assert.deepEqual(await hammer(5_000, actors), [])
    await assertWhole(client)
    // Whatever still fires is stopped: every slot up to now is decided then.
    for (const job of jobs) await change(first, job, pause())
    await drain(world)
    await assertWhole(client)
    for (const job of jobs) await assertLedger(world, job)
  })
}

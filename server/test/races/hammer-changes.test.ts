// Two real schedulers, and people that change, trigger, cancel and repeat the fired executions, on a few jobs at once:
// no error escapes, every slot of every version is fired or skipped, once, and every execution ends.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { OVERLAP_POLICIES } from '@carillon/contract/constants.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { serverRoute } from '../../src/domain/queue/route.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import { epochMs } from '../../src/lib/time/epoch.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import { leanPage } from '../../src/ports/pages.ts'
import type { Claimed, Ending } from '../../src/ports/queue.ts'
import {
  type Decision,
  edit,
  editSchedule,
  otherSchedule,
  pause,
  remove,
  resume,
} from '../conformance/jobs/changes.ts'
import { POSTGRES_VERSIONS, type PostgresVersion } from '../database.ts'
import { assertWhole } from './invariants.ts'
import {
  assertLedger,
  type Begins,
  changeNoted,
  createEverySecondJob,
  createReleaser,
  createScheduler,
  drain,
  everySecond,
} from './ledger-world.ts'
import { createRace, hammer, type Session } from './sessions.ts'

const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)]!
const chance = (probability: number) => Math.random() < probability
async function createWorld(t: TestContext, version: PostgresVersion) {
  const race = await createRace(t, version)
  const { s, client, first, second } = race
  /** All jobs ever created, and the undeleted ones, a constant number. */
  const jobs: NewJob[] = []
  let alive: NewJob[] = []
  const begins: Begins = new Map()
  const inFlight = new Map<string, Claimed>()

  /** Begun up to two minutes ago: some slots are misfired, some late. */
  async function addJob() {
    const slotAt = s.at(600 - pick([0, 3, 40, 120]))
    const job = await createEverySecondJob(race, begins, { slotAt, overlapPolicy: pick(OVERLAP_POLICIES) })
    jobs.push(job)
    alive.push(job)
  }
  for (let i = 0; i < 8; i++) await addJob()

  const change = (session: Session, job: NewJob, decide: Decision) =>
    changeNoted(session, begins, job, decide)

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
      const { deadLetters: found } = await deadLetters.list({
        tenantId,
        filter,
        before: null,
        limit: 10,
        ...leanPage,
      })
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
        const order = { workerId, routes: [serverRoute], lanes, hosts: [], batchesMax: 5 }
        inFlight.set(workerId, await queue.claim(order))
      } catch (error) {
        // Declared dead before its first claim: a claim in flight then meets this error.
        assert.equal((error as { code?: string }).code, '23503')
      }
    },
    async finish({ queue }: Session) {
      const [workerId, claimed] = pick([...inFlight]) ?? []
      if (workerId === undefined || claimed === undefined) return
      inFlight.delete(workerId)
      const batches = claimed.batches.map(({ batchId, fence, positions }) => ({
        ...{ batchId, fence },
        endings: positions.map((position) => ({ position, ending: ending() })),
      }))
      const live = claimed.live.map((one) => ({ ...one, ending: ending() }))
      await Promise.all([queue.finishBatches(workerId, batches), queue.finishLive(workerId, live)])
    },
    async reclaim({ maintenance }: Session) {
      const lease = pick(await maintenance.watch())
      if (lease !== undefined && chance(0.1)) await maintenance.reclaim(lease)
    },
    wake: ({ maintenance }: Session) => maintenance.wake(100),
  }

  const schedulers = [first, second].map((session) => createScheduler(session, race))
  const releasers = [first, second].map((session) => createReleaser(session, s.ids))
  const actors = [
    ...schedulers.flatMap((scheduler) => Object.values(scheduler)),
    ...releasers.map((releaser) => () => releaser.step()),
    ...[first, second].flatMap((session) => Object.values(moves).map((move) => () => move(session))),
  ]
  return { ...race, actors, jobs, begins, change }
}

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: fires, changes, triggers, cancels, retries, claims and finishes, hammered`, async (t) => {
    const world = await createWorld(t, version)
    const { client, actors, jobs, begins, change, first } = world
    await assertWhole(client)
    assert.deepEqual(await hammer(5_000, actors), [])
    await assertWhole(client)
    // Jobs that still fire are stopped: every slot up to now is decided then.
    for (const job of jobs) await change(first, job, pause())
    await drain(world)
    await assertWhole(client)
    for (const job of jobs) await assertLedger(world, begins, job)
  })
}

// Every pair of moves on the same few rows, at once and in any order: no error escapes, above all no deadlock, and
// everything that must hold of the whole database holds.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { serverRoute } from '../../src/domain/queue/route.ts'
import { leanPage } from '../../src/ports/pages.ts'
import type { Claimed, Ending } from '../../src/ports/queue.ts'
import { assertWhole } from './invariants.ts'
import { createRace, hammer, openSession, releaseAll, type Session } from './sessions.ts'

const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)]!
const shuffle = <T>(from: readonly T[]): T[] => from.toSorted(() => Math.random() - 0.5)

/** A dozen jobs of which slots fire all the time, and the moves to make on them. */
async function createWorld(t: TestContext) {
  const { s, client, address } = await createRace(t)
  const jobs = await Promise.all(
    Array.from({ length: 12 }, (_, i) => s.createJob({ overlapPolicy: i < 8 ? 'SKIP' : 'ALLOW' })),
  )
  /** Claimed and not finished, by worker. */
  const inFlight = new Map<string, Claimed>()
  /** The next second of each job, per scheduler: each fires every slot in order. */
  const schedulers = new WeakMap<Session, Map<string, number>>()

  const ending = (): Ending =>
    pick<() => Ending>([
      () => s.succeeded(),
      () => s.failedForNow(),
      () => s.died(),
      () => ({ kind: 'unstarted', host: null }),
      () => s.running(),
    ])()

  const moves = {
    async fire(session: Session) {
      const next = schedulers.get(session) ?? new Map<string, number>()
      schedulers.set(session, next)
      const items = shuffle(jobs).map((job) => {
        const second = next.get(job.jobId) ?? 0
        if (job.overlapPolicy === 'ALLOW' || Math.random() < 0.8) return s.slotOf(job, second)
        const move = { slotAt: s.at(second + 3), dueAt: s.at(second + 3), decidedTo: s.at(second + 2) }
        return s.slotOf(job, second, { late: true, owedTo: s.at(second + 2), move })
      })
      const answers = await session.slots.fire(items.filter(({ slot }) => slot < s.at(590)))
      // Jobs planned anew below must not look done meanwhile: another fire of this scheduler would leave a hole.
      const undone = new Set(
        answers.filter(({ answer }) => answer === 'busy' || answer === 'stale').map(({ jobId }) => jobId),
      )
      for (const { jobId, slot, owedTo } of items) {
        if (!undone.has(jobId)) next.set(jobId, ((owedTo ?? slot) - s.at(0)) / 1_000 + 1)
      }
      // As a scheduler does: a plan made too early is made anew from the decided and recorded slots.
      for (const { jobId } of answers.filter(({ answer }) => answer === 'stale')) {
        const { rows } = await client.query(
          `SELECT to_ms(greatest(c.decided_to, (SELECT max(slot) FROM slots s WHERE s.job_id = c.job_id))) AS to_ms
          FROM cursors c WHERE c.job_id = $1`,
          [jobId],
        )
        next.set(jobId, (Number(rows[0].to_ms) - s.at(0)) / 1_000 + 1)
      }
    },
    async trigger({ jobs: port }: Session) {
      const { tenantId, jobId } = pick(jobs)
      await port.trigger({ tenantId, jobId, executionId: s.ids.next(), lane: sharedLane })
    },
    async claim({ queue }: Session) {
      const workerId = await s.addWorker()
      const lanes = [{ lane: sharedLane, count: pick([1, 2, 10]) }]
      const order = { workerId, routes: [serverRoute], lanes, hosts: [], batchesMax: 5 }
      try {
        inFlight.set(workerId, await queue.claim(order))
      } catch (error) {
        // Declared dead before its first claim: a claim in flight then meets this error.
        assert.equal((error as { code?: string }).code, '23503')
      }
      for (const old of [...inFlight.keys()].slice(0, -6)) inFlight.delete(old)
    },
    /**
     * Reports the executions that a worker holds, now and then twice at once, and keeps them: they may be reported
     * again.
     */
    async finish({ queue }: Session) {
      const [workerId, claimed] = pick([...inFlight]) ?? []
      if (workerId === undefined || claimed === undefined) return
      const batches = shuffle(claimed.batches).map(({ batchId, fence, positions }) => ({
        batchId,
        fence,
        endings: positions.map((position) => ({ position, ending: ending() })),
      }))
      const live = shuffle(claimed.live).map((one) => {
        const end = ending()
        return { ...one, ending: end.kind === 'running' ? s.succeeded() : end }
      })
      await Promise.all([queue.finishBatches(workerId, batches), queue.finishLive(workerId, live)])
    },
    async reclaim({ maintenance }: Session) {
      const lease = pick(await maintenance.watch())
      if (lease !== undefined) await maintenance.reclaim(lease)
    },
    wake: ({ maintenance }: Session) => maintenance.wake(pick([1, 100])),
    async release(session: Session) {
      await releaseAll(session, shuffle(await session.maintenance.findWaiting(null, 10)))
    },
    async redrive({ deadLetters }: Session) {
      const { tenantId } = jobs[0]!
      const filter = { jobId: null, reason: null, errorType: null, from: null, to: null }
      const { deadLetters: found } = await deadLetters.list({
        tenantId,
        filter,
        before: null,
        limit: 10,
        ...leanPage,
      })
      const letters = shuffle(found).map(({ executionId }) => ({
        executionId,
        newExecutionId: s.ids.next(),
        lane: sharedLane,
      }))
      await deadLetters.redrive({ tenantId, letters })
    },
    async releaseUnknown({ queue }: Session) {
      const workerId = pick([...inFlight.keys()])
      if (workerId !== undefined) await queue.releaseUnknown(workerId, [])
    },
  }
  return { client, address, moves, sessions: [openSession(t, address), openSession(t, address)] as const }
}

type Move = keyof Awaited<ReturnType<typeof createWorld>>['moves']

/** The moves that every pair needs, so that there is something to compete for. */
const feed: readonly Move[] = ['fire', 'trigger', 'claim', 'finish', 'wake', 'release']
const pairs: readonly (readonly [Move, Move])[] = [
  ['fire', 'fire'],
  ['fire', 'release'],
  ['claim', 'claim'],
  ['claim', 'reclaim'],
  ['finish', 'finish'],
  ['finish', 'reclaim'],
  ['finish', 'releaseUnknown'],
  ['release', 'release'],
  ['release', 'trigger'],
  ['wake', 'claim'],
  ['redrive', 'release'],
  ['reclaim', 'releaseUnknown'],
]

for (const pair of pairs) {
  test(`${pair.join('×')}, hammered`, async (t) => {
    const { client, moves, sessions } = await createWorld(t)
    const actors = pair.flatMap((move) => sessions.map((session) => () => moves[move](session)))
    const feeding = async () => moves[pick(feed)](pick(sessions))
    assert.deepEqual(await hammer(1_000, [...actors, feeding, feeding]), [])
    await assertWhole(client)
  })
}

test('all operations at once, hammered', async (t) => {
  const { client, moves, sessions } = await createWorld(t)
  const actors = Object.values(moves).flatMap((move) => sessions.map((session) => () => move(session)))
  const errors = await hammer(3_000, actors)
  assert.deepEqual(errors, [])
  await assertWhole(client)
})

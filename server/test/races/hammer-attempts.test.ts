// Workers, SDK workers, targets, cancels and maintenance, all reporting on the same few hundred executions from eight
// sessions: every execution ends exactly once, its attempts are numbered without holes or repeats, and no error
// escapes.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { ATTEMPT_OUTCOMES } from '@carillon/contract/constants.ts'
import type { Execution } from '../../src/domain/jobs/job.ts'
import { type AttemptReport, endAttempt } from '../../src/domain/queue/attempt.ts'
import { executionIdAt } from '../../src/domain/queue/execution.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { routeOf, serverRoute, suspectHost } from '../../src/domain/queue/route.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import type { AttemptEnding, AttemptMark } from '../../src/ports/attempts.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import type { Claimed, Ending } from '../../src/ports/queue.ts'
import { http } from '../conformance/queue/held.ts'
import { POSTGRES_VERSIONS, type PostgresVersion } from '../database.ts'
import type { Dice } from '../fuzz/dice.ts'
import { assertWhole } from './invariants.ts'
import { createRace, hammer, openSession, type Race, rollDice, type Session } from './sessions.ts'

const handler: Execution = { type: 'worker', handler: 'report', labels: [], timeout_seconds: 30 }
const executions: readonly Execution[] = [
  http,
  { ...http, heartbeat_timeout_seconds: 60, total_timeout_seconds: 3_600 },
  handler,
  { ...handler, heartbeat_timeout_seconds: 60 },
]
const routes = [serverRoute, routeOf({ tenantId, execution: handler })]
const executionsMax = 1_000
const roundsMin = 4
const roundsMax = 30
const retryPolicy = { max_retries: 2, backoff: 'FIXED', initial_delay_ms: 0, max_delay_ms: 0 } as const

/** Held by a worker, by its own account. */
interface InFlight {
  workerId: string
  claimed: Claimed
  marks: AttemptMark[]
}

async function createExecutions({ s }: Race) {
  const ids: string[] = []
  const all: NewJob[] = []
  for (const execution of executions) {
    const jobs = await Promise.all(
      Array.from({ length: 10 }, () => s.createJob({ execution, overlapPolicy: 'ALLOW' })),
    )
    for (let second = 0; second < 5; second++) ids.push(...(await s.fireBatch(jobs, second)).executionIds)
    ids.push(...(await Promise.all(jobs.map((job) => s.trigger(job)))))
    all.push(...jobs)
  }
  return { jobs: all, ids }
}

function toInFlight(workerId: string, claimed: Claimed): InFlight {
  const batched = claimed.batches.flatMap(({ batchId, fence, positions, jobIds }) =>
    positions.map((position, i) => {
      return { executionId: executionIdAt(batchId, position), jobId: jobIds[i]!, attempt: 1, fence, workerId }
    }),
  )
  const alone = claimed.live.map(({ executionId, jobId, attempt, fence }) => {
    return { executionId, jobId, attempt, fence, workerId }
  })
  return { workerId, claimed, marks: [...batched, ...alone] }
}

async function createWorld(t: TestContext, version: PostgresVersion) {
  const race = await createRace(t, version)
  const { s, client } = race
  const dice = rollDice(t)
  const { jobs, ids } = await createExecutions(race)
  const inFlight: InFlight[] = []
  const moves = createMoves(race, { dice, jobs, ids, inFlight })

  /** Ends all that is left, until nothing is. */
  const drain = async (session: Session) => {
    for (const lease of await s.maintenance.watch()) await s.maintenance.reclaim(lease)
    for (let round = 0; round < 100; round++) {
      const held = await session.attempts.find(ids)
      await session.attempts.report(held.map((one) => ({ ...one, ending: s.succeeded() })))
      await session.maintenance.wake(1_000)
      const workerId = await s.addWorker()
      const lanes = [{ lane: sharedLane, count: 1_000 }]
      const hosts = [{ host: suspectHost, count: 1_000 }]
      await session.queue.claim({ workerId, routes, lanes, hosts, batchesMax: 100 })
      const { rows } = await client.query('SELECT FROM live UNION ALL SELECT FROM batches')
      if (rows.length === 0) return
    }
    assert.fail('something is stuck')
  }
  return { race, ids, moves, drain, client }
}

function createMoves(
  { s, client }: Race,
  world: { dice: Dice; jobs: NewJob[]; ids: string[]; inFlight: InFlight[] },
) {
  const { dice, jobs, ids, inFlight } = world
  /** The executions that are most likely in progress. */
  const recent = () => ids.slice(-300)
  const some = <T>(from: readonly T[]): T[] => dice.shuffle(from).slice(0, dice.between(1, 6))
  const anyInFlight = (): InFlight => dice.pick(inFlight) ?? toInFlight(ids[0]!, { batches: [], live: [] })
  const ended = (): AttemptEnding['ending'] =>
    dice.pick([() => s.succeeded(), () => s.failedForNow(), () => s.died()])()
  const ending = (): Exclude<Ending, { kind: 'running' }> =>
    dice.pick<() => Exclude<Ending, { kind: 'running' }>>([
      () => s.succeeded(),
      () => s.failedForNow(),
      () => s.awaiting(),
      () => ({ kind: 'unstarted', host: null }),
    ])()

  return {
    async trigger() {
      if (ids.length < executionsMax) ids.push(await s.trigger(dice.pick(jobs)))
    },
    async claim({ queue }: Session) {
      const workerId = await s.addWorker()
      const lanes = [{ lane: sharedLane, count: dice.between(1, 15) }]
      const hosts = [{ host: suspectHost, count: dice.below(3) }]
      try {
        const some = dice.chance(0.5) ? routes : [dice.pick(routes)]
        inFlight.push(
          toInFlight(workerId, await queue.claim({ workerId, routes: some, lanes, hosts, batchesMax: 3 })),
        )
      } catch (error) {
        // Declared dead before its first claim: a claim in flight then meets this error.
        assert.equal((error as { code?: string }).code, '23503')
      }
      if (inFlight.length > 12) inFlight.shift()
    },
    /** An SDK worker. It may repeat its earlier reports. */
    async report({ attempts }: Session) {
      const reports = some(anyInFlight().marks).map((mark) => ({
        ...mark,
        ending: dice.chance(0.9) ? ended() : ({ kind: 'unstarted' } as const),
      }))
      await attempts.report(reports)
    },
    async note({ attempts }: Session) {
      const said = () => (dice.chance(0.5) ? { progress: dice.below(100) / 100, checkpoint: { at: 1 } } : {})
      await attempts.update(some(anyInFlight().marks).map((mark) => ({ ...mark, alive: true, ...said() })))
    },
    /** One of ours, of all that it has. */
    async finish({ queue }: Session) {
      const { workerId, claimed } = anyInFlight()
      const batches = dice.shuffle(claimed.batches).map(({ batchId, fence, positions }) => ({
        ...{ batchId, fence },
        endings: positions.map((position) => ({
          position,
          ending: dice.chance(0.2) ? s.running() : ending(),
        })),
      }))
      const live = dice.shuffle(claimed.live).map((one) => ({ ...one, ending: ending() }))
      const { left } = await queue.finishBatches(workerId, batches)
      const again = left.map((executionId) => ({ executionId, fence: 1, attempt: 1, ending: ending() }))
      await queue.finishLive(workerId, [...live, ...again])
    },
    /** A holder of a token. */
    async complete({ attempts }: Session) {
      const held = await attempts.find(some(recent()))
      await attempts.report(held.map((one) => ({ ...one, workerId: null, ending: ended() })))
    },
    async cancel({ control }: Session) {
      if (dice.chance(0.2))
        await control.cancelMany({ tenantId, executionIds: some(recent()), message: 'no' })
    },
    async reclaim({ maintenance }: Session) {
      const lease = dice.pick(await maintenance.watch())
      if (lease !== undefined && dice.chance(0.3)) await maintenance.reclaim(lease)
    },
    wake: ({ maintenance }: Session) => maintenance.wake(dice.pick([1, 100])),
    async timeOut({ maintenance }: Session) {
      const column = dice.pick(['deadline', 'silent_at', 'total_deadline'])
      await client.query(
        `UPDATE live SET ${column} = clock_ms() WHERE ${column} IS NOT NULL AND execution_id = ANY ($1)`,
        [some(recent())],
      )
      const overdue = await maintenance.findOverdue(20)
      const word: AttemptReport = {
        ...{ startedAt: null, finishedAt: s.at(600), durationMs: null, httpStatus: null, preview: null },
        error: { type: 'TIMEOUT', message: 'It took too long.' },
      }
      const ends = overdue.map(({ executionId, attempt, losses, fence, cause }) => {
        const totalDeadline = cause === 'total' ? s.at(0) : null
        const place = { attempt, losses, retryPolicy, totalDeadline, now: s.at(600), random: 0.5 }
        return { executionId, attempt, fence, end: endAttempt(word, place) }
      })
      await maintenance.timeOut(ends)
    },
  }
}

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: reports, notes, completions, cancels, reclaims and time-outs at once`, async (t) => {
    const { race, ids, moves, drain, client } = await createWorld(t, version)
    const sessions = Array.from({ length: 8 }, () => openSession(t, race.address))
    const outcomes = new Set<string>()
    const names = Object.keys(moves) as (keyof typeof moves)[]
    const actors = sessions.flatMap((session, i) =>
      names.filter((_, n) => n % 4 === i % 4).map((name) => () => moves[name](session)),
    )
    // Until each of them had a part in it.
    for (
      let round = 0;
      round < roundsMax && (round < roundsMin || outcomes.size < ATTEMPT_OUTCOMES.length);
      round++
    ) {
      assert.deepEqual(await hammer(1_000, actors), [])
      await assertWhole(client)
      const { rows } = await client.query<{ outcome: string }>('SELECT DISTINCT outcome FROM attempts')
      for (const { outcome } of rows) outcomes.add(outcome)
    }
    assert.deepEqual([...outcomes].toSorted(), ATTEMPT_OUTCOMES.toSorted())
    await drain(sessions[0]!)
    await assertWhole(client)
    const { rows } = await client.query<{ execution_id: string }>(
      'SELECT execution_id FROM attempts WHERE final ORDER BY execution_id',
    )
    assert.deepEqual(
      rows.map((row) => row.execution_id),
      ids.toSorted(),
    )
  })
}

// 1,000 cancels against 1,000 executions that end at the same moment, in batches and alone, from eight sessions: every
// execution ends once, and every answer to a cancel stays true.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { executionIdAt, type Outcome, statusOfOutcome } from '../../src/domain/queue/execution.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { serverRoute } from '../../src/domain/queue/route.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import type { CancelOutcome } from '../../src/ports/control.ts'
import type { Claimed, Ending } from '../../src/ports/queue.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import type { Dice } from '../fuzz/dice.ts'
import { assertWhole } from './invariants.ts'
import { createRace, openSession, type Race, rollDice, type Session } from './sessions.ts'

/** 500 in batches of 50, and 500 alone. */
async function createExecutions({ s }: Race): Promise<string[]> {
  const jobs = await Promise.all(Array.from({ length: 50 }, () => s.createJob({ overlapPolicy: 'ALLOW' })))
  const ids: string[] = []
  for (let second = 0; second < 10; second++) ids.push(...(await s.fireBatch(jobs, second)).executionIds)
  const triggers = jobs.flatMap((job) => Array.from({ length: 10 }, () => s.trigger(job)))
  return [...ids, ...(await Promise.all(triggers))]
}

const endingOf = (s: Race['s'], dice: Dice): Ending =>
  dice.pick<() => Ending>([
    () => s.succeeded(),
    () => s.succeeded(),
    () => s.died(),
    () => s.failedForNow(),
    () => ({ kind: 'unstarted', host: null }),
    () => s.running(),
  ])()

function idsOf({ batches, live }: Claimed): string[] {
  const inBatches = batches.flatMap(({ batchId, positions }) =>
    positions.map((at) => executionIdAt(batchId, at)),
  )
  return [...inBatches, ...live.map(({ executionId }) => executionId)]
}

/** Reports on everything that a worker holds; an execution that goes on succeeds with the next report. */
async function report(
  { queue }: Session,
  s: Race['s'],
  workerId: string,
  { batches, live }: Claimed,
  dice: Dice,
) {
  const goOn: string[] = []
  const reports = batches.map(({ batchId, fence, positions }) => ({
    ...{ batchId, fence },
    endings: positions.map((position) => ({ position, ending: endingOf(s, dice) })),
  }))
  await queue.finishBatches(workerId, reports)
  for (const { batchId, endings } of reports) {
    for (const { position, ending } of endings) {
      if (ending.kind === 'running') goOn.push(executionIdAt(batchId, position))
    }
  }
  const ends = live.map((one) => {
    const ending = endingOf(s, dice)
    return { ...one, ending: ending.kind === 'running' ? s.succeeded() : ending }
  })
  const later = goOn.map((executionId) => ({ executionId, fence: 1, attempt: 1, ending: s.succeeded() }))
  await Promise.all([queue.finishLive(workerId, ends), queue.finishLive(workerId, later)])
}

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: 1,000 cancels against 1,000 executions that end at the same moment`, async (t) => {
    const race = await createRace(t, version)
    const { s, client, address } = race
    const dice = rollDice(t)
    const ids = await createExecutions(race)
    assert.equal(ids.length, 1_000)
    const sessions = Array.from({ length: 8 }, () => openSession(t, address))
    const answers: { executionId: string; outcome: CancelOutcome }[] = []
    /** Held by workers that are about to say how they ended. */
    const aimedAt: string[] = []
    let asked = 0

    const work = async (session: Session) => {
      const workerId = await s.addWorker()
      for (let none = 0; none < 3; ) {
        // Not faster than they are cancelled.
        while (aimedAt.length > 4 && asked < 1_000) await nextTurn()
        const lanes = [{ lane: sharedLane, count: dice.between(1, 12) }]
        const order = { workerId, routes: [serverRoute], lanes, hosts: [], batchesMax: 3 }
        const claimed = await session.queue.claim(order)
        none = claimed.batches.length + claimed.live.length === 0 ? none + 1 : 0
        aimedAt.push(...dice.shuffle(idsOf(claimed)).slice(0, dice.below(6)))
        if (dice.chance(0.5)) await nextTurn()
        await report(session, s, workerId, claimed, dice)
        await session.maintenance.wake(100)
      }
    }
    const cancelSome = async ({ control }: Session) => {
      while (asked < 1_000) {
        asked += 1
        await nextTurn()
        const executionId = (dice.chance(0.8) ? aimedAt.pop() : undefined) ?? dice.pick(ids)
        const outcome = await control.cancel({ tenantId, executionId, message: 'no' })
        answers.push({ executionId, outcome })
      }
    }
    await Promise.all(
      sessions.flatMap((session) => [work(session), cancelSome(session), cancelSome(session)]),
    )
    await work(sessions[0]!)
    await assertWhole(client)

    const { rows } = await client.query<{ execution_id: string; outcome: Outcome }>(
      'SELECT execution_id, outcome FROM attempts WHERE final',
    )
    const ended = new Map(rows.map((row) => [row.execution_id, statusOfOutcome(row.outcome)]))
    assert.deepEqual([rows.length, ended.size], [1_000, 1_000])
    assert.equal(answers.length, 1_000)
    const broken = answers.filter(({ executionId, outcome }) => {
      const said = outcome.kind === 'finished' ? outcome.status : 'CANCELLED'
      return outcome.kind === 'not_found' || ended.get(executionId) !== said
    })
    assert.deepEqual(broken, [])
    const named = new Set(answers.map(({ executionId }) => executionId))
    for (const [executionId, status] of ended) assert(status !== 'CANCELLED' || named.has(executionId))
    const kinds = Object.groupBy(answers, ({ outcome }) => outcome.kind)
    t.diagnostic(
      Object.entries(kinds)
        .map(([kind, some]) => `${kind} ${some!.length}`)
        .join(', '),
    )
    assert(kinds.cancelled !== undefined && kinds.cancelling !== undefined && kinds.finished !== undefined)
  })
}

// A graph of two roots, hammered: roots fire and are triggered, nodes run, fail and are cancelled, workers die, jobs
// are paused, runs are cancelled and resumed, and two processes step them. No deadlock occurs; in the end every run is
// over, and the states of its nodes match the records of their executions.
import assert from 'node:assert/strict'
import test from 'node:test'
import type pg from 'pg'
import { NODE_LETTERS } from '../../src/domain/graphs/graph-run.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { serverRoute } from '../../src/domain/queue/route.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import type { Claimed } from '../../src/ports/queue.ts'
import { makeGraph } from '../conformance/graphs/graph-scenario.ts'
import { pause, resume } from '../conformance/jobs/changes.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole } from './invariants.ts'
import { createPatientRace, hammer, openSession, releaseAll, rollDice, type Session } from './sessions.ts'

const hammerMs = 3_000
const names = ['a', 'r', 'b', 'c', 'd', 'e', 'f']

/** Nodes with a state in the run that differs from the record of their execution, and records that belong to no run. */
async function liesIn(client: pg.Client): Promise<object[]> {
  const { rows } = await client.query(
    `SELECT g.run_id, u.job_id, u.letter, a.outcome, a.skip_reason FROM graph_runs g
    CROSS JOIN LATERAL unnest(g.job_ids, g.execution_ids, string_to_array(g.roles, NULL), string_to_array(g.states, NULL))
      AS u(job_id, execution_id, role, letter)
    LEFT JOIN attempts a ON a.execution_id = u.execution_id AND a.final
    WHERE u.role <> 'o' AND (u.execution_id IS NOT NULL AND a.run_id IS DISTINCT FROM g.run_id
      OR u.letter IS DISTINCT FROM CASE WHEN u.execution_id IS NULL THEN $1::jsonb ->> 'unrun'
        ELSE $1::jsonb ->> coalesce(a.skip_reason, CASE a.outcome WHEN 'lost' THEN 'failed' ELSE a.outcome END) END)`,
    [JSON.stringify(NODE_LETTERS)],
  )
  return rows
}

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: runs of a graph, hammered from eight sessions`, async (t) => {
    const race = await createPatientRace(t, version)
    const { s, client, address } = race
    const dice = rollDice(t)
    const g = await makeGraph(s, 'a r b>a c>a,r:completion d>b,c e>b:failure f>d,e:completion', {
      a: { overlapPolicy: 'BUFFER_ONE' },
      b: { overlapPolicy: 'SKIP' },
      d: { overlapPolicy: 'BUFFER_ALL', concurrencyKey: { key: 'vendor', limit: 1 } },
    })
    const jobIds = names.map((name) => g.jobOf(name).jobId)
    const runIds: string[] = []
    const inFlight = new Map<string, Claimed>()
    let second = 0

    const claim = async ({ queue }: Session, workerId: string) => {
      const order = { workerId, routes: [serverRoute], lanes: [{ lane: sharedLane, count: 5 }], hosts: [] }
      const claimed = await queue.claim({ ...order, batchesMax: 5 })
      inFlight.set(workerId, claimed)
      return claimed
    }
    const finishAll = async ({ queue }: Session, workerId: string, good: boolean) => {
      const { live } = inFlight.get(workerId)!
      inFlight.delete(workerId)
      const ends = live.map(({ executionId, fence, attempt }) => {
        const ending = good || dice.between(0, 3) > 0 ? s.succeeded() : s.failed()
        return { executionId, fence, attempt, ending }
      })
      if (ends.length > 0) await queue.finishLive(workerId, ends)
    }
    const moves = {
      async fire({ slots }: Session) {
        second += 1
        const items = [await g.slotOf('a', second), await g.slotOf('r', second)]
        runIds.push(items[0]!.runId!)
        await slots.fire(dice.between(0, 3) > 0 ? items : items.slice(0, 1))
      },
      async trigger({ jobs, ids }: Session) {
        const { jobId } = g.jobOf(dice.pick(names))
        const executionId = ids.nextBatch()
        const outcome = await jobs.trigger({ tenantId, jobId, executionId, lane: sharedLane })
        if (outcome.kind === 'triggered' && outcome.runId !== null) runIds.push(outcome.runId)
      },
      async step({ runSteps }: Session) {
        await runSteps.step(await runSteps.findNoted(20, true), g.tools)
      },
      async work(session: Session) {
        const workerId = await s.addWorker()
        await claim(session, workerId)
        if (dice.between(0, 4) > 0) await finishAll(session, workerId, false)
        // The worker dies with the executions it holds.
        else await session.maintenance.reclaim({ holderId: workerId, beats: 0 })
      },
      async cancel({ graphRuns }: Session) {
        if (runIds.length > 0) await graphRuns.cancel({ tenantId, runId: dice.pick(runIds), message: 'stop' })
      },
      async cancelNode({ control, graphRuns }: Session) {
        if (runIds.length === 0) return
        const run = await graphRuns.get(tenantId, dice.pick(runIds))
        const executionId = run === null ? null : dice.pick(run.plan).executionId
        if (executionId !== null) await control.cancel({ tenantId, executionId, message: 'no' })
      },
      async resume({ graphRuns }: Session) {
        if (runIds.length > 0) await graphRuns.resume({ tenantId, runId: dice.pick(runIds), ...g.tools })
      },
      async pause({ jobs }: Session) {
        const target = { tenantId, jobId: g.jobOf(dice.pick(['b', 'c', 'e'])).jobId }
        await jobs.change(target, dice.between(0, 1) === 0 ? pause() : resume())
      },
      async release(session: Session) {
        await releaseAll(session, jobIds)
      },
    }
    const sessions = Array.from({ length: 8 }, () => openSession(t, address))
    const [one, two, three, four, five, six, seven, eight] = sessions as [Session, ...Session[]]
    const errors = await hammer(hammerMs, [
      () => moves.step(one),
      () => moves.step(two!),
      () => moves.work(three!),
      () => moves.work(four!),
      () => moves.release(five!),
      () => dice.pick([moves.fire, moves.trigger])(six!),
      () => dice.pick([moves.cancel, moves.cancelNode, moves.pause])(seven!),
      () => dice.pick([moves.resume, moves.trigger])(eight!),
    ])
    assert.deepEqual(errors, [])
    await assertWhole(client)

    for (const name of ['b', 'c', 'e']) await g.edit(name, resume())
    const isOpen = async () => (await client.query('SELECT FROM live LIMIT 1')).rowCount! > 0
    for (let rounds = 0; (await isOpen()) || (await s.runSteps.findNoted(1, true)).length > 0; rounds++) {
      assert(rounds < 500, 'something of a run is stuck')
      const workerId = await s.addWorker()
      await claim(one, workerId)
      await finishAll(one, workerId, true)
      await moves.step(one)
      await moves.release(one)
      // A root that has not fired for a slot is not going to any more.
      await client.query(`UPDATE cursors SET decided_to = clock_ms() WHERE status = 'ACTIVE' AND NOT depends`)
    }
    const left = await client.query('SELECT run_id FROM run_roots UNION ALL SELECT run_id FROM run_notes')
    assert.deepEqual(left.rows, [])
    assert.deepEqual(await liesIn(client), [])
    await assertWhole(client)
    const { rows } = await client.query(
      'SELECT status, count(*)::int, sum(resumes)::int FROM graph_runs GROUP BY status',
    )
    t.diagnostic(JSON.stringify(rows))
    assert(rows.length > 0, 'no run has ended')
  })
}

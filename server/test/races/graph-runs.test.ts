// step×step, step×finish, step×cancel, step×trigger, resume×resume, and steps that are cut off: each node goes once, each run
// ends once, and nothing that happened meanwhile is lost.
import assert from 'node:assert/strict'
import test from 'node:test'
import type pg from 'pg'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { defaultTenantId } from '../../src/domain/tenants/tenant.ts'
import { Unavailable } from '../../src/lib/unavailable.ts'
import type { Transactions } from '../../src/postgres/connection/database.ts'
import {
  letNodesGo,
  lockMembers,
  lockNodes,
  selectNotes,
  skipNodes,
  writeRuns,
} from '../../src/postgres/graphs/advance-runs.sql.ts'
import { reviveRun } from '../../src/postgres/graphs/resume-run.sql.ts'
import { PostgresRunSteps } from '../../src/postgres/graphs/run-steps.ts'
import { claimStarts, insertRuns } from '../../src/postgres/graphs/start-runs.sql.ts'
import { insertTriggers } from '../../src/postgres/jobs/triggers.sql.ts'
import { cancelLiveById } from '../../src/postgres/queue/cancel.sql.ts'
import { finishLive } from '../../src/postgres/queue/queue.sql.ts'
import { type GraphScene, makeGraph } from '../conformance/graphs/graph-scenario.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole } from './invariants.ts'
import { createRace, type Race, type Session } from './sessions.ts'

const nothing = { ready: 0, waiting: false, cancelled: false, over: [] }

/** How often each job of a graph has run or been skipped, by name; nothing else is left of its runs. */
async function recordOf(client: pg.Client): Promise<Record<string, string>> {
  const left = await client.query(
    `SELECT 'note' FROM run_notes UNION ALL SELECT 'root' FROM run_roots
    UNION ALL SELECT 'live' FROM live WHERE run_id IS NOT NULL
    UNION ALL SELECT 'open' FROM graph_runs WHERE finished_at IS NULL`,
  )
  assert.deepEqual(left.rows, [])
  const { rows } = await client.query<{ name: string; outcomes: string }>(
    `SELECT j.name, string_agg(a.outcome, ' ' ORDER BY a.outcome) AS outcomes
    FROM attempts a JOIN jobs j USING (job_id) GROUP BY j.name ORDER BY j.name`,
  )
  return Object.fromEntries(rows.map(({ name, outcomes }) => [name, outcomes]))
}

/** A diamond of which the root has succeeded, and nobody has looked at that. */
async function createDiamond(race: Race, changes: Parameters<typeof makeGraph>[2] = {}) {
  const g = await makeGraph(race.s, 'a b>a c>a d>b,c', changes)
  const runId = await g.trigger('a')
  await g.step()
  await g.end(runId, 'a')
  return { g, runId }
}

async function runOut(g: GraphScene, runId: string, names: readonly string[]): Promise<void> {
  for (const name of names) await g.finish(runId, name)
}

const stepBy = ({ runSteps }: Pick<Session, 'runSteps'>, g: GraphScene, runId: string) =>
  runSteps.step([runId], g.tools).then(({ settled: _settled, ...stepped }) => stepped)

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: of two processes that step a run one does it, and the other does not wait`, async (t) => {
    const race = await createRace(t, version)
    const { g, runId } = await createDiamond(race)
    const held = race.first.holdAfter(letNodesGo)
    const first = stepBy(race.first, g, runId)
    await held.reached
    assert.deepEqual(await stepBy(race.second, g, runId), nothing)
    held.resume()
    assert.equal((await first).ready, 2)
    assert.deepEqual(await stepBy(race.second, g, runId), nothing)
    await runOut(g, runId, ['b', 'c', 'd'])
    await assertWhole(race.client)
    const once = 'succeeded'
    assert.deepEqual(await recordOf(race.client), { a: once, b: once, c: once, d: once })
  })

  test(`PostgreSQL ${version}: of two processes that come to make a run one does`, async (t) => {
    const race = await createRace(t, version)
    const g = await makeGraph(race.s, 'a b>a c>b')
    const runId = await g.trigger('a')
    const held = race.first.holdAfter(insertRuns)
    const first = stepBy(race.first, g, runId)
    await held.reached
    assert.deepEqual(await stepBy(race.second, g, runId), nothing)
    assert.equal(await race.s.graphRuns.get(defaultTenantId, runId), null)
    held.resume()
    await first
    assert.deepEqual(await g.states(runId), { a: 'going', b: 'blocked', c: 'blocked' })
    await runOut(g, runId, ['a', 'b', 'c'])
    assert.deepEqual(await recordOf(race.client), { a: 'succeeded', b: 'succeeded', c: 'succeeded' })
  })

  test(`PostgreSQL ${version}: one process makes a run, also when the other looked before it was done`, async (t) => {
    const race = await createRace(t, version)
    const g = await makeGraph(race.s, 'a b>a')
    const runId = await g.trigger('a')
    const held = race.first.holdBefore(claimStarts)
    const first = stepBy(race.first, g, runId)
    await held.reached
    await stepBy(race.second, g, runId)
    const before = await g.get(runId)
    held.resume()
    assert.deepEqual(await first, nothing)
    assert.deepEqual(await g.get(runId), before)
    await runOut(g, runId, ['a', 'b'])
    assert.deepEqual(await recordOf(race.client), { a: 'succeeded', b: 'succeeded' })
  })

  test(`PostgreSQL ${version}: an execution that ends while its run is stepped is seen by the next step`, async (t) => {
    const race = await createRace(t, version)
    const { g, runId } = await createDiamond(race)
    await g.step()
    await g.end(runId, 'b')
    const held = race.first.holdAfter(selectNotes)
    const first = stepBy(race.first, g, runId)
    await held.reached
    // A writer that ends an execution waits for nobody; a second step leaves the run, and the notes on it, alone.
    await g.end(runId, 'c')
    assert.deepEqual(await stepBy(race.second, g, runId), nothing)
    held.resume()
    assert.equal((await first).ready, 0)
    assert.deepEqual(await race.s.runSteps.findNoted(10, false), [runId])
    assert.equal((await g.step()).ready, 1)
    await runOut(g, runId, ['d'])
    assert.equal((await recordOf(race.client))['d'], 'succeeded')
  })

  test(`PostgreSQL ${version}: an execution with an uncommitted end is not missed either`, async (t) => {
    const race = await createRace(t, version)
    const { g, runId } = await createDiamond(race)
    await g.step()
    await g.end(runId, 'b')
    const { executionId, fence, attempt } = await g.claim(runId, 'c')
    const held = race.first.holdAfter(finishLive)
    const report = { executionId, fence, attempt, ending: race.s.succeeded() }
    const finish = race.first.queue.finishLive(g.workerId, [report])
    await held.reached
    assert.equal((await g.step()).ready, 0)
    held.resume()
    await finish
    assert.equal((await g.step()).ready, 1)
    await runOut(g, runId, ['d'])
    assert.equal((await recordOf(race.client))['d'], 'succeeded')
  })

  test(`PostgreSQL ${version}: a cancel that comes while nodes are let go stops them`, async (t) => {
    const race = await createRace(t, version)
    const { g, runId } = await createDiamond(race)
    const held = race.first.holdAfter(letNodesGo)
    const first = stepBy(race.first, g, runId)
    await held.reached
    const target = { tenantId: defaultTenantId, runId, message: 'stop' }
    const cancel = race.second.graphRuns.cancel(target)
    await race.waiting()
    held.resume()
    assert.equal((await first).ready, 2)
    assert.equal((await cancel).kind, 'cancelled')
    assert.deepEqual(await g.running(), [])
    await assertWhole(race.client)
    const gone = 'cancelled'
    assert.deepEqual(await recordOf(race.client), { a: 'succeeded', b: gone, c: gone, d: gone })
  })

  test(`PostgreSQL ${version}: while a run is being cancelled nobody lets a node of it go`, async (t) => {
    const race = await createRace(t, version)
    const { g, runId } = await createDiamond(race)
    const held = race.first.holdAfter(cancelLiveById)
    const target = { tenantId: defaultTenantId, runId, message: 'stop' }
    const cancel = race.first.graphRuns.cancel(target)
    await held.reached
    assert.deepEqual(await stepBy(race.second, g, runId), nothing)
    held.resume()
    assert.equal((await cancel).kind, 'cancelled')
    assert.deepEqual(await g.step(), nothing)
    const gone = 'cancelled'
    assert.deepEqual(await recordOf(race.client), { a: 'succeeded', b: gone, c: gone, d: gone })
  })

  for (const how of ['go', 'skip'] as const) {
    test(`PostgreSQL ${version}: a node that a person cancels as it is to ${how} ends once`, async (t) => {
      const race = await createRace(t, version)
      const g = await makeGraph(race.s, 'a b>a c>b')
      const runId = await g.trigger('a')
      await g.step()
      await g.end(runId, 'a', how === 'go' ? 'succeeded' : 'failed')
      const held = race.first.holdBefore(lockNodes)
      const first = stepBy(race.first, g, runId)
      await held.reached
      assert.equal(await g.cancelNode(runId, 'b'), 'cancelled')
      held.resume()
      assert.deepEqual((await first).over, [])
      const { over } = await g.step()
      assert.deepEqual(over, [how === 'go' ? 'CANCELLED' : 'FAILED'])
      assert.equal((await g.states(runId))['b'], 'cancelled')
      await assertWhole(race.client)
      const { b, c } = await recordOf(race.client)
      assert.deepEqual([b, c], ['cancelled', 'skipped'])
    })
  }

  test(`PostgreSQL ${version}: a node that a person cancels after it was locked is skipped, and not cancelled too`, async (t) => {
    const race = await createRace(t, version)
    const g = await makeGraph(race.s, 'a b>a')
    const runId = await g.trigger('a')
    await g.step()
    await g.end(runId, 'a', 'failed')
    const executionId = await g.executionOf(runId, 'b')
    const held = race.first.holdAfter(skipNodes)
    const first = stepBy(race.first, g, runId)
    await held.reached
    const cancel = race.second.control.cancel({ tenantId: defaultTenantId, executionId, message: 'no' })
    await race.waiting()
    held.resume()
    assert.deepEqual((await first).over, ['FAILED'])
    assert.deepEqual(await cancel, { kind: 'finished', status: 'SKIPPED' })
    assert.deepEqual(await recordOf(race.client), { a: 'failed', b: 'skipped' })
  })

  test(`PostgreSQL ${version}: a trigger of a node's job that comes as the node goes waits for it`, async (t) => {
    const race = await createRace(t, version)
    const { g, runId } = await createDiamond(race, { b: { overlapPolicy: 'SKIP' } })
    const held = race.first.holdAfter(lockMembers)
    const first = stepBy(race.first, g, runId)
    await held.reached
    const { tenantId, jobId } = g.jobOf('b')
    const executionId = race.s.ids.nextBatch()
    const trigger = race.second.jobs.trigger({ tenantId, jobId, executionId, lane: sharedLane })
    await race.waiting()
    held.resume()
    assert.equal((await first).ready, 2)
    await trigger
    assert.deepEqual(await g.running(), ['b', 'c'])
    assert.equal(await race.s.statusOf(executionId), 'PENDING')
    await assertWhole(race.client)
  })

  test(`PostgreSQL ${version}: a node that goes as its job is triggered waits for that`, async (t) => {
    const race = await createRace(t, version)
    const { g, runId } = await createDiamond(race, { b: { overlapPolicy: 'SKIP' } })
    const { tenantId, jobId } = g.jobOf('b')
    const executionId = race.s.ids.nextBatch()
    const held = race.first.holdAfter(insertTriggers)
    const trigger = race.first.jobs.trigger({ tenantId, jobId, executionId, lane: sharedLane })
    await held.reached
    const second = stepBy(race.second, g, runId)
    await race.waiting()
    held.resume()
    await trigger
    const { ready, waiting } = await second
    assert.deepEqual([ready, waiting], [1, true])
    assert.deepEqual(await g.running(), ['b', 'c'])
    assert.equal((await g.node(runId, 'b')).status, 'PENDING')
    await assertWhole(race.client)
  })

  test(`PostgreSQL ${version}: two resumes of the same run: only one takes effect`, async (t) => {
    const race = await createRace(t, version)
    const { g, runId } = await createDiamond(race)
    await g.step()
    await g.end(runId, 'b', 'failed')
    await g.finish(runId, 'c')
    const held = race.first.holdAfter(reviveRun)
    const order = { tenantId: defaultTenantId, runId, ...g.tools }
    const first = race.first.graphRuns.resume(order)
    await held.reached
    const second = race.second.graphRuns.resume(order)
    await race.waiting()
    held.resume()
    assert.equal((await first).kind, 'resumed')
    assert.deepEqual(await second, { kind: 'not_finished', status: 'RUNNING' })
    await runOut(g, runId, ['b', 'd'])
    const { b, c, d } = await recordOf(race.client)
    assert.deepEqual([b, c, d], ['failed succeeded', 'succeeded', 'skipped succeeded'])
  })

  test(`PostgreSQL ${version}: of a resume and a fire of its root, which allows no overlaps, one waits for the other`, async (t) => {
    const race = await createRace(t, version)
    const { g, runId } = await createDiamond(race, { a: { overlapPolicy: 'SKIP' } })
    await g.step()
    await g.end(runId, 'b', 'failed')
    await g.finish(runId, 'c')
    const held = race.first.holdAfter(insertTriggers)
    const { tenantId, jobId } = g.jobOf('a')
    const executionId = race.s.ids.nextBatch()
    const trigger = race.first.jobs.trigger({ tenantId, jobId, executionId, lane: sharedLane })
    await held.reached
    const resume = race.second.graphRuns.resume({ tenantId, runId, ...g.tools })
    await race.waiting()
    held.resume()
    await trigger
    assert.deepEqual(await resume, { kind: 'overlap', jobId, runId: executionId, executionId: null })
  })

  test(`PostgreSQL ${version}: a step that is cut off before it is committed has done nothing`, async (t) => {
    const race = await createRace(t, version)
    const { g, runId } = await createDiamond(race)
    const before = await g.get(runId)
    const held = race.first.holdAfter(writeRuns)
    const first = stepBy(race.first, g, runId)
    await held.reached
    const killed = assert.rejects(first, Unavailable)
    await race.client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND state = 'idle in transaction'`,
    )
    held.resume()
    await killed
    assert.deepEqual(await g.get(runId), before)
    assert.equal((await stepBy(race.second, g, runId)).ready, 2)
    await runOut(g, runId, ['b', 'c', 'd'])
    const once = 'succeeded'
    assert.deepEqual(await recordOf(race.client), { a: once, b: once, c: once, d: once })
  })

  test(`PostgreSQL ${version}: a step with a lost reply may be repeated, and so may the creation of a run`, async (t) => {
    const race = await createRace(t, version)
    const { database } = race.first
    const deaf: Transactions = {
      isNested: false,
      query: (statement, values) => database.query(statement, values),
      async transaction(work) {
        await database.transaction(work)
        throw new Unavailable('the database')
      },
    }
    const steps = new PostgresRunSteps(deaf)
    const g = await makeGraph(race.s, 'a b>a c>a d>b,c')
    const runId = await g.trigger('a')
    for (const names of [['a'], ['b', 'c'], ['d']]) {
      await assert.rejects(steps.step([runId], g.tools), Unavailable)
      assert.deepEqual(await stepBy(race.second, g, runId), nothing)
      assert.deepEqual(await g.running(), names)
      for (const name of names) await g.end(runId, name)
    }
    await assert.rejects(steps.step([runId], g.tools), Unavailable)
    const once = 'succeeded'
    assert.deepEqual(await recordOf(race.client), { a: once, b: once, c: once, d: once })
  })
}

// fire×fire, fire×edge, trigger×end, release×end of runs: roots that start one run wait for nobody, none starts a run of a
// graph that it is no longer in, and nothing of a root goes beside a run that goes on, nor is left behind one that ended.
import assert from 'node:assert/strict'
import test from 'node:test'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import { writeRuns } from '../../src/postgres/graphs/advance-runs.sql.ts'
import { writeGraph } from '../../src/postgres/graphs/job-graph.sql.ts'
import { dropNotes } from '../../src/postgres/graphs/start-runs.sql.ts'
import { insertTriggers } from '../../src/postgres/jobs/triggers.sql.ts'
import { noteSuperseded, releaseWaiting, selectReleasable } from '../../src/postgres/queue/maintenance.sql.ts'
import { fireSlots } from '../../src/postgres/scheduling/fire-slots.sql.ts'
import {
  createAfter,
  createPair,
  inRunOf,
  runOn,
  stepRuns,
  toolsOf,
} from '../conformance/graphs/run-scene.ts'
import { createScenario, type Scenario } from '../conformance/scenario.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole, placesOf } from './invariants.ts'
import { createRace, type Race, releaseAll, type Session } from './sessions.ts'

/** A pair of jobs with a run in which everything has ended and only the last step is missing. */
async function createEnded(s: Scenario, changes: Partial<NewJob> = {}) {
  const pair = await createPair(s, changes)
  await s.fire(pair.root, 0, pair.inRun(0))
  await runOn(s)
  await stepRuns(s)
  await s.runAll()
  return pair
}

async function stepOnce({ runSteps, ids }: Session) {
  return runSteps.step(await runSteps.findNoted(10, false), toolsOf(ids))
}

const releaseOf = async (session: Session, { jobId }: NewJob) => (await releaseAll(session, [jobId])).ready

async function answersOf(session: Session, s: Scenario, job: NewJob, second: number, changes: object) {
  return (await session.slots.fire([s.slotOf(job, second, changes)])).map(({ answer }) => answer)
}

function triggerOf({ jobs }: Session, { tenantId, jobId }: NewJob, executionId: string) {
  return jobs.trigger({ tenantId, jobId, executionId, lane: sharedLane })
}

/** Nothing that belongs to a run is left. */
async function assertOver({ client }: Race): Promise<void> {
  const { rows } = await client.query(`
    SELECT (SELECT count(*)::int FROM run_notes) AS notes, (SELECT count(*)::int FROM run_roots) AS roots,
      (SELECT count(*)::int FROM graph_runs WHERE finished_at IS NULL) AS runs`)
  assert.deepEqual(rows, [{ notes: 0, roots: 0, runs: 0 }])
}

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: fire×fire: two roots start one run, and neither waits for the other`, async (t) => {
    const race = await createRace(t, version)
    const { s, first, second, client } = race
    const roots = [await s.createJob(), await s.createJob()] as const
    const child = await createAfter(s, roots)
    const inRun = inRunOf(s, ...roots, child)
    const held = first.holdAfter(fireSlots)
    const firing = first.slots.fire([s.slotOf(roots[0], 1, inRun(1))])
    await held.reached
    assert.deepEqual(await answersOf(second, s, roots[1], 1, inRun(1)), [])
    await stepOnce(second)
    held.resume()
    assert.deepEqual(await firing, [])
    await stepRuns(s)
    const { rows } = await client.query('SELECT run_id FROM graph_runs')
    assert.deepEqual(rows, [{ run_id: inRun(1).runId }])
    await runOn(s)
    const { live } = await s.claim(await s.addWorker())
    assert.deepEqual(
      live.map(({ jobId, runId }) => [jobId, runId]),
      [[child.jobId, inRun(1).runId]],
    )
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: drop×fire: a root that fires while the leftover notes of an unknown run are dropped starts the run`, async (t) => {
    const race = await createRace(t, version)
    const { s, first, second, client } = race
    const { root, inRun } = await createPair(s)
    const { runId } = inRun(1)
    await client.query(
      `INSERT INTO run_notes (run_id, what, job_id, execution_id, at) VALUES ($1, 'end', $2, $3, clock_ms())`,
      [runId, root.jobId, s.ids.next()],
    )
    const held = first.holdBefore(dropNotes)
    const stepping = stepOnce(first)
    await held.reached
    assert.deepEqual(await answersOf(second, s, root, 1, inRun(1)), [])
    held.resume()
    await stepping
    await stepRuns(s)
    const { rows } = await client.query('SELECT run_id, status FROM graph_runs')
    assert.deepEqual(rows, [{ run_id: runId, status: 'RUNNING' }])
    for (let hops = 0; hops < 3; hops++) await runOn(s)
    await assertOver(race)
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: edge×fire: a root that gets its graph meanwhile fires into a run of it`, async (t) => {
    const race = await createRace(t, version)
    const { s, first, second, client } = race
    const root = await s.createJob()
    const held = first.holdAfter(writeGraph)
    const creating = createAfter(await createScenario({ ...s, jobs: first.jobs }), [root])
    await held.reached
    assert.deepEqual(await answersOf(second, s, root, 1, {}), ['busy'])
    held.resume()
    const inRun = inRunOf(s, root, await creating)
    assert.deepEqual(await answersOf(second, s, root, 1, {}), ['stale'])
    assert.deepEqual(await answersOf(second, s, root, 1, inRun(1)), [])
    for (let hops = 0; hops < 3; hops++) await runOn(s)
    await assertOver(race)
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: fire×edge: an execution fired before its job was a root runs alone`, async (t) => {
    const race = await createRace(t, version)
    const { s, first, second, client, waiting } = race
    const root = await s.createJob()
    const held = first.holdAfter(fireSlots)
    const firing = first.slots.fire([s.slotOf(root, 1)])
    await held.reached
    const creating = createAfter(await createScenario({ ...s, jobs: second.jobs }), [root])
    await waiting()
    held.resume()
    assert.deepEqual(await firing, [])
    const child = await creating
    await runOn(s)
    assert.equal((await s.list(child)).total, 0)
    await assertOver(race)
    assert.deepEqual(await answersOf(second, s, root, 2, {}), ['stale'])
    assert.deepEqual(await answersOf(second, s, root, 2, inRunOf(s, root, child)(2)), [])
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: end×trigger: a trigger that does not see the end yet waits, and then goes`, async (t) => {
    const race = await createRace(t, version)
    const { s, first, second, client } = race
    const { root } = await createEnded(s)
    const held = first.holdAfter(writeRuns)
    const ending = stepOnce(first)
    await held.reached
    const executionId = s.ids.next()
    await triggerOf(second, root, executionId)
    assert.equal((await placesOf(client))[executionId], 'waiting')
    assert.equal(await releaseOf(second, root), 0)
    held.resume()
    assert.deepEqual((await ending).over, ['SUCCEEDED'])
    assert.equal(await releaseOf(second, root), 1)
    for (let hops = 0; hops < 3; hops++) await runOn(s)
    await assertOver(race)
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: trigger×end: a run ends while a trigger decides, which goes afterwards`, async (t) => {
    const race = await createRace(t, version)
    const { s, first, second, client } = race
    const { root } = await createEnded(s)
    const executionId = s.ids.next()
    const held = first.holdAfter(insertTriggers)
    const triggering = triggerOf(first, root, executionId)
    await held.reached
    assert.deepEqual((await stepOnce(second)).over, ['SUCCEEDED'])
    held.resume()
    await triggering
    assert.equal((await placesOf(client))[executionId], 'waiting')
    assert.equal(await releaseOf(second, root), 1)
    for (let hops = 0; hops < 3; hops++) await runOn(s)
    await assertOver(race)
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: end×release: a buffered slot goes once the end of the run is there to see`, async (t) => {
    const race = await createRace(t, version)
    const { s, first, second, client } = race
    const { root, inRun } = await createEnded(s, { overlapPolicy: 'BUFFER_ONE' })
    assert.equal(await s.tryFire(root, 1, inRun(1)), 'buffered')
    const held = first.holdAfter(writeRuns)
    const ending = stepOnce(first)
    await held.reached
    assert.equal(await releaseOf(second, root), 0)
    held.resume()
    await ending
    assert.equal(await releaseOf(second, root), 1)
    assert.equal(await releaseOf(first, root), 0)
    await assertWhole(client)
  })

  for (const statement of [selectReleasable, releaseWaiting]) {
    test(`PostgreSQL ${version}: release×release: a buffered slot goes once behind a run (held after ${statement.name})`, async (t) => {
      const race = await createRace(t, version)
      const { s, first, second, client } = race
      const { root, inRun } = await createEnded(s, { overlapPolicy: 'BUFFER_ALL' })
      for (const at of [1, 2]) assert.equal(await s.tryFire(root, at, inRun(at)), 'buffered')
      await stepOnce(second)
      const held = first.holdAfter(statement)
      const releasing = releaseOf(first, root)
      await held.reached
      assert.equal(await releaseOf(second, root), 0)
      held.resume()
      assert.equal(await releasing, 1)
      assert.equal(await releaseOf(second, root), 0, 'the next waits for its run')
      await assertWhole(client)
    })
  }

  test(`PostgreSQL ${version}: release×end: a run that ends while it is looked at lets the slot go the next time`, async (t) => {
    const race = await createRace(t, version)
    const { s, first, second, client } = race
    const { root, inRun } = await createEnded(s, { overlapPolicy: 'BUFFER_ONE' })
    assert.equal(await s.tryFire(root, 1, inRun(1)), 'buffered')
    const held = first.holdAfter(selectReleasable)
    const releasing = releaseOf(first, root)
    await held.reached
    await stepOnce(second)
    held.resume()
    assert.equal(await releasing, 0)
    assert.equal(await releaseOf(first, root), 1)
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: cancel×end: the cancel of a run that has just ended changes nothing in it`, async (t) => {
    const race = await createRace(t, version)
    const { s, first, second, client } = race
    const { root, inRun } = await createEnded(s, { overlapPolicy: 'CANCEL_RUNNING' })
    assert.equal(await s.tryFire(root, 1, inRun(1)), 'buffered')
    const held = first.holdAfter(noteSuperseded)
    const releasing = releaseOf(first, root)
    await held.reached
    assert.deepEqual((await stepOnce(second)).over, ['SUCCEEDED'])
    held.resume()
    assert.equal(await releasing, 0)
    await stepRuns(s)
    assert.equal((await s.graphRuns.get(root.tenantId, inRun(0).runId!))!.status, 'SUCCEEDED')
    assert.equal(await releaseOf(first, root), 1)
    for (let hops = 0; hops < 3; hops++) await runOn(s)
    await assertOver(race)
    await assertWhole(client)
  })
}

// Roots and notes at the boundaries of a run: notes from before the end of a run do not affect it when it is resumed,
// and a root that leaves a run for a run of its own does so regardless of concurrent changes to it.
import assert from 'node:assert/strict'
import test from 'node:test'
import { lockNodes, moveRoots, selectNotes } from '../../src/postgres/graphs/advance-runs.sql.ts'
import { finishLive } from '../../src/postgres/queue/queue.sql.ts'
import { makeGraph } from '../conformance/graphs/graph-scenario.ts'
import { edit, pause, resume } from '../conformance/jobs/changes.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole } from './invariants.ts'
import { createRace, type Race, releaseAll } from './sessions.ts'

/** Two roots have fired for a slot, and one of them has left the graph before anybody has made the run. */
async function createSplit({ s }: Race) {
  const g = await makeGraph(s, 'a b c>a d>b e>c,d')
  const executionId = s.ids.nextBatch()
  const runId = await g.fire('a', 0)
  await g.fire('b', 0, { executionId })
  const dependsOn = [{ jobId: g.jobOf('c').jobId, on: 'success' }] as const
  await g.depend('e', edit({ dependsOn }), dependsOn)
  return { g, runId, executionId }
}

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: a cancel that is noted while a run ends does not end it again when it is resumed`, async (t) => {
    const race = await createRace(t, version)
    const { s, first, second, client } = race
    const g = await makeGraph(s, 'a b>a', { a: { overlapPolicy: 'CANCEL_RUNNING' } })
    const { jobId } = g.jobOf('a')
    const runId = await g.fire('a', 0)
    await g.step()
    await g.finish(runId, 'a')
    await g.end(runId, 'b', 'failed')
    const held = first.holdAfter(selectNotes)
    const stepping = first.runSteps.step([runId], g.tools)
    await held.reached
    // The next slot supersedes a run of which all has ended, and nobody has said so yet.
    const next = await g.slotOf('a', 1)
    await s.slots.fire([next])
    await releaseAll(second, [jobId])
    held.resume()
    assert.deepEqual((await stepping).over, ['FAILED'])
    await first.runSteps.step([next.runId!], g.tools)
    await releaseAll(second, [jobId])
    for (const name of ['a', 'b']) {
      await g.end(next.runId!, name)
      await first.runSteps.step([next.runId!], g.tools)
    }
    const noted = await client.query('SELECT what FROM run_notes WHERE run_id = $1', [runId])
    assert.deepEqual(noted.rows, [{ what: 'cancel' }])
    assert.equal((await g.resume(runId)).kind, 'resumed')
    await g.step()
    assert.equal((await g.get(runId)).status, 'RUNNING')
    assert.deepEqual((await g.finish(runId, 'b')).over, ['SUCCEEDED'])
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: a run that is resumed before anybody has read that a root came too late keeps its own root`, async (t) => {
    const race = await createRace(t, version)
    const { s, client } = race
    const g = await makeGraph(s, 'a b c>a d>a,b')
    const [a, b] = [g.jobOf('a').jobId, g.jobOf('b').jobId]
    const { slotAt } = await g.edit('b', pause())
    const at = (slotAt! - s.at(0)) / 1_000
    const runId = await g.fire('a', at, { dueAt: s.at(0) })
    await g.step()
    await g.finish(runId, 'a')
    await g.finish(runId, 'c', 'failed')
    assert.equal((await g.states(runId))['b'], 'unrun')
    await g.edit('b', resume(slotAt!))
    const executionId = s.ids.nextBatch()
    assert.equal(await g.fire('b', at, { executionId, dueAt: s.at(0) }), runId)
    assert.equal((await g.resume(runId)).kind, 'resumed')
    const again = await g.executionOf(runId, 'b')
    const roots = async () => {
      const { rows } = await client.query('SELECT * FROM run_roots ORDER BY job_id, execution_id')
      return rows.map((row) => [row.job_id, row.run_id, row.execution_id])
    }
    const all = [
      [a, runId, await g.executionOf(runId, 'a')],
      [b, executionId, executionId],
      [b, runId, again],
    ]
    assert.deepEqual(await roots(), all)
    await g.step()
    assert.deepEqual(await roots(), all)
    for (let hops = 0; hops < 3; hops++) {
      await s.runAll()
      await g.step()
    }
    assert.deepEqual(await roots(), [])
    assert.deepEqual(
      [(await g.get(runId)).status, (await g.get(executionId)).status],
      ['SUCCEEDED', 'SUCCEEDED'],
    )
    // Not assertWhole: it wants every retry to lead to the execution it repeats, and a root that had never fired
    // repeats nothing.
  })

  test(`PostgreSQL ${version}: a root that ended hours before its run was made keeps payload and key when that is resumed`, async (t) => {
    const race = await createRace(t, version)
    const { s, client } = race
    const g = await makeGraph(s, 'a b>a')
    const runId = await g.trigger('a', { payloadOverride: { day: 'monday' } })
    const workerId = await s.addWorker()
    const { live } = await s.claim(workerId)
    await s.finishLive(workerId, live[0]!, s.failed())
    await g.step()
    assert.equal((await g.get(runId)).status, 'FAILED')
    // The schedulers were down for two hours, workers and API were not; and its dead letter was dropped.
    await client.query(
      `UPDATE graph_runs SET created_at = created_at + interval '2 hours', finished_at = finished_at + interval '2 hours'`,
    )
    await client.query('DELETE FROM dead_letters')
    assert.equal((await g.resume(runId)).kind, 'resumed')
    const { rows } = await client.query(
      `SELECT payload_override, idempotency_key FROM live WHERE kind = 'retry'`,
    )
    assert.deepEqual(rows[0].payload_override, { day: 'monday' })
    assert.notEqual(rows[0].idempotency_key, null)
  })

  for (const statement of [lockNodes, moveRoots]) {
    test(`PostgreSQL ${version}: a root that ends while it leaves a run has ended in its own (held before ${statement.name})`, async (t) => {
      const race = await createRace(t, version)
      const { s, first, client, waiting } = race
      const { g, runId, executionId } = await createSplit(race)
      const workerId = await s.addWorker()
      const { live } = await s.claim(workerId)
      const root = live.find((one) => one.executionId === executionId)!
      const held = first.holdBefore(statement)
      const stepping = first.runSteps.step([runId], g.tools)
      await held.reached
      const finishing = s.finishLive(workerId, root, s.succeeded())
      // The finish waits for the move of the root, once that has locked it.
      if (statement === moveRoots) await waiting()
      else await finishing
      held.resume()
      await stepping
      await finishing
      await g.step()
      assert.deepEqual(await g.states(executionId), { b: 'succeeded', d: 'going' })
      assert.equal((await s.view(executionId)).runId, executionId)
      await assertWhole(client)
    })
  }

  test(`PostgreSQL ${version}: a root that is being finished when it leaves a run is waited for`, async (t) => {
    const race = await createRace(t, version)
    const { s, first, second, client, waiting } = race
    const { g, runId, executionId } = await createSplit(race)
    const workerId = await s.addWorker()
    const { live } = await s.claim(workerId)
    const { fence, attempt } = live.find((one) => one.executionId === executionId)!
    const held = first.holdAfter(finishLive)
    const report = { executionId, fence, attempt, ending: s.succeeded() }
    const finishing = first.queue.finishLive(workerId, [report])
    await held.reached
    const stepping = second.runSteps.step([runId], g.tools)
    await waiting()
    held.resume()
    await finishing
    await stepping
    await g.step()
    assert.deepEqual(await g.states(executionId), { b: 'succeeded', d: 'going' })
    assert.equal((await s.view(executionId)).runId, executionId)
    await assertWhole(client)
  })
}

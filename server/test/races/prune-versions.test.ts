// Versions that are pruned while an execution or a graph run is about to name them.
import assert from 'node:assert/strict'
import test from 'node:test'
import { versionsAnEdit } from '../../src/domain/jobs/kept-versions.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import { selectGraphs } from '../../src/postgres/graphs/start-runs.sql.ts'
import { insertTriggers } from '../../src/postgres/jobs/triggers.sql.ts'
import { createAfter, stepRuns } from '../conformance/graphs/run-scene.ts'
import { change, edit } from '../conformance/jobs/changes.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { createRace, type Race } from './sessions.ts'

const execution = {
  type: 'http',
  callback_url: 'https://example.com/report',
  method: 'POST',
  headers: {},
  payload: { for: 'sales' },
  timeout_seconds: 30,
} as const

async function whole({ client }: Race, { jobId }: NewJob): Promise<number[]> {
  const { rows } = await client.query<{ version: number }>(
    `SELECT version FROM job_versions WHERE job_id = $1 AND pruned_at IS NULL ORDER BY version`,
    [jobId],
  )
  return rows.map(({ version }) => version)
}

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: an edit that prunes waits for the trigger of the version before it`, async (t) => {
    const given = await createRace(t, version)
    const { s, client, first, second, waiting } = given
    const job = await s.createJob({ execution })
    const { tenantId, jobId } = job
    const current = versionsAnEdit - 1
    await client.query(
      `INSERT INTO job_versions (job_id, version, tenant_id, name, tags, schedule, anchor_at, execution, retry_policy, priority,
         overlap_policy, misfire_policy, metadata, jitter_seconds, route, own_rows, created_at)
       SELECT job_id, n, tenant_id, name, tags, schedule, anchor_at, execution, retry_policy, priority, overlap_policy,
         misfire_policy, metadata, jitter_seconds, route, own_rows, clock_ms()
       FROM job_versions, generate_series(2, $2::int) n WHERE job_id = $1`,
      [jobId, current],
    )
    await client.query('UPDATE jobs SET version = $2 WHERE job_id = $1', [jobId, current])
    await client.query('UPDATE cursors SET version = $2 WHERE job_id = $1', [jobId, current])
    const held = first.holdAfter(insertTriggers)
    const order = { tenantId, jobId, executionId: first.ids.next(), lane: sharedLane }
    const triggered = first.jobs.trigger(order)
    await held.reached
    const edited = change(second, job, edit({ name: 'the thousandth' }))
    await waiting()
    held.resume()
    assert.equal((await triggered).kind, 'triggered')
    assert.equal((await edited).version, versionsAnEdit)
    assert.deepEqual(await whole(given, job), [current, versionsAnEdit])
  })

  test(`PostgreSQL ${version}: a version is left alone while a graph run that pins it starts`, async (t) => {
    const given = await createRace(t, version)
    const { s, client, first, second } = given
    const root = await s.createJob({ execution })
    const child = await createAfter(s, [root], { execution })
    await s.trigger(root)
    const held = first.holdAfter(selectGraphs)
    const started = stepRuns(first)
    await held.reached
    await change(second, child, edit({ name: 'another' }))
    // As if an earlier change of the job were due.
    await client.query(`UPDATE version_notes SET due_at = due_at - interval '1 hour'`)
    assert.equal(await second.jobVersions.prune(100), 1)
    held.resume()
    await started
    await client.query(`UPDATE version_notes SET due_at = due_at - interval '1 week'`)
    await second.jobVersions.prune(100, 0)
    assert.deepEqual(await whole(given, child), [1, 2])
  })
}

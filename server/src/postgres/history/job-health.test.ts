// Tests how jobs go on every store; and that the fold is the rule of the domain, in spans of any length.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { testJobHealth } from '../../../test/conformance/history/job-health.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'
import { useDatabase } from '../../../test/database.ts'
import { addEnded, type EndedExecution, type JobHealth } from '../../domain/jobs/job-health.ts'
import type { Outcome } from '../../domain/queue/execution.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import { RollupFold } from '../../history/fold-rollups.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import type { Database } from '../connection/database.ts'
import { pruneNextJob } from '../jobs/prune-versions.ts'
import { PostgresJobHealth } from './job-health.ts'
import { PostgresRollups } from './rollups.ts'

testOnStores(testJobHealth)

const jobIds = Array.from({ length: 5 }, (_, n) => `0192abcd-ef01-7000-8000-00000000000${n}`)

async function setup(t: TestContext) {
  const { client, database } = await useDatabase(t)
  await client.query(
    `INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at, name, tags, search)
    SELECT job_id, $2, 1, now(), now(), 'a', '{}', 'a' FROM unnest($1::uuid[]) AS job_id`,
    [jobIds, defaultTenantId],
  )
  return { client, database, health: new PostgresJobHealth(database), rollups: new PostgresRollups(database) }
}

interface Recorded extends EndedExecution {
  jobId: string
  recordedAt: number
}

const insertAttempts = `
  INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
    enqueued_at, finished_at, http_status, error_type, error_message)
  SELECT from_ms("recordedAt"), '${defaultTenantId}', "jobId", 1, "executionId", attempt, true, 'slot', outcome, now(), now(),
    from_ms("finishedAt"), "httpStatus", "errorType", "errorMessage"
  FROM json_to_recordset($1::json) AS one("recordedAt" float8, "jobId" uuid, "executionId" uuid, attempt smallint, outcome text,
    "finishedAt" float8, "httpStatus" smallint, "errorType" text, "errorMessage" text)`

/** Ends of the last minutes: they are recorded in about the order of their ids, some at the same time. */
function drawEnds(count: number, seed: number): Recorded[] {
  let state = seed
  const draw = (below: number) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
  const outcomes: Outcome[] = [
    'succeeded',
    'succeeded',
    'failed',
    'failed',
    'timed_out',
    'lost',
    'cancelled',
    'skipped',
  ]
  const from = Date.now() - 300_000
  return Array.from({ length: count }, (_, n) => {
    const recordedAt = from + Math.max(0, n - draw(40)) * 100
    const outcome = outcomes[draw(outcomes.length)]!
    return {
      jobId: jobIds[draw(jobIds.length)]!,
      recordedAt,
      executionId: `0192abcd-ef02-7000-8000-${n.toString(16).padStart(12, '0')}`,
      attempt: 1 + draw(2),
      outcome,
      finishedAt: epochMs(recordedAt - draw(500)),
      httpStatus: outcome === 'failed' ? 503 : null,
      errorType: outcome === 'succeeded' ? null : 'HTTP_ERROR',
      errorMessage: outcome === 'succeeded' ? null : `error ${n}`,
    }
  })
}

function foldInMemory(ends: readonly Recorded[]): Map<string, JobHealth | null> {
  const found = new Map<string, JobHealth | null>(jobIds.map((jobId) => [jobId, null]))
  const inOrder = ends.toSorted(
    (a, b) => a.recordedAt - b.recordedAt || (a.executionId < b.executionId ? -1 : 1),
  )
  for (const { jobId, recordedAt: _, ...ended } of inOrder)
    found.set(jobId, addEnded(found.get(jobId)!, ended))
  return found
}

async function foldAll(database: Database): Promise<void> {
  const fold = new RollupFold(new PostgresRollups(database), 'health')
  while ((await fold.step()) === 'more');
}

for (const spanMs of [1_000, 7_000, 600_000]) {
  test(`folded ${spanMs} ms at a time, jobs go as the rule says`, async (t) => {
    const { client, database, health, rollups } = await setup(t)
    const ends = drawEnds(1_500, spanMs)
    await client.query(insertAttempts, [JSON.stringify(ends)])
    await client.query(
      `UPDATE rollup_feeds SET folded_to = now() - interval '6 minutes' WHERE feed = 'health'`,
    )
    const order = { spanMs, leastMs: 1, idleMs: 0, lagMs: 1_000 }
    while (((await rollups.fold('health', order))?.spanMs ?? 0) >= spanMs);
    await Promise.all([foldAll(database), foldAll(database)])
    for (const [jobId, expected] of foldInMemory(ends))
      assert.deepEqual(await health.get(defaultTenantId, jobId), expected)
    assert((await health.asOf()) > ends.at(-1)!.recordedAt)
  })
}

test('an execution that was folded counts once, also when history is folded again', async (t) => {
  const { client, database, health } = await setup(t)
  const ends = drawEnds(200, 1)
  await client.query(insertAttempts, [JSON.stringify(ends)])
  for (let times = 0; times < 2; times++) {
    await client.query(`SELECT refold_rollups(now() - interval '1 hour')`)
    await foldAll(database)
    await foldAll(database)
    for (const [jobId, expected] of foldInMemory(ends))
      assert.deepEqual(await health.get(defaultTenantId, jobId), expected)
  }
})

test('a deleted job loses its health, and an execution that ends later gives it none', async (t) => {
  const { client, database } = await setup(t)
  const ends = drawEnds(100, 2)
  await client.query(insertAttempts, [JSON.stringify(ends)])
  await client.query(`SELECT refold_rollups(now() - interval '1 hour')`)
  await foldAll(database)
  const count = async () => (await client.query('SELECT FROM job_health')).rowCount
  assert.equal(await count(), jobIds.length)
  await client.query('UPDATE jobs SET deleted_at = now() WHERE job_id = $1', [jobIds[0]])
  while (await pruneNextJob(database, 0));
  assert.equal(await count(), jobIds.length - 1)
  const later = { ...ends[0]!, jobId: jobIds[0], executionId: '0192abcd-ef03-7000-8000-000000000000' }
  await client.query(insertAttempts, [
    JSON.stringify([{ ...later, outcome: 'failed', recordedAt: Date.now() - 2_000 }]),
  ])
  await client.query(`UPDATE rollup_feeds SET folded_to = now() - interval '5 seconds' WHERE feed = 'health'`)
  await foldAll(database)
  assert.equal(await count(), jobIds.length - 1)
})

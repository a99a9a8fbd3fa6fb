// Tests of searches by date in a long history, for executions far below the newest ones.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { useDatabase } from '../../../test/database.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import { RollupFold } from '../../history/fold-rollups.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'
import type { ExecutionQuery } from '../../ports/executions.ts'
import type { Queries } from '../connection/database.ts'
import { PostgresRollups } from './rollups.ts'
import { countFailedOfTenant } from './search.sql.ts'
import { searchExecutions } from './search.ts'

// 60,000 executions of a job in the last five days, and one for a slot in the window that was only enqueued today.
const fill = `
  INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at, name, tags, search)
    VALUES (md5('job')::uuid, '${defaultTenantId}', 1, now(), now(), 'a', '{}', 'a');
  SELECT make_day('attempts', (now() AT TIME ZONE 'UTC')::date - n) FROM generate_series(0, 21) AS n;
  INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot, enqueued_at)
    SELECT at + interval '1 second', '${defaultTenantId}', md5('job')::uuid, 1,
      (lpad(to_hex(to_ms(at)), 12, '0') || '7' || left(md5(n::text), 3) || '8' || right(md5(n::text), 15))::uuid, 1, true, 'slot',
      CASE WHEN n % 50 = 0 THEN 'failed' ELSE 'succeeded' END, at, at
    FROM (SELECT n, date_trunc('milliseconds', now()) - n * interval '7 seconds' AS at FROM generate_series(1, 60000) AS n) n;
  INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot, enqueued_at)
    VALUES (now(), '${defaultTenantId}', md5('job')::uuid, 1, first_id(now()), 1, true, 'backfill', 'failed',
      now() - interval '84 hours', now());
  SELECT refold_rollups(now() - interval '21 days')`

async function setup(t: TestContext) {
  const { client, database } = await useDatabase(t)
  await client.query(fill)
  const { rows } = await client.query<{ now: number; job_id: string; late_id: string }>(
    `SELECT to_ms(now())::float8 AS now, md5('job')::uuid AS job_id,
      (SELECT execution_id FROM attempts WHERE kind = 'backfill') AS late_id`,
  )
  const { now, job_id: jobId, late_id: lateId } = rows[0]!
  const search = async (query: Partial<ExecutionQuery>) => {
    const nothing = {
      status: null,
      kind: null,
      errorType: null,
      deadLetter: null,
      workerId: null,
      tag: null,
      q: null,
    }
    const window = { from: epochMs(now - 4 * dayMs), to: epochMs(now - 3 * dayMs), before: null, limit: 100 }
    return (await searchExecutions(database, {
      ...{ tenantId: defaultTenantId, jobId: null },
      ...nothing,
      ...window,
      ...query,
    }))!
  }
  return { now, jobId, lateId, search }
}

test('the first page of a range of days long ago is full, and begins with the execution that was recorded late', async (t) => {
  const { now, jobId, lateId, search } = await setup(t)
  for (const only of [null, jobId]) {
    const { executions, next } = await search({ jobId: only })
    assert.equal(executions.length, 100)
    assert.equal(executions[0]!.executionId, lateId)
    assert.notEqual(next, null)
    for (const { slot } of executions) assert(slot >= now - 4 * dayMs && slot < now - 3 * dayMs)
  }
})

test('pages go on to the end of the days, each execution once', async (t) => {
  const { search } = await setup(t)
  const seen = new Set<string>()
  let before: string | null = null
  for (let pages = 0; pages < 100; pages++) {
    const { executions, next } = await search({ limit: 200, before })
    for (const { executionId } of executions) {
      assert(!seen.has(executionId))
      seen.add(executionId)
    }
    if (next === null) break
    before = next
  }
  // A day at one each seven seconds, and the late one.
  assert(Math.abs(seen.size - 86_400 / 7 - 1) < 2, `${seen.size} executions`)
})

test('failed executions of a range of days long ago are found at once', async (t) => {
  const { lateId, search } = await setup(t)
  const { executions } = await search({ status: 'FAILED' })
  assert.equal(executions[0]!.executionId, lateId)
  assert(executions.length > 40, `${executions.length} found`)
})

test('failed executions are found among many retried attempts by reading few rows', async (t) => {
  const { client, database } = await useDatabase(t)
  await client.query(fill)
  // Each of 40,000 executions had a failed attempt and then succeeded; ten of them did not.
  await client.query(`
    INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot, enqueued_at)
    SELECT at, '${defaultTenantId}', md5('job')::uuid, 1, (lpad(to_hex(to_ms(at)), 12, '0') || '70008' || right(md5(x.n::text), 15))::uuid,
      a.n, a.n = 2, 'slot', CASE WHEN a.n = 1 OR x.n % 4000 = 0 THEN 'failed' ELSE 'succeeded' END, at, at
    FROM (SELECT n, now() - n * interval '1 second' AS at FROM generate_series(1, 40000) AS n) x CROSS JOIN generate_series(1, 2) AS a(n)`)
  await client.query('VACUUM ANALYZE attempts')
  const values = [defaultTenantId, 'ffffffff-ffff-ffff-ffff-ffffffffffff', '-infinity', ['failed', 'lost']]
  const rest = [null, null, null, 'infinity', null, null, null, 10_000, defaultTenantId]
  const { rows } = await database.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
    {
      name: 'explainCountFailed',
      text: `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${countFailedOfTenant.text}`,
    },
    [...values, ...rest],
  )
  const { Plan: plan } = rows[0]!['QUERY PLAN'][0]
  const blocks = plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
  assert(blocks < 3_000, `${blocks} blocks`)
})

async function setupAsked(t: TestContext) {
  const { client, database } = await useDatabase(t)
  await client.query(fill)
  const asked: string[] = []
  const queries: Queries = {
    query: (statement, values) => {
      asked.push(statement.name)
      return database.query(statement, values)
    },
  }
  const { rows } = await client.query<{ job_id: string }>('SELECT job_id FROM jobs')
  const nothing = {
    status: null,
    kind: null,
    errorType: null,
    deadLetter: null,
    workerId: null,
    tag: null,
    q: null,
  }
  const query: ExecutionQuery = {
    ...{ tenantId: defaultTenantId, jobId: rows[0]!.job_id },
    ...nothing,
    ...{ from: null, to: null, before: null, limit: 50 },
  }
  /** The page, how many there are, and the statements that it took. */
  const ask = async (changes: Partial<ExecutionQuery>) => {
    const page = (await searchExecutions(queries, { ...query, ...changes }))!
    return { ...page, count: [page.executions.length, page.total, page.capped], asked: asked.splice(0) }
  }
  return { client, database, ask }
}

test('every page of a job takes two statements, with its count', async (t) => {
  const { ask } = await setupAsked(t)
  const page = await ask({})
  assert.deepEqual(
    [page.count, page.asked],
    [
      [50, 10_000, true],
      ['pastOfJob', 'pageOfJob'],
    ],
  )
  const next = await ask({ before: page.next })
  assert.deepEqual(
    [next.count, next.asked],
    [
      [50, 10_000, true],
      ['pastOfJob', 'pageOfJob'],
    ],
  )
})

test('nobody looks at ten thousand executions to say that there are more, once days are folded', async (t) => {
  const { client, database, ask } = await setupAsked(t)
  const many = [50, 10_000, true]
  const { rows } = await client.query<{ failed: number }>(
    `SELECT count(*)::int AS failed FROM attempts WHERE outcome = 'failed'`,
  )
  const few = [50, rows[0]!.failed, false]
  const check = async (when: string, looks: { job: string[]; tenant: string[] }) => {
    const ofAll = await ask({ jobId: null })
    assert.deepEqual([ofAll.count, ofAll.asked], [many, ['listOfTenant', ...looks.tenant]], when)
    const succeeded = await ask({ status: 'SUCCEEDED' })
    assert.deepEqual(succeeded.asked, ['listOfJob', ...looks.job], when)
    assert.equal(succeeded.capped, true)
    const failed = await ask({ status: 'FAILED' })
    assert.deepEqual([failed.count, failed.asked], [few, ['listFailedOfJob', 'countFailedOfJob']], when)
    // Days do not tell how many of a kind there are.
    assert.deepEqual((await ask({ kind: 'slot' })).asked, ['listOfJob', 'countOfJob'], when)
  }
  await check('before the fold', { job: ['countOfJob'], tenant: ['countOfTenant'] })
  for (const source of ['tenant', 'job'] as const) {
    const fold = new RollupFold(new PostgresRollups(database), source)
    while ((await fold.step()) === 'more');
  }
  while ((await new PostgresRollups(database).foldDays()) === 'more');
  await check('after the fold', { job: [], tenant: [] })
  assert.deepEqual((await ask({ status: 'SUCCEEDED' })).count, many)
})

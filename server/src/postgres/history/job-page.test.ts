// Pages of a job and its number of executions, compared with a plain count and a plain list of everything: at every
// stage of the fold, at the end of the retention, and with executions that ended days after they were made.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { POSTGRES_VERSIONS, type PostgresVersion, useDatabase } from '../../../test/database.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import { RollupFold } from '../../history/fold-rollups.ts'
import type { Queries } from '../connection/database.ts'
import { PostgresRollups } from './rollups.ts'
import { searchExecutions } from './search.ts'

const historyDays = 3
const jobs = ['busy', 'late', 'rare'] as const
type Job = (typeof jobs)[number]

const makeJobs = `
  UPDATE tiers SET history_days = ${historyDays};
  INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at, name, tags, search)
    SELECT md5(name)::uuid, '${defaultTenantId}', 1, now(), now(), name, '{}', name
    FROM unnest(ARRAY['${jobs.join("','")}']) AS name;
  SELECT make_day('attempts', (now() AT TIME ZONE 'UTC')::date - n) FROM generate_series(0, 8) AS n`

// $1 the job, $2 how many, $3 how long ago the first was recorded, $4 how long each took at most: every third took some
// time. Every fifth attempt was not the last. None is recorded within a minute of the end of the retention, which moves
// on meanwhile.
const record = `
  INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot, enqueued_at)
  SELECT at, '${defaultTenantId}', md5($1)::uuid, 1,
    (lpad(to_hex(to_ms(made)), 12, '0') || '7' || left(md5($1 || n), 3) || '8' || right(md5($1 || n), 15))::uuid, 1, n % 5 > 0, 'slot',
    CASE WHEN n % 5 > 0 THEN (ARRAY['succeeded', 'failed', 'lost', 'timed_out', 'cancelled', 'skipped'])[1 + n % 6] ELSE 'failed' END,
    made, made
  FROM (
    SELECT n, at, CASE WHEN n % 3 = 0 THEN at - abs(hashtext($1 || n)) / 2147483648.0 * $4::interval ELSE at END AS made
    FROM (SELECT n, date_trunc('milliseconds', now() - $3::interval * (n::float8 / $2::int)) AS at FROM generate_series(1, $2::int) AS n
      UNION ALL
      -- The first and the last moment of each day.
      SELECT 100000 + n, date_trunc('day', now(), 'UTC') - n / 2 * interval '1 day' - n % 2 * interval '1 millisecond'
      FROM generate_series(2, 12) AS n WHERE $2::int >= 100) x
  ) x WHERE abs(extract(epoch FROM at - (now() - interval '${historyDays} days'))) > 60`

async function setup(t: TestContext, version: PostgresVersion = 18) {
  const { client, database } = await useDatabase(t, { version })
  await client.query(makeJobs)
  const asked: string[] = []
  const queries: Queries = {
    query: (statement, values) => {
      asked.push(statement.name)
      return database.query(statement, values)
    },
  }
  const jobIdOf = async (job: Job) =>
    (await client.query<{ id: string }>('SELECT md5($1)::uuid AS id', [job])).rows[0]!.id
  const list = async (job: Job, limit: number, before: string | null = null) => {
    const nothing = {
      status: null,
      kind: null,
      errorType: null,
      deadLetter: null,
      workerId: null,
      tag: null,
      q: null,
    }
    const query = { tenantId: defaultTenantId, jobId: await jobIdOf(job), ...nothing, from: null, to: null }
    return (await searchExecutions(queries, { ...query, before, limit }))!
  }
  const refold = () => client.query(`SELECT refold_rollups(now() - interval '8 days')`)
  const foldHours = async () => {
    const fold = new RollupFold(new PostgresRollups(database), 'job')
    while ((await fold.step()) === 'more');
  }
  const foldAll = async () => {
    await foldHours()
    while ((await new PostgresRollups(database).foldDays()) === 'more');
  }
  return { client, database, asked, jobIdOf, list, refold, foldHours, foldAll }
}

type Setup = Awaited<ReturnType<typeof setup>>

/** Every page of every job equals a plain list, with the number of all. */
async function check({ client, jobIdOf, list }: Setup, stage: string): Promise<void> {
  for (const job of jobs) {
    const { rows } = await client.query<{ id: string }>(
      `SELECT execution_id AS id FROM attempts WHERE job_id = $1 AND final
        AND recorded_at >= now() - interval '${historyDays} days' ORDER BY execution_id DESC`,
      [await jobIdOf(job)],
    )
    const expected = rows.map(({ id }) => id)
    assert.equal((await list(job, 1)).total, expected.length, `${job}, ${stage}`)
    for (const limit of [13, 60]) {
      const seen: string[] = []
      let before: string | null = null
      do {
        const page = await list(job, limit, before)
        const what: string = `${job}, ${stage}, ${limit} before ${before}`
        assert.deepEqual([page.total, page.capped], [expected.length, false], what)
        seen.push(...page.executions.map(({ executionId }) => executionId))
        before = page.next
      } while (before !== null)
      assert.deepEqual(seen, expected, `${job}, ${stage}, ${limit} a page`)
    }
  }
}

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: pages and counts are right however far the fold is`, async (t) => {
    const s = await setup(t, version)
    await s.client.query(record, ['busy', 600, '6 days', '2 minutes'])
    await s.client.query(record, ['late', 300, '6 days', '70 hours'])
    await s.client.query(record, ['rare', 6, '6 days', '1 hour'])
    await s.refold()
    await check(s, 'nothing is folded')
    await s.foldHours()
    await check(s, 'hours are folded')
    for (let steps = 1; (await new PostgresRollups(s.database).foldDays()) === 'more'; steps++)
      if (steps % 500 === 0) await check(s, `${steps} parts of hours are folded`)
    await check(s, 'all is folded')
    await s.client.query(record, ['busy', 40, '1 second', '3 days'])
    await check(s, 'some ended since the fold')
  })
}

test('ten thousand are counted, one more is not', async (t) => {
  const s = await setup(t)
  await s.client.query(record, ['busy', 12_000, '60 hours', '1 minute'])
  // Beside as many as are counted the others are no longer final.
  const leave = (count: number) =>
    s.client.query(
      `UPDATE attempts SET final = place <= $1, outcome = CASE WHEN place <= $1 THEN outcome ELSE 'failed' END FROM (
        SELECT execution_id AS id, row_number() OVER (ORDER BY recorded_at DESC) AS place FROM attempts
        WHERE recorded_at >= now() - interval '${historyDays} days') x WHERE id = execution_id`,
      [count],
    )
  for (const count of [10_000, 10_001, 11_500]) {
    await leave(count)
    await s.refold()
    for (const stage of ['before the fold', 'after it']) {
      if (stage === 'after it') await s.foldAll()
      const page = await s.list('busy', 50)
      assert.deepEqual([page.total, page.capped], [10_000, count > 10_000], `${count}, ${stage}`)
      const next = await s.list('busy', 50, page.next)
      assert.deepEqual([next.total, next.capped], [10_000, count > 10_000], `${count}, ${stage}, later`)
    }
  }
})

test('a page with known days opens only these; a page of executions that took days is searched for in all', async (t) => {
  const s = await setup(t)
  await s.client.query(record, ['busy', 600, '60 hours', '1 minute'])
  await s.client.query(record, ['late', 600, '60 hours', '1 minute'])
  // All that ended today, yesterday and the day before was made three days earlier.
  await s.client.query(
    `UPDATE attempts SET execution_id = (left(first_id(recorded_at - interval '3 days')::text, 14) || right(execution_id::text, 22))::uuid
    WHERE job_id = $1 AND recorded_at >= date_trunc('day', now(), 'UTC') - interval '2 days'`,
    [await s.jobIdOf('late')],
  )
  await s.refold()
  await s.foldAll()
  s.asked.length = 0
  await s.list('busy', 50)
  assert.deepEqual(s.asked.splice(0), ['pastOfJob', 'pageOfJob'])
  const { executions } = await s.list('late', 50)
  assert.deepEqual(s.asked, ['pastOfJob', 'pageOfJob', 'pageOfJob'])
  assert.equal(executions.length, 50)
  await check(s, 'some took days')
})

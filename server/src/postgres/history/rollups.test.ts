// Tests that everything is counted once, even if a process dies, a commit is late or several processes fold at once.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type pg from 'pg'
import { testRollups } from '../../../test/conformance/history/rollups.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'
import { connect, POSTGRES_VERSIONS, type PostgresVersion, useDatabase } from '../../../test/database.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import { RollupFold, type RollupFoldOptions } from '../../history/fold-rollups.ts'
import type { Database } from '../connection/database.ts'
import { PostgresRollups } from './rollups.ts'

testOnStores(testRollups)

const job = '0192abcd-ef01-7000-8000-000000000001'

async function setup(t: TestContext, version: PostgresVersion = 18) {
  const { client, database, address } = await useDatabase(t, { version })
  await client.query(
    `INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at, name, tags, search)
    SELECT $1, $2, 1, now(), now(), 'a', '{}', 'a'`,
    [job, defaultTenantId],
  )
  await client.query(
    `SELECT make_day('attempts', (now() AT TIME ZONE 'UTC')::date - n) FROM generate_series(1, 9) AS n`,
  )
  await client.query(
    `UPDATE rollup_feeds SET folded_to = date_trunc('day', now(), 'UTC') - interval '2 days'`,
  )
  return { client, database, address }
}

/** Records attempts of a job, the newest that long ago, the others a minute apart before it. */
async function record(client: pg.Client, ago: string, count = 1, jobId = job): Promise<void> {
  await client.query(
    `INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
      enqueued_at, started_at, error_type, error_message)
    SELECT at, $3, $4, 1, gen_random_uuid(), 1, true, 'slot', 'failed', at, at, at, 'HTTP_ERROR', 'no'
    FROM (SELECT clock_timestamp() - $1::interval - (n - 1) * interval '1 minute' AS at FROM generate_series(1, $2::int) AS n) x`,
    [ago, count, defaultTenantId, jobId],
  )
}

async function foldAll(database: Database, options: RollupFoldOptions = {}): Promise<void> {
  for (const source of ['tenant', 'job', 'skip'] as const) {
    const fold = new RollupFold(new PostgresRollups(database), source, options)
    while ((await fold.step()) === 'more');
  }
  while ((await new PostgresRollups(database).foldDays()) === 'more');
}

async function sums(client: pg.Client): Promise<Record<string, number>> {
  const { rows } = await client.query(`
    SELECT 'tenant ' || step AS name, sum(failed)::int AS n FROM tenant_activity GROUP BY step
    UNION ALL SELECT 'job ' || step, sum(failed)::int FROM job_activity GROUP BY step
    UNION ALL SELECT 'groups', sum(failures)::int FROM failure_groups`)
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]))
}

const everywhere = (n: number) => ({
  ...{ 'tenant 60': n, 'tenant 3600': n, 'tenant 86400': n, 'job 3600': n, groups: n },
})

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: attempts folded by several processes at once are counted once`, async (t) => {
    const { client, database } = await setup(t, version)
    await record(client, '3 hours', 100)
    await Promise.all([foldAll(database), foldAll(database), foldAll(database)])
    await foldAll(database)
    assert.deepEqual(await sums(client), { ...everywhere(100), 'job 86400': 100 })
  })

  test(`PostgreSQL ${version}: the hours of every job are added to their days once they are over`, async (t) => {
    const { client, database } = await setup(t, version)
    const jobs = Array.from({ length: 16 }, (_, n) => `0192abcd-ef01-7000-8000-0000000000a${n.toString(16)}`)
    for (const jobId of jobs) await record(client, '2 hours', 2, jobId)
    await record(client, '26 hours', 3)
    await foldAll(database)
    const { rows } = await client.query(
      `SELECT count(DISTINCT job_id)::int AS jobs, sum(failed)::int AS failed FROM job_activity WHERE step = 86400`,
    )
    assert.deepEqual(rows, [{ jobs: 17, failed: 35 }])
  })
}

test('attempts recorded by a transaction that commits late are counted', async (t) => {
  const { client, database, address } = await setup(t)
  const slow = await connect(t, address)
  await slow.query('BEGIN')
  await record(slow, '0 seconds')
  await record(client, '3 hours')
  await foldAll(database, { lagMs: 0 })
  assert.deepEqual(await sums(client), { ...everywhere(1), 'job 86400': 1 })
  // The clock is past the uncommitted attempt; attempts recorded after it are not folded before it.
  await record(client, '0 seconds')
  await client.query('SELECT pg_sleep(0.002)')
  await foldAll(database, { lagMs: 0 })
  assert.deepEqual(await sums(client), { ...everywhere(1), 'job 86400': 1 })
  await slow.query('COMMIT')
  await foldAll(database, { lagMs: 0 })
  const { 'job 86400': _days, ...counted } = await sums(client)
  assert.deepEqual(counted, everywhere(3))
})

test('a process that dies within a fold has folded nothing', async (t) => {
  const { client, database } = await setup(t)
  await record(client, '3 hours', 10)
  await client.query(`CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$`)
  await client.query('CREATE TRIGGER die BEFORE UPDATE ON rollup_feeds FOR EACH ROW EXECUTE FUNCTION die()')
  for (const source of ['tenant', 'job'] as const) {
    const fold = new RollupFold(new PostgresRollups(database), source)
    await assert.rejects(async () => {
      while ((await fold.step()) === 'more');
    })
  }
  const { rows } =
    await client.query(`SELECT (SELECT count(*) FROM tenant_activity) + (SELECT count(*) FROM job_activity)
    + (SELECT count(*) FROM failure_groups) AS n`)
  assert.equal(Number(rows[0].n), 0)
  await client.query('DROP TRIGGER die ON rollup_feeds')
  await foldAll(database)
  assert.deepEqual(await sums(client), { ...everywhere(10), 'job 86400': 10 })
})

test('a history that is written into the past is counted when it is asked for', async (t) => {
  const { client, database } = await setup(t)
  await record(client, '3 hours', 10)
  await foldAll(database)
  await record(client, '4 days', 5)
  await foldAll(database)
  assert.deepEqual(await sums(client), { ...everywhere(10), 'job 86400': 10 })
  await client.query(`SELECT refold_rollups(now() - interval '5 days')`)
  await foldAll(database)
  assert.deepEqual(await sums(client), { ...everywhere(15), 'job 86400': 15 })
})

test('of very many different failures and late slots a tenant has so many in a while', async (t) => {
  const { client, database } = await setup(t)
  await client.query(
    `INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
      enqueued_at, started_at, error_type, error_message)
    SELECT at, $1, $2, 1, gen_random_uuid(), 1, true, 'slot', 'failed', at - n * interval '1 millisecond', at,
      at + interval '1 minute', 'HTTP_ERROR', repeat('x', n / 10)
    FROM (SELECT n, date_trunc('hour', clock_timestamp()) - interval '90 minutes' AS at FROM generate_series(1, 2500) AS n) x`,
    [defaultTenantId, job],
  )
  await foldAll(database)
  const { rows } = await client.query(`SELECT (SELECT count(*)::int FROM failure_groups) AS groups,
    (SELECT count(*)::int FROM late_slots) AS late, (SELECT sum(failed)::int FROM tenant_activity WHERE step = 60) AS failed`)
  assert.deepEqual(rows, [{ groups: 251, late: 1_000, failed: 2_500 }])
  await client.query(`SELECT refold_rollups(now() - interval '1 day')`)
  await client.query(`UPDATE attempts SET error_message = repeat('x', 1 + (to_ms(recorded_at) - to_ms(slot))::int % 290)
    || repeat('y', (to_ms(recorded_at) - to_ms(slot))::int / 290)`)
  await foldAll(database)
  const { rows: many } = await client.query('SELECT count(*)::int AS groups FROM failure_groups')
  assert.deepEqual(many, [{ groups: 1_000 }])
})

test('rollups older than the longest period of any query are pruned', async (t) => {
  const { client, database } = await setup(t)
  await record(client, '3 hours')
  await foldAll(database)
  const count = async () => {
    const { rows } =
      await client.query(`SELECT (SELECT count(*)::int FROM tenant_activity WHERE step = 60) AS minutes,
      (SELECT count(*)::int FROM tenant_activity WHERE step = 3600) AS hours,
      (SELECT count(*)::int FROM tenant_activity WHERE step = 86400) AS days,
      (SELECT count(*)::int FROM job_activity WHERE step = 3600) AS "jobHours",
      (SELECT count(*)::int FROM job_activity WHERE step = 86400) AS "jobDays",
      (SELECT count(*)::int FROM failure_groups) AS groups`)
    return rows[0]
  }
  const age = async (days: number) => {
    for (const table of ['tenant_activity', 'job_activity', 'failure_groups'])
      await client.query(`UPDATE ${table} SET at = at - make_interval(days => $1)`, [days])
    assert.equal(await new PostgresRollups(database).prune(), 'idle')
    return count()
  }
  const all = { minutes: 1, hours: 1, days: 1, jobHours: 1, jobDays: 1, groups: 1 }
  assert.deepEqual(await age(1), all)
  assert.deepEqual(await age(1), { ...all, minutes: 0 })
  assert.deepEqual(await age(12), { ...all, minutes: 0, groups: 0 })
  assert.deepEqual(await age(46), { ...all, minutes: 0, groups: 0, hours: 0, jobHours: 0 })
  assert.deepEqual(await age(338), { ...all, minutes: 0, groups: 0, hours: 0, jobHours: 0 })
  assert.deepEqual(await age(3), { minutes: 0, hours: 0, days: 0, jobHours: 0, jobDays: 0, groups: 0 })
})

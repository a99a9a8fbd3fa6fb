import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type pg from 'pg'
import { sql } from '../src/lib/sql.ts'
import { createDatabase, openClient } from './database.ts'
import { openKeptPool, useKeptDatabase } from './kept-database.ts'

const use = (t: TestContext, name: string) => useKeptDatabase(t, 18, { name, open: openKeptPool })

/** The rows of every table, and where every sequence is. */
async function contentOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ content: string }>(`
    SELECT relname || query_to_xml(format(CASE relkind WHEN 'S' THEN 'SELECT last_value, is_called FROM %1$I'
      ELSE 'SELECT to_json(x)::text FROM %1$I x ORDER BY to_json(x)::text' END, relname), true, true, '') AS content
    FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'S') ORDER BY relname`)
  return rows.map(({ content }) => content)
}

test('the next test finds the same database with the rows of a new one', async (t) => {
  const found: string[] = []
  await t.test('a test that changes rows of every kind', async (t) => {
    const { address, client } = await use(t, 'rows')
    found.push(address.database)
    await client.query(
      `INSERT INTO tenants (tenant_id, name, tier) SELECT gen_random_uuid(), 'a', tier FROM tiers LIMIT 1`,
    )
    await client.query(`UPDATE tiers SET weight = weight + 1`)
    await client.query(`DELETE FROM partitions`)
    const { rows } = await client.query(
      `SELECT relname FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace`,
    )
    for (const { relname } of rows) await client.query(`SELECT setval('${relname}', 77)`)
    await client.query('SET search_path = pg_catalog')
  })
  await t.test('the next test', async (t) => {
    const { address, client } = await use(t, 'rows')
    found.push(address.database)
    const fresh = await openClient(await createDatabase(t))
    assert.deepEqual(await contentOf(client), await contentOf(fresh))
    await fresh.end()
  })
  assert.equal(found[0], found[1])
})

const changes: Record<string, string> = {
  function: `CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
  'replaced function': `CREATE OR REPLACE FUNCTION clock_ms() RETURNS timestamptz LANGUAGE sql AS 'SELECT now()'`,
  table: 'CREATE TABLE mine (n int)',
  column: 'ALTER TABLE jobs ADD mine int',
  index: 'CREATE INDEX ON jobs (created_at, name)',
  partition: `SELECT make_day('attempts', '2020-01-01')`,
  statistic: 'ANALYZE tiers',
}

for (const [what, change] of Object.entries(changes)) {
  test(`a database with a changed ${what} is not used again`, async (t) => {
    const found: string[] = []
    for (const text of [change, 'SELECT']) {
      await t.test(text, async (t) => {
        const { address, client } = await use(t, what)
        found.push(address.database)
        await client.query(text)
      })
    }
    assert.notEqual(found[0], found[1])
  })
}

test('a database with a changed setting is not used again', async (t) => {
  const found: string[] = []
  for (let i = 0; i < 2; i++) {
    await t.test('a test', async (t) => {
      const { address, client } = await use(t, 'setting')
      found.push(address.database)
      if (i === 0) await client.query(`ALTER DATABASE ${address.database} SET deadlock_timeout = '10s'`)
    })
  }
  assert.notEqual(found[0], found[1])
})

test('a statement that a test does not wait for leaves nothing to the next one', async (t) => {
  const insert = `INSERT INTO tiers (tier, weight, history_days) VALUES ('mine', 1, 1)`
  const late = sql('late')`WITH slept AS MATERIALIZED (SELECT pg_sleep(0.3))
    INSERT INTO tiers (tier, weight, history_days) SELECT 'mine', 1, 1 FROM slept`
  const deeds: ((kept: Awaited<ReturnType<typeof use>>) => Promise<() => Promise<unknown>>)[] = [
    async ({ address }) => {
      const other = await openClient(address)
      return () => other.query(`SELECT pg_sleep(0.3); ${insert}`)
    },
    async ({ sessions }) =>
      () =>
        sessions.query(late, []),
    async ({ client }) =>
      () =>
        client.query(`SELECT pg_sleep(0.3); ${insert}`),
  ]
  for (const [i, deed] of deeds.entries()) {
    let running: Promise<unknown> = Promise.resolve()
    await t.test(`statement ${i} is sent`, async (t) => {
      const send = await deed(await use(t, 'running'))
      running = send().catch(() => {})
    })
    await t.test(`statement ${i} is not seen`, async (t) => {
      const { client } = await use(t, 'running')
      await running
      assert.equal((await client.query(`SELECT FROM tiers WHERE tier = 'mine'`)).rowCount, 0)
    })
  }
})

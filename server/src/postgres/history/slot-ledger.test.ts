// The slots of a job that has 100,000 of them: found among the attempts once their rows are gone, and read by the page.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { testSlotLedger } from '../../../test/conformance/history/slot-ledger.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'
import { POSTGRES_VERSIONS, type PostgresVersion, useDatabase } from '../../../test/database.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import type { Sql } from '../../lib/sql.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import type { Lateness, SlotQuery } from '../../ports/slot-ledger.ts'
import * as statements from './slot-ledger.sql.ts'
import { PostgresSlotLedger } from './slot-ledger.ts'
import { selectUnderWay } from './under-way.sql.ts'

testOnStores(testSlotLedger)

const jobId = '0192abcd-ef01-7000-8000-000000000001'
const second = 1_000
const slotsCount = 100_000
const lateMs = 7_200_000

/** A job of every second: `young` has the rows of its slots, else they are ten days old and gone. */
async function setup(t: TestContext, age: 'young' | 'old', version?: PostgresVersion) {
  const { client, database } = await useDatabase(t, version === undefined ? {} : { version })
  const { rows } = await client.query(
    `SELECT to_ms(date_trunc('second', now() - $1 * interval '1 day' - interval '28 hours')) AS ms`,
    [age === 'old' ? 10 : 0],
  )
  const first = Number(rows[0].ms)
  const at = (n: number): EpochMs => epochMs(first + n * second)
  await client.query(
    `INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at, name, tags, search)
      VALUES ($1, $2, 1, now(), now(), 'a', '{}', 'a')`,
    [jobId, defaultTenantId],
  )
  await client.query(
    `SELECT make_day('attempts', d::date), make_day('slots', d::date)
      FROM generate_series(now() - interval '13 days', now(), interval '1 day') AS d`,
  )
  // Every hundredth is made half an hour late, after the slots that were on time.
  await client.query(
    `INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
        enqueued_at)
      SELECT made, $2, $1, 1, (lpad(to_hex(to_ms(made)), 12, '0') || left(md5(n::text), 20))::uuid, 1, true, 'slot',
        CASE WHEN n % 10 = 0 THEN 'failed' ELSE 'succeeded' END, slot, slot
      FROM (SELECT n, from_ms($3::float8 + n * 1000.0) AS slot,
        from_ms($3::float8 + n * 1000.0 + CASE WHEN n % 100 = 7 THEN 1800000 ELSE 5 END) AS made
        FROM generate_series(0, $4::int - 1) AS n) x`,
    [jobId, defaultTenantId, first, slotsCount],
  )
  if (age === 'young') {
    await client.query(
      `INSERT INTO slots (job_id, slot, execution_id) SELECT job_id, slot, execution_id FROM attempts`,
    )
  }
  await client.query('VACUUM ANALYZE')
  const slotLedger = new PostgresSlotLedger(database)
  const list = async (changes: Partial<SlotQuery & Lateness>) => {
    const query = { tenantId: defaultTenantId, jobId, from: at(0), to: at(slotsCount - 1), limit: 200 }
    return (await slotLedger.listSlots({ ...query, order: 'asc', lateMs, ...changes }))!
  }
  return { client, slotLedger, list, at }
}

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: slots with pruned rows are found among the attempts, each once`, async (t) => {
    const { slotLedger, list, at } = await setup(t, 'old', version)
    for (const begin of [0, 50_000, slotsCount - 300]) {
      let from = at(begin)
      for (let page = 0; page < 2; page++) {
        const { executions, end } = await list({ from })
        const slots = executions.map(({ slot }) => slot)
        const expected = Array.from({ length: 200 }, (_, n) => from + n * second)
        const left = Math.min(200, (at(slotsCount) - from) / second)
        assert.deepEqual(slots, expected.slice(0, left))
        const failed = executions.filter(({ status }) => status === 'FAILED').length
        assert.equal(failed, left / 10)
        if (left < 200) assert.equal(end, null)
        else assert.equal(end, slots.at(-1))
        from = epochMs(slots.at(-1)! + 1_000)
      }
    }
    const down = await list({ to: at(70_000), order: 'desc', limit: 3 })
    assert.deepEqual(
      down.executions.map(({ slot }) => slot),
      [at(70_000), at(69_999), at(69_998)],
    )
    const bounds = { tenantId: defaultTenantId, jobId, from: at(500), to: at(1_499), lateMs: 2_000_000 }
    const few = await slotLedger.countSlots(bounds)
    assert.deepEqual([few!.executions, few!.capped], [1_000, false])
    const many = await slotLedger.countSlots({ ...bounds, to: at(slotsCount) })
    assert.equal(many!.capped, true)
  })
}

test('with more old slots than a query reads, no page claims to know slots that it did not see', async (t) => {
  const { list, at } = await setup(t, 'old')
  // Wider than all that is looked at: it still gets on.
  const { executions, end } = await list({ limit: 10_000, lateMs: 40_000_000 })
  assert(end !== null && end > at(1_000) && end < at(10_000))
  assert.equal(executions.length, Math.floor((end - at(0)) / second) + 1)
})

interface Node {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Node[]
}

/** Rows that were read of a table, all its days together. */
function rowsRead(node: Node, table: string): number {
  const isIt = node['Relation Name']?.replace(/_\d{8}$/, '') === table
  const rows = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
  return (node.Plans ?? []).reduce((sum, plan) => sum + rowsRead(plan, table), isIt ? rows : 0)
}

async function planOf(
  client: Awaited<ReturnType<typeof setup>>['client'],
  { name, text }: Sql,
  values: readonly (string | number)[],
  types = 'uuid, float8, float8, bigint, uuid, bigint, float8',
): Promise<Node> {
  await client.query('SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off')
  await client.query(`PREPARE ${name.toLowerCase()}(${types}) AS ${text}`)
  const call = `${name.toLowerCase()}(${values.map((value) => `'${value}'`).join(', ')})`
  const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE ${call}`)
  return rows[0]['QUERY PLAN'][0].Plan
}

for (const age of ['young', 'old'] as const) {
  test(`a page in the middle of 100,000 ${age} slots reads no more than it is told`, async (t) => {
    const { client, at } = await setup(t, age)
    const looked = 1_000
    const values = [jobId, at(50_000), at(slotsCount), 51, defaultTenantId, looked, lateMs]
    for (const statement of [statements.listSlotsUp, statements.listSlotsDown]) {
      const plan = await planOf(client, statement, values)
      const [slots, attempts] = [rowsRead(plan, 'slots'), rowsRead(plan, 'attempts')]
      // Up, a minute before it is looked at too: clocks differ.
      if (age === 'young') assert(slots <= 60 && attempts <= 60, `${slots} and ${attempts} rows`)
      else assert(slots <= 1 && attempts >= looked && attempts <= looked + 70, `${attempts} rows`)
    }
    await client.query(
      `INSERT INTO live (execution_id, job_id, version, tenant_id, kind, state, route, lane, priority, slot, enqueued_at, rank)
        SELECT gen_random_uuid(), md5((n % 100)::text)::uuid, 1, $1, 'trigger', 'ready', 'server', 'shared', 5, now(), now(), now()
        FROM generate_series(1, 5000) AS n`,
      [defaultTenantId],
    )
    const others = [jobId, defaultTenantId, 20, 10_000, 20_000]
    const underWay = await planOf(client, selectUnderWay, others, 'uuid, uuid, bigint, bigint, bigint')
    assert.equal(rowsRead(underWay, 'live'), 0)
    const few = await planOf(client, statements.countSlots, values.with(2, at(50_100)))
    if (age === 'young') assert(rowsRead(few, 'slots') <= 110, `${rowsRead(few, 'slots')} rows counted`)
  })
}

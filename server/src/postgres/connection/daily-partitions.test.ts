import assert from 'node:assert/strict'
import test from 'node:test'
import { testDailyPartitions } from '../../../test/conformance/history/daily-partitions.ts'
import { createScenario } from '../../../test/conformance/scenario.ts'
import { openPostgres, testOnStores } from '../../../test/conformance/stores.ts'
import { POSTGRES_VERSIONS } from '../../../test/database.ts'
import { historyDaysMax } from '../../domain/tenants/tenant.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'

testOnStores(testDailyPartitions)

const dayOf = (table: string, ms: number) =>
  `${table}_${new Date(ms).toISOString().slice(0, 10).replaceAll('-', '')}`

async function daysOf(
  { client }: Awaited<ReturnType<typeof openPostgres>>,
  table: string,
): Promise<string[]> {
  const text = `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = $1::regclass ORDER BY 1`
  const { rows } = await client.query<{ name: string }>(text, [table])
  return rows.map(({ name }) => name)
}

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: two weeks of days are there ahead of time, and days of slots go after three`, async (t) => {
    const store = await openPostgres(t, version)
    const { now, dailyPartitions } = store
    const later = epochMs((await now()) + 20 * dayMs)
    await dailyPartitions.keep(later)
    const slots = await daysOf(store, 'slots')
    assert.equal(slots.at(-1), dayOf('slots', later + 14 * dayMs))
    assert(slots[0]! >= dayOf('slots', later - 3 * dayMs), `from ${slots[0]}`)
    const attempts = await daysOf(store, 'attempts')
    assert.equal(attempts.at(-1), dayOf('attempts', later + 14 * dayMs))
    assert(attempts.includes(dayOf('attempts', await now())), 'history is kept for longer')
  })
  test(`PostgreSQL ${version}: a day of history goes with all its records when no tier keeps it any more, not before`, async (t) => {
    const store = await openPostgres(t, version)
    const s = await createScenario(store)
    await s.fire(await s.createJob(), 0)
    await s.runAll()
    const today = await store.now()
    const records = async () =>
      (await store.client.query<{ n: number }>('SELECT count(*)::int AS n FROM attempts')).rows[0]!.n
    await store.dailyPartitions.keep(epochMs(today + historyDaysMax * dayMs))
    assert((await daysOf(store, 'attempts')).includes(dayOf('attempts', today)))
    assert.equal(await records(), 1)
    await store.dailyPartitions.keep(epochMs(today + (historyDaysMax + 2) * dayMs))
    assert(!(await daysOf(store, 'attempts')).includes(dayOf('attempts', today)))
    assert.equal(await records(), 0)
  })
}

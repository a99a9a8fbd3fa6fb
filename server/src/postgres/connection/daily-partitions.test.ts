import assert from 'node:assert/strict'
import test from 'node:test'
import { testDailyPartitions } from '../../../test/conformance/history/daily-partitions.ts'
import { openPostgres, testOnStores } from '../../../test/conformance/stores.ts'
import { POSTGRES_VERSIONS } from '../../../test/database.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'

testOnStores(testDailyPartitions)

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: two weeks of days are there ahead of time, and days of slots go after three`, async (t) => {
    const { client, now, dailyPartitions } = await openPostgres(t, version)
    const daysOf = async (table: string): Promise<string[]> => {
      const text = `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = $1::regclass ORDER BY 1`
      const { rows } = await client.query<{ name: string }>(text, [table])
      return rows.map(({ name }) => name)
    }
    const dayOf = (table: string, ms: number) =>
      `${table}_${new Date(ms).toISOString().slice(0, 10).replaceAll('-', '')}`
    const later = epochMs((await now()) + 20 * dayMs)
    await dailyPartitions.keep(later)
    const slots = await daysOf('slots')
    assert.equal(slots.at(-1), dayOf('slots', later + 14 * dayMs))
    assert(slots[0]! >= dayOf('slots', later - 3 * dayMs), `from ${slots[0]}`)
    const attempts = await daysOf('attempts')
    assert.equal(attempts.at(-1), dayOf('attempts', later + 14 * dayMs))
    assert(attempts.includes(dayOf('attempts', await now())), 'history is kept for longer')
  })
}

import assert from 'node:assert/strict'
import test from 'node:test'
import { testGauges } from '../../../test/conformance/queue/gauges.ts'
import { openPostgres, testOnStores } from '../../../test/conformance/stores.ts'
import { POSTGRES_VERSIONS } from '../../../test/database.ts'

testOnStores(testGauges)

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: a transaction that wrote and stays open is the oldest until it ends`, async (t) => {
    const { client, gauges } = await openPostgres(t, version)
    await client.query('BEGIN')
    await client.query('SELECT pg_current_xact_id(), pg_sleep(0.2)')
    const seconds = await gauges.oldestTransaction()
    assert(seconds >= 0.2, `${seconds} s`)
    await client.query('ROLLBACK')
    assert((await gauges.oldestTransaction()) < seconds)
  })
}

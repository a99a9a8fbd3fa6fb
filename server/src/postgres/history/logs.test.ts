import assert from 'node:assert/strict'
import test from 'node:test'
import { testLogs } from '../../../test/conformance/history/logs.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'
import { useDatabase } from '../../../test/database.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import { selectLogs } from './logs.sql.ts'
import { PostgresLogs } from './logs.ts'

testOnStores(testLogs)

test('rows behind the bytes of a page are not read', async (t) => {
  const { database } = await useDatabase(t)
  const logs = new PostgresLogs(database)
  const executionId = '01941f29-7c00-7000-8000-000000000000'
  const line = { at: epochMs(0), level: 'info', message: 'x'.repeat(8_192) } as const
  for (let attempt = 1; attempt <= 8; attempt++) {
    const place = { tenantId: defaultTenantId, executionId, attempt, firstLine: 0 }
    await logs.append([{ ...place, lines: new Array<typeof line>(31).fill(line) }])
  }
  const rowsBehind = async (attempt: number, after: number) => {
    const values = [defaultTenantId, executionId, null, attempt, after, 1_000, 1_000_000]
    return (await database.query<{ attempt: number }>(selectLogs, values)).rows.map((row) => row.attempt)
  }
  assert.deepEqual(await rowsBehind(-1, -1), [1, 2, 3, 4])
  // The lines of a row that are before the page take nothing of it.
  assert.deepEqual(await rowsBehind(2, 29), [2, 3, 4, 5, 6])
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { POSTGRES_VERSIONS, useDatabase } from '../../../test/database.ts'
import { historyDaysMax } from '../../domain/tenants/tenant.ts'
import { UuidV7 } from '../../lib/id.ts'
import { realRandom } from '../../lib/random.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'
import { PostgresLogs, pruneLogs } from './logs.ts'

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: logs of executions that no history reaches any more are forgotten`, async (t) => {
    const { database } = await useDatabase(t, { version })
    const logs = new PostgresLogs(database)
    const tenantId = new UuidV7(() => epochMs(Date.now()), realRandom).next()
    const append = async (days: number): Promise<string> => {
      const executionId = new UuidV7(() => epochMs(Date.now() - days * dayMs), realRandom).next()
      const lines = [{ at: epochMs(0), level: 'info', message: 'hello' }] as const
      await logs.append([{ tenantId, executionId, attempt: 1, firstLine: 0, lines }])
      return executionId
    }
    const [kept, old] = [await append(historyDaysMax - 1), await append(historyDaysMax + 1)]
    assert.equal(await pruneLogs(database), 'idle')
    const read = async (executionId: string) =>
      (await logs.read({ tenantId, executionId, attempt: null, after: null, limit: 10 })).length
    assert.deepEqual([await read(kept), await read(old)], [1, 0])
  })
}

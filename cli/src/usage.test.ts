// `carillon usage` against a real server.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { TenantUsage, UsageDays } from '@carillon/contract/tenant.ts'
import { createClient } from '@carillon/sdk'
import { startServer } from '../test/cli.ts'

test('carillon usage', async (t) => {
  const server = await startServer(t)
  const { call, json } = server
  const client = createClient({ url: server.url, key: server.key })
  const { tenant_id: tenantId } = await client.tenants.create({ name: 'sales', tier: 'free' })

  await t.test('shows each limit of the tenant with its used part', async () => {
    const { out } = await call(['usage', '--tenant', 'sales'])
    const rows = out
      .trim()
      .split('\n')
      .map((line) => line.split('\t').slice(0, 4))
    const [first] = rows
    assert.deepEqual(first, ['active_jobs_max', '0', '10000', 'fine'])
    assert.deepEqual(
      rows.find(([name]) => name === 'storage_bytes_max'),
      ['storage_bytes_max', '0', '104857600', 'fine'],
    )
    const usage = await json<TenantUsage>(['usage', '--tenant', 'sales'])
    assert.deepEqual([usage.tenant_id, usage.tier], [tenantId, 'free'])
  })

  await t.test('shows executions by day', async () => {
    const days = await json<UsageDays>(['usage', '--tenant', 'sales', '--days', '7'])
    assert.deepEqual([days.tenant_id, days.days], [tenantId, []])
    const wrong = await call(['usage', '--days', '401'])
    assert.equal(wrong.code, 2)
    assert.match(wrong.err, /--days is a whole number from 1 to 400/)
  })
})

// `carillon tenants …` against a real server.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Tenant, TenantEnding } from '@carillon/contract/tenant.ts'
import { createClient } from '@carillon/sdk'
import { startServer } from '../test/cli.ts'
import { EXIT } from './exit-code.ts'

test('carillon tenants', async (t) => {
  const server = await startServer(t)
  const { call, json } = server
  const client = createClient({ url: server.url, key: server.key })
  const { tenant_id: id } = await client.tenants.create({ name: 'sales' })
  const names = async (...options: string[]) =>
    (await json<{ tenants: Tenant[] }>(['tenants', 'list', ...options])).tenants.map(({ name }) => name)

  await t.test('delete asks, and a dry run does nothing', async () => {
    const unasked = await call(['tenants', 'delete', 'sales'])
    assert.equal(unasked.code, EXIT.usage)
    assert.match(unasked.err, /Delete the tenant sales \(.+\)\?/)
    assert.equal((await call(['tenants', 'delete', 'sales', '--dry-run'])).out, 'Would delete sales.\n')
    assert.deepEqual(await names(), ['sales', 'default'])
  })

  await t.test('a tenant is deleted by name, restored by name, and purged', async () => {
    const { tenant } = await json<TenantEnding>([
      'tenants',
      'delete',
      'sales',
      '--purge-after',
      '60',
      '--yes',
    ])
    assert.deepEqual([tenant.tenant_id, tenant.status], [id, 'DELETED'])
    assert.equal(Date.parse(tenant.purge_at!) - Date.parse(tenant.deleted_at!), 60_000)
    assert.deepEqual([await names(), await names('--deleted')], [['default'], ['sales']])
    // While its jobs are still being paused or resumed, the server asks for a little time.
    const once = async (args: readonly string[]) => {
      let ended = await call(args)
      while (ended.code === EXIT.conflict) ended = await call(args)
      return ended
    }
    const restored = await once(['tenants', 'restore', 'sales'])
    assert.equal(restored.code, 0, restored.err)
    assert.match(restored.out, /^Restored sales; .*\nWatch it: carillon operations get .+ --tenant /)
    assert.deepEqual(await names(), ['sales', 'default'])
    const missing = await call(['tenants', 'purge', 'sales', '--yes'])
    assert.deepEqual([missing.code, /no deleted tenant "sales"/.test(missing.err)], [EXIT.notFound, true])
    assert.equal((await once(['tenants', 'delete', id, '--yes'])).code, 0)
    const unasked = await call(['tenants', 'purge', 'sales'])
    assert.deepEqual([unasked.code, /cannot be undone/.test(unasked.err)], [EXIT.usage, true])
    const purged = await once(['tenants', 'purge', 'sales', '--yes'])
    assert.match(purged.out, /^The purge of sales has begun\./)
  })
})

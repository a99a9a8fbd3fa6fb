// Failover to a standby that every commit has waited for: acknowledged writes are there, each slot runs once. While the
// address leads to a server that takes no writes, the database counts as away.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Unavailable } from '../../src/lib/unavailable.ts'
import { loopFailed } from '../../src/telemetry/events.ts'
import { startProxy } from '../chaos/proxy.ts'
import { cleanUp } from '../cleanup.ts'
import { startReceiver } from '../e2e/receiver.ts'
import { assertWhole } from '../races/invariants.ts'
import {
  assertAllRan,
  assertEachSlotOnce,
  assertOnlyUnavailable,
  Customer,
  startCarillon,
  untilRefused,
  untilWorking,
} from './carillon.ts'
import { databaseName } from './postgres.ts'
import { promote, startPair } from './standby.ts'

test('after kill -9 of the primary and a failover under load, nothing that was acknowledged is lost or doubled', async (t) => {
  const { primary, standby } = await startPair(t)
  const proxy = await startProxy({ target: primary.target })
  cleanUp(t, () => proxy.close())
  const strange: unknown[] = []
  using _ = loopFailed.subscribe(({ error }) => {
    if (!(error instanceof Unavailable)) strange.push(error)
  })
  const { server, api } = await startCarillon(t, { url: proxy.databaseUrl(databaseName) })
  const receiver = await startReceiver(t)
  const execution = { callback_url: receiver.url }
  const { job_id: jobId } = await api.post<{ job_id: string }>('/jobs', {
    ...{ name: 'tick', schedule: '* * * * * *', execution, overlap_policy: 'ALLOW' },
  })
  const customers = [1, 2, 3].map((n) => new Customer(t, server.url!, execution, `customer-${n}`))
  await untilWorking(receiver, customers)

  // Connections of before stay, and meet the refusal one by one.
  await primary.run('postgres', 'ALTER SYSTEM SET default_transaction_read_only = on')
  await primary.run('postgres', 'SELECT pg_reload_conf()')
  await untilRefused(customers)
  await primary.run('postgres', 'ALTER SYSTEM RESET default_transaction_read_only')
  await primary.run('postgres', 'SELECT pg_reload_conf()')
  await untilWorking(receiver, customers)

  // The address has moved and the standby is not promoted yet: it answers, and takes nothing.
  proxy.redirect(standby.target)
  await untilRefused(customers)
  proxy.redirect(primary.target)
  await untilWorking(receiver, customers)

  await primary.kill()
  await promote(standby)
  proxy.redirect(standby.target)
  await untilWorking(receiver, customers)

  await Promise.all(customers.map((one) => one.stop()))
  const client = await standby.connect(t)
  await assertAllRan(client, customers)
  for (const { refused } of customers) assertOnlyUnavailable(refused)
  await assertEachSlotOnce(client, { jobId, receiver })
  await assertWhole(client)
  assert.deepEqual(strange, [])
})

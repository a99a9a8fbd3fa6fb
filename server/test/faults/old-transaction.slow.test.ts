// Somebody leaves a transaction open, and PostgreSQL can clear nothing away that it still sees. Everything goes on, and
// there is a figure that says so.
import assert from 'node:assert/strict'
import test from 'node:test'
import { connect } from '../database.ts'
import { until } from '../e2e/api.ts'
import { startReceiver } from '../e2e/receiver.ts'
import { assertWhole } from '../races/invariants.ts'
import {
  assertAllRan,
  assertEachSlotOnce,
  Customer,
  startCarillon,
  untilWorking,
  useProxy,
} from './carillon.ts'

const acknowledgedMin = 300

async function oldestOf(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const [, seconds] = /^carillon_oldest_transaction_seconds (\S+)$/m.exec(text) ?? []
  assert(seconds !== undefined, text)
  return Number(seconds)
}

test('under an old snapshot everything goes on, and a metric tells of it', async (t) => {
  const { address, client, url } = await useProxy(t)
  const { server, api } = await startCarillon(t, { url })
  const old = await connect(t, address)
  await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  const { rows } = await old.query<{ jobs: string }>('SELECT count(*) AS jobs FROM jobs')
  assert.equal(Number(rows[0]!.jobs), 0)

  const receiver = await startReceiver(t)
  const execution = { callback_url: receiver.url }
  const { job_id: jobId } = await api.post<{ job_id: string }>('/jobs', {
    ...{ name: 'tick', schedule: '* * * * * *', execution, overlap_policy: 'ALLOW' },
  })
  const customers = [1, 2, 3].map((n) => new Customer(t, server.url!, execution, `customer-${n}`))
  await until(() => {
    const sum = customers.reduce((total, { acknowledged }) => total + acknowledged.size, 0)
    return sum >= acknowledgedMin ? true : null
  }, 'there is work done that cannot be cleared away')
  await client.query('VACUUM batches')
  const { rows: dead } = await client.query<{ n: number }>(
    `SELECT n_dead_tup::int AS n FROM pg_stat_user_tables WHERE relname = 'batches'`,
  )
  assert(dead[0]!.n >= acknowledgedMin / 2, `${dead[0]!.n} dead rows are kept`)
  await until(async () => ((await oldestOf(server.url!)) >= 2 ? true : null), 'the metric has grown')

  await old.query('ROLLBACK')
  await until(async () => ((await oldestOf(server.url!)) < 2 ? true : null), 'the metric has fallen')
  await untilWorking(receiver, customers)
  await Promise.all(customers.map((one) => one.stop()))
  await assertAllRan(client, customers)
  await assertEachSlotOnce(client, { jobId, receiver })
  await assertWhole(client)
})

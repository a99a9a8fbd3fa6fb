// PostgreSQL is restarted and killed under load, with Carillon in processes of its own: nothing acknowledged is lost,
// each slot runs once, no process ends, and all goes on by itself.
import assert from 'node:assert/strict'
import test from 'node:test'
import { makeDataDir } from '../data-dir.ts'
import { callApi } from '../e2e/api.ts'
import { Program } from '../e2e/program.ts'
import { startReceiver } from '../e2e/receiver.ts'
import { assertWhole } from '../races/invariants.ts'
import {
  apiKey,
  assertAllRan,
  assertEachSlotOnce,
  assertOnlyUnavailable,
  Customer,
  untilRefused,
  untilWorking,
} from './carillon.ts'
import { startOwnPostgres } from './postgres.ts'

test('PostgreSQL restarts and is killed under load: nothing is lost or doubled, and no process ends', async (t) => {
  const postgres = await startOwnPostgres(t)
  const dataDir = await makeDataDir(t)
  const start = (roles: string) =>
    new Program(t, {
      dataDir,
      env: {
        CARILLON_DATABASE_URL: postgres.url,
        CARILLON_API_KEY: apiKey,
        CARILLON_ROLES: roles,
        CARILLON_PROCESSES: '1',
      },
    })
  const programs = [start('api,scheduler'), start('scheduler,worker')]
  const url = await programs[0]!.ready()
  await programs[1]!.says(/is ready/)
  const receiver = await startReceiver(t)
  const execution = { callback_url: receiver.url }
  const { job_id: jobId } = await callApi(url, apiKey).post<{ job_id: string }>('/jobs', {
    name: 'tick',
    schedule: '* * * * * *',
    execution,
    overlap_policy: 'ALLOW',
  })
  const customers = [1, 2, 3].map((n) => new Customer(t, url, execution, `customer-${n}`))
  await untilWorking(receiver, customers)

  for (const end of ['stop', 'kill'] as const) {
    await postgres[end]()
    await untilRefused(customers)
    await postgres.start()
    await untilWorking(receiver, customers)
  }

  await Promise.all(customers.map((one) => one.stop()))
  const client = await postgres.connect(t)
  await assertAllRan(client, customers)
  for (const { refused } of customers) assertOnlyUnavailable(refused)
  await assertEachSlotOnce(client, { jobId, receiver })
  await assertWhole(client)
  for (const program of programs) assert.equal(program.child.exitCode, null, program.said())
})

// Fifty clients send one request at the same moment, all with the same idempotency key, over real connections to a
// whole server on a real PostgreSQL: it is done once.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { readConfig } from '../../src/config/read.ts'
import { startServer } from '../../src/wiring/server.ts'
import { cleanUp } from '../cleanup.ts'
import { connect, createDatabase } from '../database.ts'

const operatorKey = 'crl_probe-operator-key'
const clients = 50
const job = {
  name: 'once',
  schedule: '0 10 1 1 *',
  execution: { callback_url: 'http://127.0.0.1:9/' },
  overlap_policy: 'ALLOW',
}

async function setup(t: TestContext) {
  const address = await createDatabase(t)
  const config = readConfig({ CARILLON_PORT: '0', CARILLON_DRAIN_SECONDS: '1' })
  const api = { operatorKey }
  // Nothing runs the created executions: they stay to be counted.
  const server = await startServer({ config, roles: ['api'], address, api })
  cleanUp(t, () => server.stop())
  const client = await connect(t, address)
  const post = async (path: string, key: string, body: unknown) => {
    const response = await fetch(`${server.url}/api/v1${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${operatorKey}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify(body),
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  const count = async (table: string) => {
    const { rows } = await client.query(`SELECT count(*)::int AS count FROM ${table}`)
    return rows[0].count as number
  }
  return { post, count }
}

test('fifty creations with one key make one job, and every client not told to wait receives that job', async (t) => {
  const { post, count } = await setup(t)
  const answers = await Promise.all(Array.from({ length: clients }, () => post('/jobs', 'a', job)))
  assert.equal(await count('jobs'), 1)
  const created = answers.filter(({ status }) => status === 201)
  assert(created.length > 0)
  assert.equal(new Set(created.map(({ text }) => text)).size, 1)
  assert.equal(created.filter(({ headers }) => headers.get('idempotency-replayed') === null).length, 1)
  for (const { status, headers, text } of answers.filter((one) => one.status !== 201)) {
    assert.deepEqual([status, JSON.parse(text).code], [409, 'IDEMPOTENCY_KEY_IN_USE'])
    assert.equal(headers.get('retry-after'), '1')
  }
  const later = await post('/jobs', 'a', job)
  assert.deepEqual([later.status, later.text], [201, created[0]!.text])
  const other = await post('/jobs', 'a', { ...job, name: 'another' })
  assert.deepEqual([other.status, JSON.parse(other.text).code], [422, 'IDEMPOTENCY_KEY_REUSED'])
  assert.equal(await count('jobs'), 1)
})

test('fifty triggers with one key make one execution; fifty keys make fifty', async (t) => {
  const { post, count } = await setup(t)
  const { job_id: jobId } = JSON.parse((await post('/jobs', 'job', job)).text)
  const path = `/jobs/${jobId}/trigger`
  const answers = await Promise.all(Array.from({ length: clients }, () => post(path, 'a', {})))
  assert.equal(await count('live'), 1)
  assert(answers.every(({ status }) => status === 202 || status === 409))
  const each = await Promise.all(Array.from({ length: clients }, (_, n) => post(path, `key-${n}`, {})))
  assert.deepEqual([...new Set(each.map(({ status }) => status))], [202])
  assert.equal(await count('live'), 1 + clients)
})

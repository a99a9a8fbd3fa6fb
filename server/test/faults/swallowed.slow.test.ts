// Loses the replies to commits on the network, under every kind of work: each write takes effect once, and a user or
// one of our loops that repeats it finds that effect.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import test from 'node:test'
import pg from 'pg'
import { cleanUp } from '../cleanup.ts'
import { until } from '../e2e/api.ts'
import { type Call, type Receiver, startReceiver } from '../e2e/receiver.ts'
import { assertWhole } from '../races/invariants.ts'
import {
  type Answer,
  assertAllRan,
  assertEachSlotOnce,
  assertOnlyUnavailable,
  Customer,
  callsTwice,
  post,
  startCarillon,
  useProxy,
} from './carillon.ts'

const swallowedShare = 0.15
const swallowedMin = 60
const each = 8

/** Repeats a request with the same key until it is answered, also while its first try is still in progress. */
async function insist(url: string, path: string, body: object, key: string): Promise<Answer> {
  return until(async () => {
    const answer = await post(url, path, body, key)
    if (answer.status === 503) {
      assertOnlyUnavailable([answer])
      return null
    }
    return answer.body.code === 'IDEMPOTENCY_KEY_IN_USE' ? null : answer
  }, `${path} is answered`)
}

interface Scene {
  url: string
  /** Several look at once. */
  client: pg.Pool
  receiver: Receiver
}

/** Fails each execution once, takes some to be completed later, hangs on some. */
function createTarget() {
  const failed = new Set<string>()
  const taken: { executionId: string; token: string }[] = []
  return {
    taken,
    answer(call: Call, response: ServerResponse) {
      const executionId = String(call.headers['x-execution-id'])
      if (call.path === '/fail-once' && !failed.has(executionId)) {
        failed.add(executionId)
        response.statusCode = 500
      }
      if (call.path === '/dead') response.statusCode = 400
      if (call.path === '/async') {
        taken.push({ executionId, token: String(call.headers['x-carillon-token']) })
        response.statusCode = 202
        response.setHeader('x-carillon-async', 'true')
      }
      if (call.path !== '/hang') response.end('{"done":true}')
    },
  }
}

async function createJob({ url, receiver }: Scene, name: string, changes: object = {}): Promise<string> {
  const job = {
    ...{ name, schedule: '0 0 1 1 *', overlap_policy: 'ALLOW' },
    execution: { callback_url: `${receiver.url}/${name}` },
    retry_policy: { max_retries: 3, backoff: 'FIXED', initial_delay_ms: 100, max_delay_ms: 1_000 },
    ...changes,
  }
  const answer = await insist(url, '/jobs', job, `create-${name}`)
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  return answer.body.job_id
}

/** Triggered so often, each under a key of its own. */
async function trigger({ url }: Scene, jobId: string): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < each; n++) {
    const { status, body } = await insist(url, `/jobs/${jobId}/trigger`, {}, `trigger-${jobId}-${n}`)
    assert.equal(status, 202, JSON.stringify(body))
    ids.push(body.execution_id)
  }
  return ids
}

async function outcomesOf({ client }: Scene, ids: readonly string[]): Promise<string[]> {
  return until(async () => {
    const { rows } = await client.query<{ outcome: string }>(
      'SELECT outcome FROM attempts WHERE final AND execution_id = ANY ($1)',
      [ids],
    )
    return rows.length === ids.length ? rows.map(({ outcome }) => outcome) : null
  }, 'all of them have ended')
}

const all = (outcome: string) => Array.from({ length: each }, () => outcome)

/** Each a kind of work; returns once it is as it should be. */
const works: Record<string, (scene: Scene, target: ReturnType<typeof createTarget>) => Promise<void>> = {
  async 'retries, each attempt once'(scene) {
    const ids = await trigger(scene, await createJob(scene, 'fail-once'))
    assert.deepEqual(await outcomesOf(scene, ids), all('succeeded'))
    const { rows } = await scene.client.query(
      `SELECT execution_id FROM attempts WHERE execution_id = ANY ($1) GROUP BY execution_id
      HAVING array_agg(outcome ORDER BY attempt) <> '{failed,succeeded}'`,
      [ids],
    )
    assert.deepEqual(rows, [])
  },

  async 'one after the other for a limit'(scene) {
    const ids = await trigger(scene, await createJob(scene, 'limited', { concurrency_limit: 1 }))
    assert.deepEqual(await outcomesOf(scene, ids), all('succeeded'))
  },

  async 'completed later by the target'(scene, { taken }) {
    const ids = await trigger(scene, await createJob(scene, 'async'))
    await until(() => (taken.length >= each ? true : null), 'the target has taken them')
    for (const { executionId, token } of taken) {
      const answer = await until(async () => {
        const response = await fetch(`${scene.url}/api/v1/executions/${executionId}/complete`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ status: 'succeeded' }),
        })
        return response.status === 503 ? null : { status: response.status, text: await response.text() }
      }, 'the word of the target is taken')
      assert.equal(answer.status, 200, answer.text)
    }
    assert.deepEqual(await outcomesOf(scene, ids), all('succeeded'))
  },

  async 'cancelled while it runs'(scene) {
    const jobId = await createJob(scene, 'hang')
    const ids = await trigger(scene, jobId)
    for (const id of ids) {
      const { status, body } = await insist(scene.url, `/executions/${id}/cancel`, {}, `cancel-${id}`)
      assert([200, 202].includes(status), JSON.stringify(body))
    }
    assert.deepEqual(await outcomesOf(scene, ids), all('cancelled'))
  },

  async 'dead letters, redriven'(scene) {
    const jobId = await createJob(scene, 'dead')
    const ids = await trigger(scene, jobId)
    assert.deepEqual(await outcomesOf(scene, ids), all('failed'))
    const order = { execution_ids: ids }
    const { status, body } = await insist(scene.url, '/dead-letters/redrive', order, 'redrive')
    assert.equal(status, 202, JSON.stringify(body))
    const again = (body.redriven as { new_execution_id: string }[]).map((one) => one.new_execution_id)
    assert.deepEqual(await outcomesOf(scene, again), all('failed'))
    const { rows } = await scene.client.query(
      `SELECT count(*)::int AS n FROM attempts WHERE final AND job_id = $1`,
      [jobId],
    )
    assert.equal(rows[0].n, 2 * each)
  },

  async 'a graph, each job of a run once'(scene) {
    const root = await createJob(scene, 'root')
    const child = (name: string, parents: string[]) =>
      createJob(scene, name, {
        schedule: undefined,
        depends_on: parents.map((job_id) => ({ job_id })),
      })
    const [left, right] = [await child('left', [root]), await child('right', [root])]
    const last = await child('last', [left, right])
    await trigger(scene, root)
    await until(async () => {
      const { rows } = await scene.client.query(
        `SELECT count(*)::int AS n FROM attempts WHERE final AND outcome = 'succeeded' AND job_id = $1`,
        [last],
      )
      return rows[0].n >= each ? true : null
    }, 'every run has come to its end')
    const { rows } = await scene.client.query(
      `SELECT count(*)::int AS n FROM attempts WHERE final AND job_id = ANY ($1)`,
      [[root, left, right, last]],
    )
    assert.equal(rows[0].n, 4 * each)
  },

  async 'a backfill, each slot once'(scene) {
    const jobId = await createJob(scene, 'backfill', { schedule: '0 0 * * *' })
    const range = { from: '2025-12-01T00:00:00Z', to: '2025-12-08T12:00:00Z', max_concurrent: 3 }
    const { status, body } = await insist(scene.url, `/jobs/${jobId}/backfill`, range, 'backfill')
    assert.equal(status, 202, JSON.stringify(body))
    const { total } = body.progress
    await until(async () => {
      const { rows } = await scene.client.query(
        `SELECT count(*)::int AS n FROM attempts WHERE final AND outcome = 'succeeded' AND job_id = $1`,
        [jobId],
      )
      assert(rows[0].n <= total)
      return rows[0].n === total ? true : null
    }, 'the backfill is through')
  },
}

test('answers to commits are lost again and again: everything is written once', {
  concurrency: true,
}, async (t) => {
  const { address, client, proxy, url: databaseUrl } = await useProxy(t)
  const pool = new pg.Pool({ host: address.socketDir, user: 'postgres', database: address.database, max: 4 })
  // Its server goes away when the test is over.
  pool.on('error', () => {})
  cleanUp(t, () => pool.end())
  const { server, api } = await startCarillon(t, { url: databaseUrl })
  const target = createTarget()
  const receiver = await startReceiver(t, { answer: target.answer })
  const scene = { url: server.url!, client: pool, receiver }
  const { job_id: tick } = await api.post<{ job_id: string }>('/jobs', {
    ...{ name: 'tick', schedule: '* * * * * *', execution: { callback_url: `${receiver.url}/tick` } },
    overlap_policy: 'ALLOW',
  })
  const customer = new Customer(t, scene.url, { callback_url: `${receiver.url}/customer` })
  proxy.swallowCommitReplies({ share: swallowedShare })
  const tests = Object.entries(works).map(([name, work]) => t.test(name, () => work(scene, target)))
  await Promise.all(tests)
  await until(() => (proxy.swallowed >= swallowedMin ? true : null), 'enough answers are lost')
  t.diagnostic(`${proxy.swallowed} answers to commits were lost`)
  proxy.heal()
  await customer.stop()
  await assertAllRan(client, [customer])
  assertOnlyUnavailable(customer.refused)
  await assertEachSlotOnce(client, { jobId: tick, receiver })
  assert.deepEqual(callsTwice(receiver), [])
  await assertWhole(client)
})

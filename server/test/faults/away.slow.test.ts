// While the database is away: running executions go on, results are kept and written later, the API says so; and when
// it is back, every live process renews its lease before another takes it for dead.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import test, { type TestContext } from 'node:test'
import type pg from 'pg'
import { realTimers } from '../../src/lib/time/timers.ts'
import { loopFailed } from '../../src/telemetry/events.ts'
import { until } from '../e2e/api.ts'
import { type Call, type Receiver, startReceiver } from '../e2e/receiver.ts'
import { assertWhole } from '../races/invariants.ts'
import { post, startCarillon, useProxy } from './carillon.ts'

interface Held {
  receiver: Receiver
  responses: ServerResponse[]
  /** Calls that were given up by the caller. */
  aborted: Call[]
}

/** A target that answers when the test says so. */
async function startHeldReceiver(t: TestContext): Promise<Held> {
  const responses: ServerResponse[] = []
  const aborted: Call[] = []
  const receiver = await startReceiver(t, {
    answer(call, response) {
      responses.push(response)
      response.on('close', () => {
        if (!response.writableFinished) aborted.push(call)
      })
    },
  })
  return { receiver, responses, aborted }
}

async function runOne(url: string, { receiver }: Held): Promise<string> {
  const execution = { callback_url: receiver.url, timeout_seconds: 600 }
  const answer = await post(url, '/jobs', { name: 'one', schedule: { type: 'IMMEDIATE' }, execution })
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  await until(() => (receiver.calls.length === 1 ? true : null), 'its call has begun')
  return answer.body.execution_id
}

async function attemptsOf(client: pg.Client, executionId: string): Promise<[number, string][]> {
  const { rows } = await client.query<{ attempt: number; outcome: string }>(
    'SELECT attempt, outcome FROM attempts WHERE execution_id = $1 ORDER BY attempt',
    [executionId],
  )
  return rows.map(({ attempt, outcome }) => [attempt, outcome])
}

async function untilEnded(client: pg.Client, executionId: string): Promise<[number, string][]> {
  return until(async () => {
    const attempts = await attemptsOf(client, executionId)
    return attempts.some(([, outcome]) => outcome === 'succeeded') ? attempts : null
  }, 'it has succeeded')
}

// All at once: each waits most of the time.
test('the database is away', { concurrency: true }, async (t) => {
  const tests = [
    t.test('for 20 s: a call of 30 s lives through it in one attempt', async (t) => {
      const { client, openProxy, proxy, url } = await useProxy(t)
      const other = await openProxy()
      const { server } = await startCarillon(t, { url, roles: ['api', 'scheduler'] })
      await startCarillon(t, { url: other.url, roles: ['worker'] })
      const held = await startHeldReceiver(t)
      const executionId = await runOne(server.url!, held)
      const began = performance.now()
      const second = (n: number) => realTimers.wait(began + n * 1_000 - performance.now())
      await second(3)
      proxy.cut()
      other.proxy.cut()
      // The watcher is back before the processes it watches, which were silent for longer than their lease.
      await second(21)
      proxy.restore()
      await second(23)
      other.proxy.restore()
      await second(30)
      held.responses[0]!.end('{"done":true}')
      assert.deepEqual(await untilEnded(client, executionId), [[1, 'succeeded']])
      assert.deepEqual([held.receiver.calls.length, held.aborted.length], [1, 0])
      await assertWhole(client)
    }),

    t.test(
      'results that arrive during an outage are kept and written once it is over, and the API says when to retry',
      async (t) => {
        const { client, proxy, url } = await useProxy(t)
        const retries = new Set<number>()
        using _ = loopFailed.subscribe(({ failures, retryMs }) => {
          if (failures === 1) retries.add(retryMs)
        })
        const { server } = await startCarillon(t, { url })
        const held = await startHeldReceiver(t)
        const executionId = await runOne(server.url!, held)
        proxy.cut()
        const execution = { callback_url: held.receiver.url }
        const two = { name: 'two', schedule: { type: 'IMMEDIATE' }, execution }
        const refused = await post(server.url!, '/jobs', two)
        assert.deepEqual([refused.status, refused.retryAfter !== null], [503, true])
        held.responses[0]!.end('{"done":true}')
        await until(() => (held.responses[0]!.writableFinished ? true : null), 'its target has answered')
        // So many that equal ones would be no accident: they do not all come back at the same moment.
        await until(
          () => (retries.size >= 5 ? true : null),
          'loops wait to try again, each for a time of its own',
        )
        proxy.restore()
        assert.deepEqual(await untilEnded(client, executionId), [[1, 'succeeded']])
        assert.equal(held.receiver.calls.length, 1)
        await assertWhole(client)
      },
    ),

    t.test(
      'for longer than attempts may go on: they are given up, and run again once it is back',
      async (t) => {
        const { client, proxy, url } = await useProxy(t)
        const { server } = await startCarillon(t, { url, outageMs: 3_000 })
        const held = await startHeldReceiver(t)
        const executionId = await runOne(server.url!, held)
        // Nobody is told that it is away: nothing answers any more.
        proxy.stall()
        await until(() => (held.aborted.length === 1 ? true : null), 'the call is given up')
        assert.deepEqual(await attemptsOf(client, executionId), [])
        proxy.resume()
        await until(() => (held.receiver.calls.length === 2 ? true : null), 'it runs again')
        held.responses[1]!.end('{"done":true}')
        const attempts = await untilEnded(client, executionId)
        assert.deepEqual(
          attempts.map(([, outcome]) => outcome),
          ['lost', 'succeeded'],
        )
        const keys = held.receiver.calls.map(({ headers }) => headers['x-idempotency-key'])
        assert.equal(new Set(keys).size, 1)
        await assertWhole(client)
      },
    ),

    t.test(
      'when the database is away for one worker only and others end its lease, it aborts its call as soon as it learns of it',
      async (t) => {
        const { client, openProxy, url } = await useProxy(t)
        const other = await openProxy()
        const { server } = await startCarillon(t, { url, roles: ['api', 'scheduler'] })
        await startCarillon(t, { url: other.url, roles: ['worker'] })
        const held = await startHeldReceiver(t)
        const executionId = await runOne(server.url!, held)
        const { rows } = await client.query<{ worker_id: string }>('SELECT worker_id FROM workers')
        other.proxy.cut()
        await server.reclaim(rows[0]!.worker_id)
        assert.deepEqual([held.aborted.length, await attemptsOf(client, executionId)], [0, [[1, 'lost']]])
        other.proxy.restore()
        await until(() => (held.aborted.length === 1 ? true : null), 'the call is given up')
        await until(() => (held.receiver.calls.length === 2 ? true : null), 'it runs again')
        held.responses[1]!.end('{"done":true}')
        assert.deepEqual(await untilEnded(client, executionId), [
          [1, 'lost'],
          [2, 'succeeded'],
        ])
        await assertWhole(client)
      },
    ),
  ]
  await Promise.all(tests)
})

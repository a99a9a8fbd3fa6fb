// SIGTERM to a process of each role: it reports not ready, takes no more work, ends or hands back its executions in
// flight, and gives up its leases.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import test, { type TestContext } from 'node:test'
import { realTimers } from '../../src/lib/time/timers.ts'
import { until } from '../e2e/api.ts'
import { startReceiver } from '../e2e/receiver.ts'
import { createFleet, type Fleet, type Process, untilHeldBy, withTime } from './fleet.ts'

/** A target that answers when it is told to, and jobs that call it. */
async function setup(t: TestContext) {
  const fleet = await createFleet(t)
  const open: ServerResponse[] = []
  const receiver = await startReceiver(t, { answer: (_call, response) => void open.push(response) })
  const execution = { callback_url: receiver.url, timeout_seconds: 300 }
  const request = { name: 'a', schedule: { type: 'IMMEDIATE' }, execution }
  async function run({ api }: Process): Promise<string> {
    return (await api.post<{ execution_id: string }>('/jobs', request, 201)).execution_id
  }
  const calls = (count: number) => until(() => (open.length === count ? true : null), `${count} calls`)
  const answerAll = () => {
    for (const response of open) response.end('{}')
  }
  return { fleet, run, calls, answerAll }
}

async function recorded({ client }: Fleet, executionId: string): Promise<string[]> {
  const { rows } = await client.query<{ outcome: string }>(
    'SELECT outcome FROM attempts WHERE execution_id = $1 ORDER BY attempt',
    [executionId],
  )
  return rows.map((row) => row.outcome)
}

async function count({ client }: Fleet, table: 'workers' | 'schedulers'): Promise<number> {
  const { rows } = await client.query(`SELECT count(*)::int AS n FROM ${table}`)
  return rows[0].n
}

test(
  'an api that stops is not ready at once, and ends the requests that are under way',
  withTime,
  async (t) => {
    const { fleet } = await setup(t)
    const api = await fleet.start('api')
    const slow = fetch(`${api.url}/echo?delay_ms=3000`).then((response) => response.status)
    // It is under way once another one, sent after it, was answered.
    assert.equal((await fetch(`${api.url}/readyz`)).status, 200)
    api.signal('SIGTERM')
    await until(async () => {
      const status = await fetch(`${api.url}/readyz`).then(
        (response) => response.status,
        () => 'refused',
      )
      return status === 200 ? null : true
    }, 'it is not ready')
    assert.equal(api.program.child.exitCode, null, 'a request is still under way')
    assert.equal(await slow, 200)
    assert.equal(await api.program.exit, 0, api.program.said())
  },
)

test(
  'a worker that stops claims nothing more, ends its running executions, and is gone',
  withTime,
  async (t) => {
    const { fleet, run, calls, answerAll } = await setup(t)
    const [main, worker] = await Promise.all([fleet.start('api,scheduler'), fleet.start('worker')])
    const running = await run(main!)
    await calls(1)
    worker!.signal('SIGTERM')
    await until(async () => {
      const { rows } = await fleet.client.query(`SELECT FROM workers WHERE status = 'DRAINING'`)
      return rows.length === 1 ? true : null
    }, 'others see that it takes nothing more')
    const later = await run(main!)
    answerAll()
    assert.equal(await worker!.program.exit, 0, worker!.program.said())
    assert.deepEqual([await recorded(fleet, running), await recorded(fleet, later)], [['succeeded'], []])
    assert.equal(await count(fleet, 'workers'), 0)
    assert.deepEqual(main!.events('worker.reclaimed'), [])
  },
)

test(
  'an execution that takes longer than the drain time is lost without a retry spent, and runs elsewhere',
  withTime,
  async (t) => {
    const { fleet, run, calls, answerAll } = await setup(t)
    const env = { CARILLON_DRAIN_SECONDS: '1' }
    const [main, worker] = await Promise.all([fleet.start('api,scheduler'), fleet.start('worker', { env })])
    const executionId = await run(main!)
    await calls(1)
    await worker!.stop()
    const { rows } = await fleet.client.query('SELECT attempt, losses FROM live WHERE execution_id = $1', [
      executionId,
    ])
    assert.deepEqual([rows[0]?.attempt, rows[0]?.losses], [1, 1], 'it was called, and no retry is spent')
    await fleet.start('worker')
    await calls(2)
    answerAll()
    await until(async () => ((await recorded(fleet, executionId)).length > 1 ? true : null), 'it ends')
    assert.deepEqual(await recorded(fleet, executionId), ['lost', 'succeeded'])
  },
)

test(
  'a second signal, more than a second later, ends a worker at once; one within the second is the same',
  withTime,
  async (t) => {
    const { fleet, run, calls } = await setup(t)
    const [main, worker] = await Promise.all([fleet.start('api,scheduler'), fleet.start('worker')])
    await run(main!)
    await calls(1)
    worker!.signal('SIGTERM')
    worker!.signal('SIGINT')
    await worker!.program.says(/Stopping/)
    // Whether a signal counts as a second one depends on the time between them.
    await realTimers.wait(1_100)
    assert.equal(worker!.program.child.exitCode, null, 'it waits for the call')
    worker!.signal('SIGTERM')
    assert.equal(await worker!.program.exit, 130, worker!.program.said())
  },
)

test(
  'a process of all roles that stops says so, is alive, and gives its partitions away while its worker drains',
  withTime,
  async (t) => {
    const { fleet, run, calls, answerAll } = await setup(t)
    const [all, other] = await Promise.all([fleet.start('api,scheduler,worker'), fleet.start('scheduler')])
    await untilHeldBy(fleet, 2)
    const executionId = await run(all!)
    await calls(1)
    all!.signal('SIGTERM')
    await untilHeldBy(fleet, 1)
    assert.equal(all!.program.child.exitCode, null, 'the call is still under way')
    assert.deepEqual(other!.events('scheduler.expelled'), [])
    const ready = await fetch(`${all!.url}/readyz`)
    const { status, checks } = (await ready.json()) as { status: string; checks: object }
    assert.deepEqual([ready.status, status, checks], [503, 'not_ready', { server: 'stopping' }])
    assert.equal((await fetch(`${all!.url}/livez`)).status, 200)
    assert.equal((await fetch(`${all!.url}/openapi.json`)).status, 503)
    answerAll()
    assert.equal(await all!.program.exit, 0, all!.program.said())
    assert.deepEqual(await recorded(fleet, executionId), ['succeeded'])
    assert.deepEqual([await count(fleet, 'workers'), await count(fleet, 'schedulers')], [0, 1])
  },
)

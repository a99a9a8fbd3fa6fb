// A worker dies or freezes in the middle of a call: another runs the execution, and the late report of the first is
// refused and recorded as rejected.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import test, { type TestContext } from 'node:test'
import { until, untilStatus } from '../e2e/api.ts'
import { startReceiver } from '../e2e/receiver.ts'
import { createFleet, type Fleet, type Process, withTime } from './fleet.ts'

interface Shown {
  worker_id: string
  attempts: { outcome: string; worker_id: string; error: { type: string } | null }[]
}

/** One worker has an execution under way at a target that answers when it is told to. */
async function setup(t: TestContext) {
  const fleet = await createFleet(t)
  const open: ServerResponse[] = []
  const receiver = await startReceiver(t, { answer: (_call, response) => void open.push(response) })
  const [main, worker] = await Promise.all([fleet.start('api,scheduler'), fleet.start('worker')])
  const { api } = main!
  const execution = { callback_url: receiver.url, timeout_seconds: 300 }
  const request = { name: 'a', schedule: { type: 'IMMEDIATE' }, execution }
  const { execution_id: id } = await api.post<{ execution_id: string }>('/jobs', request, 201)
  await until(() => (open.length === 1 ? true : null), 'it is called')
  // It has left its batch, as every long execution does: its row names the worker.
  await until(async () => {
    const { rows } = await fleet.client.query('SELECT FROM live WHERE execution_id = $1', [id])
    return rows.length === 1 ? true : null
  }, 'it is a row of its own')
  const answer = (call: number) => open[call]!.end('{"done":true}')
  const calls = (count: number) => until(() => (open.length === count ? true : null), `${count} calls`)
  return { fleet, receiver, main: main!, worker: worker!, api, id, answer, calls }
}

async function workerIds({ client }: Fleet): Promise<string[]> {
  return (await client.query<{ worker_id: string }>('SELECT worker_id FROM workers')).rows.map(
    (row) => row.worker_id,
  )
}

async function logOf({ api }: Process, id: string): Promise<string[]> {
  const { logs } = await api.get<{ logs: { attempt_number: number; message: string }[] }>(
    `/executions/${id}/logs`,
  )
  return logs.map((one) => `${one.attempt_number} ${one.message}`)
}

test(
  'after kill -9 of a worker its execution runs elsewhere, with the same key and no retry spent',
  withTime,
  async (t) => {
    const { fleet, receiver, main, worker, api, id, answer, calls } = await setup(t)
    const [dead] = await workerIds(fleet)
    worker.signal('SIGKILL')
    await worker.program.exit
    const other = await fleet.start('worker')
    await calls(2)
    answer(1)
    await untilStatus(api, id, 'SUCCEEDED')
    const { attempts, worker_id: by } = await api.get<Shown>(`/executions/${id}`)
    assert.deepEqual(
      attempts.map(({ outcome, worker_id }) => [outcome, worker_id]),
      [
        ['lost', dead],
        ['succeeded', by],
      ],
    )
    assert.notEqual(by, dead)
    const keys = receiver.calls.map(({ headers }) => headers['x-idempotency-key'])
    assert.equal(new Set(keys).size, 1)
    assert.equal(main.events('worker.reclaimed').length, 1)
    const { workers } = await api.get<{ workers: { worker_id: string; status: string }[] }>('/workers')
    assert.deepEqual(
      workers.map((one) => [one.worker_id, one.status]),
      [
        [dead, 'DEAD'],
        [by, 'ACTIVE'],
      ],
    )
    await other.stop()
    assert.deepEqual(await workerIds(fleet), [])
  },
)

test(
  'the result of a worker that stood still is refused, the log of the execution says so, and the other one counts',
  withTime,
  async (t) => {
    const { fleet, main, worker, api, id, answer, calls } = await setup(t)
    const [paused] = await workerIds(fleet)
    worker.signal('SIGSTOP')
    answer(0)
    const other = await fleet.start('worker')
    await calls(2)
    worker.signal('SIGCONT')
    const late = `1 A late result of attempt 1 (SUCCEEDED, HTTP 200) from worker ${paused} was refused: the execution had been taken from it.`
    await until(async () => ((await logOf(main, id)).includes(late) ? true : null), 'it is refused')
    assert.equal((await api.get<{ status: string }>(`/executions/${id}`)).status, 'RUNNING')
    answer(1)
    await untilStatus(api, id, 'SUCCEEDED')
    const { attempts, worker_id: by } = await api.get<Shown>(`/executions/${id}`)
    assert.deepEqual(
      attempts.map(({ outcome, worker_id }) => [outcome, worker_id]),
      [
        ['lost', paused],
        ['succeeded', by],
      ],
    )
    assert.notEqual(by, paused)
    assert.deepEqual(
      [worker, other].map((one) => one.events('attempt.refused').length),
      [1, 0],
    )
    // The one that stood still goes on as another.
    await until(async () => {
      const ids = await workerIds(fleet)
      return ids.length === 2 && !ids.includes(paused!) ? true : null
    }, 'it is registered anew')
  },
)

// The whole program as its users meet it: a job fires, calls back, retries, dies, is redriven; and a program that is
// killed in the middle goes on where it was.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import test from 'node:test'
import pg from 'pg'
import { cleanUp } from '../cleanup.ts'
import { makeDataDir } from '../data-dir.ts'
import { type Api, callApi, type ExecutionItem, until, untilStatus } from './api.ts'
import { kill, Program, untilGone } from './program.ts'
import { startReceiver } from './receiver.ts'

interface Job {
  job_id: string
  execution_id?: string
  schedule: { next_run_at: string | null }
}

interface Attempted extends ExecutionItem {
  attempts: { attempt_number: number; outcome: string; started_at: string; error: { type: string } | null }[]
}

test('a job fires every second, calls back, and its history is there', async (t) => {
  const program = new Program(t, { dataDir: await makeDataDir(t) })
  const api = callApi(await program.ready(), program.key())
  const receiver = await startReceiver(t)
  const { job_id: jobId } = await api.post<Job>(
    '/jobs',
    {
      name: 'tick',
      schedule: '* * * * * *',
      execution: {
        callback_url: `${receiver.url}/tick?a=1`,
        headers: { 'X-Mine': 'yes' },
        payload: { n: 1 },
      },
    },
    201,
  )
  await until(() => (receiver.calls.length >= 4 ? true : null), 'four calls')
  const calls = receiver.calls.slice(0, 4)
  for (const { atMs, method, path, headers, body } of calls) {
    assert.equal(method, 'POST')
    assert.equal(path, '/tick?a=1')
    assert.equal(body, '{"n":1}')
    assert.equal(headers['x-mine'], 'yes')
    assert.equal(headers['x-job-id'], jobId)
    assert.equal(headers['x-attempt-number'], '1')
    assert.match(String(headers['x-scheduled-time']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    assert.match(String(headers['traceparent']), /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    assert(atMs >= Date.parse(String(headers['x-scheduled-time'])), 'never early')
  }
  const slots = calls.map(({ headers }) => Date.parse(String(headers['x-scheduled-time'])))
  assert.deepEqual(
    slots.map((slot) => slot - slots[0]!),
    [0, 1_000, 2_000, 3_000],
  )
  assert.equal(new Set(calls.map(({ headers }) => headers['x-idempotency-key'])).size, 4)
  const ids = calls.map(({ headers }) => String(headers['x-execution-id']))
  const listed = await until(async () => {
    const { executions } = await api.get<{ executions: ExecutionItem[] }>(
      `/jobs/${jobId}/executions?status=SUCCEEDED`,
    )
    return ids.every((id) => executions.some(({ execution_id: one }) => one === id)) ? executions : null
  }, 'the history')
  assert(listed.every(({ kind, attempt_number: number }) => kind === 'slot' && number === 1))

  const triggered = await api.post<{ execution_id: string; status: string }>(
    `/jobs/${jobId}/trigger`,
    { payload_override: { n: 2 } },
    202,
  )
  await untilStatus(api, triggered.execution_id, 'SUCCEEDED')
  const call = receiver.calls.find(({ headers }) => headers['x-execution-id'] === triggered.execution_id)
  assert.equal(call?.body, '{"n":2}')
})

test('a target that is away costs the retries, then a dead letter; redrive works once it listens', async (t) => {
  const program = new Program(t, { dataDir: await makeDataDir(t) })
  const api = callApi(await program.ready(), program.key())
  const port = await freePort()
  const job = await api.post<Job>('/jobs', {
    name: 'dead end',
    schedule: { type: 'IMMEDIATE' },
    retry_policy: { max_retries: 2, initial_delay_ms: 200 },
    execution: { callback_url: `http://127.0.0.1:${port}/`, payload: { keep: 'me' } },
  })
  const failed = await until(async () => {
    const one = await api.get<Attempted & { dead_letter: boolean }>(`/executions/${job.execution_id}`)
    return one.status === 'FAILED' ? one : null
  }, 'all attempts failed')
  assert.equal(failed.dead_letter, true)
  assert.deepEqual(
    failed.attempts.map(({ attempt_number: number, error }) => [number, error?.type]),
    [1, 2, 3].map((number) => [number, 'CONNECTION_REFUSED']),
  )
  const starts = failed.attempts.map(({ started_at: at }) => Date.parse(at))
  // 200 ms then 400 ms, each times 0.75 to 1.25; it starts no earlier than that.
  assert(starts[1]! - starts[0]! >= 150 && starts[2]! - starts[1]! >= 300, JSON.stringify(starts))
  const { dead_letters: letters } = await api.get<{
    dead_letters: { execution_id: string; payload: unknown }[]
  }>('/dead-letters?include=payload')
  assert.deepEqual(
    letters.map(({ execution_id: id, payload }) => [id, payload]),
    [[job.execution_id, { keep: 'me' }]],
  )

  const receiver = await startReceiver(t, { port })
  const { redriven } = await api.post<{ redriven: { execution_id: string; new_execution_id: string }[] }>(
    '/dead-letters/redrive',
    { execution_ids: [job.execution_id] },
    202,
  )
  const again = await untilStatus(api, redriven[0]!.new_execution_id, 'SUCCEEDED')
  assert.equal(again.kind, 'redrive')
  const [call] = receiver.calls
  assert.equal(call!.body, '{"keep":"me"}')
  const { idempotency_key: key } = await api.get<{ idempotency_key: string }>(
    `/executions/${job.execution_id}`,
  )
  assert.equal(call!.headers['x-idempotency-key'], key)
  const { dead_letters: none } = await api.get<{ dead_letters: unknown[] }>('/dead-letters')
  assert.deepEqual(none, [])
})

test('all of 1,000 pending executions end once after kill -9 of the whole tree', async (t) => {
  const dataDir = await makeDataDir(t)
  const program = new Program(t, { dataDir })
  const api = callApi(await program.ready(), program.key())
  // Nobody gets an answer before the kill, so all are pending: running, or waiting for room at their host.
  const held: ServerResponse[] = []
  let answering = false
  const receiver = await startReceiver(t, {
    answer: (_call, response) => void (answering ? response.end('ok') : held.push(response)),
  })
  const ids = await createMany(api, receiver.url, 1_000)
  await until(() => (held.length >= 200 ? true : null), 'many run')
  const tree = program.tree()
  for (const pid of tree) kill(pid, 'SIGKILL')
  await untilGone(tree)
  assert(receiver.calls.length < 1_000, 'it was killed in the middle')
  answering = true

  const again = new Program(t, { dataDir })
  await again.ready()
  const client = new pg.Client({ host: join(dataDir, 'pg'), user: 'postgres', database: 'carillon' })
  await client.connect()
  cleanUp(t, () => client.end())
  await until(async () => {
    const { rows } = await client.query(`SELECT count(*)::int AS ended FROM attempts WHERE final`)
    return rows[0].ended >= 1_000 ? true : null
  }, 'all have ended')
  const { rows } = await client.query(
    `SELECT execution_id, count(*) FILTER (WHERE final)::int AS final,
      count(*) FILTER (WHERE outcome = 'succeeded')::int AS succeeded FROM attempts GROUP BY 1`,
  )
  assert.deepEqual(new Set(rows.map((row) => row.execution_id)), new Set(ids))
  assert(rows.every(({ final, succeeded }) => final === 1 && succeeded === 1))
  const { rows: left } = await client.query(
    `SELECT (SELECT count(*) FROM batches)::int + (SELECT count(*) FROM live)::int AS n`,
  )
  assert.equal(left[0].n, 0)
})

/** One that nobody listens on. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function createMany(api: Api, url: string, count: number): Promise<string[]> {
  const ids: string[] = []
  const create = async (n: number) => {
    const execution = { callback_url: url, payload: { n } }
    const job = await api.post<Job>('/jobs', { name: `job ${n}`, schedule: { type: 'IMMEDIATE' }, execution })
    ids.push(job.execution_id!)
  }
  for (let n = 0; n < count; n += 50) await Promise.all(Array.from({ length: 50 }, (_, k) => create(n + k)))
  return ids
}

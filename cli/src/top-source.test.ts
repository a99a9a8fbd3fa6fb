// Where `carillon top` gets it from: a stream that breaks and comes back, or a server that has none.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createClient } from '@carillon/sdk'
import { problem, type Script, startScriptedApi } from '../../sdk/test/scripted-api.ts'
import { readEvents } from './sse.ts'
import { readTop, type TopEvent } from './top-source.ts'

const pagination = { limit: 100, total: 3, total_capped: false, next_cursor: null }
const pulse = {
  as_of: '2026-01-01T00:00:00Z',
  started: 4,
  succeeded: 3,
  failed: 1,
  timed_out: 1,
  running: 2,
  waiting: 5,
}
const item = (n: number, status: string) => ({
  execution_id: `e${n}`,
  job_id: 'j',
  job_name: 'job',
  status,
  attempt_number: 1,
  started_at: status === 'PENDING' ? null : '2026-01-01T00:00:00Z',
  finished_at: null,
  duration_ms: null,
  error: null,
})

async function open(t: TestContext, script: Script) {
  const api = await startScriptedApi(t, script)
  const client = createClient({ url: api.url, key: 'k', retries: 0 })
  const connection = {
    url: api.url,
    client,
    patient: client,
    headers: { authorization: 'Bearer k' },
  }
  const stop = new AbortController()
  return { api, events: readTop(connection, stop.signal), stop }
}

/** Up to and with the one that is looked for. */
async function until(
  events: AsyncGenerator<TopEvent>,
  judge: (event: TopEvent) => boolean,
): Promise<TopEvent> {
  for (;;) {
    const { value, done } = await events.next()
    assert(done !== true)
    if (judge(value)) return value
  }
}

test('events arrive in pieces; comments say nothing', async () => {
  const text = ': hello\n\nid: 7\nevent: pulse\ndata: {"a":\ndata: 1}\n\nevent: x\r\ndata: "é"\r\n\r\n'
  const bytes = new TextEncoder().encode(text)
  const chunks = (async function* () {
    for (const byte of bytes) yield Uint8Array.of(byte)
  })()
  assert.deepEqual(await Array.fromAsync(readEvents(chunks)), [
    { id: '7', name: 'pulse', data: { a: 1 } },
    { id: null, name: 'x', data: 'é' },
  ])
})

test('a stream with an event of more than 4 MiB is refused', async () => {
  const chunks = (async function* () {
    const piece = new TextEncoder().encode(`data: ${'1'.repeat(65_536)}`)
    for (;;) yield piece
  })()
  await assert.rejects(Array.fromAsync(readEvents(chunks)), /max buffer size/)
})

test('a stream that ended is taken up again where it was left', async (t) => {
  const { api, events } = await open(t, ({ path }) =>
    path.startsWith('/api/v1/events')
      ? {
          headers: { 'content-type': 'text/event-stream' },
          text: `id: 41\nevent: pulse\ndata: ${JSON.stringify(pulse)}\n\n`,
        }
      : { body: { executions: [item(1, 'RUNNING')], pagination } },
  )
  const first = await until(events, ({ kind }) => kind === 'pulse')
  assert(first.kind === 'pulse')
  assert.deepEqual([first.pulse.failed, first.pulse.running, first.pulse.waiting], [2, 2, 5])
  await until(events, (event) => event.kind === 'source' && event.source === 'lost')
  await until(events, (event) => event.kind === 'source' && event.source === 'stream')
  const asked = api.asked.filter(({ path }) => path.startsWith('/api/v1/events'))
  assert.deepEqual(
    asked.map(({ headers }) => headers['last-event-id']),
    [undefined, '41'],
  )
})

test('a stream is not lost to the garbage collector while the newest executions are read', async (t) => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const { api, events } = await open(t, ({ path }) => {
    if (!path.startsWith('/api/v1/events')) {
      // Twice with a turn between: undici handles the body of a collected Response in a turn of its own.
      collectGarbage()
      setImmediate(collectGarbage)
      return { body: { executions: [item(1, 'RUNNING')], pagination } }
    }
    const headers = { 'content-type': 'text/event-stream' }
    return { headers, text: `id: 41\nevent: pulse\ndata: ${JSON.stringify(pulse)}\n\n` }
  })
  await until(events, ({ kind }) => kind === 'pulse')
  assert.equal(api.asked.filter(({ path }) => path.startsWith('/api/v1/events')).length, 1)
})

test('a server without a stream is polled, and the changes between two answers are counted', async (t) => {
  let asks = 0
  const { events } = await open(t, ({ path }) => {
    if (path.startsWith('/api/v1/events')) return { status: 404, body: problem(404, 'ROUTE_NOT_FOUND') }
    if (path.includes('status=')) return { body: { executions: [], pagination } }
    const now = [item(1, 'RUNNING'), item(2, 'PENDING')]
    const later = [item(3, 'FAILED'), item(2, 'RUNNING'), item(1, 'SUCCEEDED')]
    return { body: { executions: asks++ === 0 ? now : later, pagination } }
  })
  await until(events, (event) => event.kind === 'source' && event.source === 'poll')
  const first = await until(events, ({ kind }) => kind === 'pulse')
  assert(first.kind === 'pulse')
  assert.deepEqual([first.pulse.started, first.pulse.running], [0, 3])
  const second = await until(events, ({ kind }) => kind === 'pulse')
  assert(second.kind === 'pulse')
  assert.deepEqual([second.pulse.started, second.pulse.succeeded, second.pulse.failed], [2, 1, 1])
})

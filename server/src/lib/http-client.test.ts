import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../test/cleanup.ts'
import type { HttpRequest } from '../ports/http.ts'
import { HttpClient } from './http-client.ts'
import { realTimers } from './timers.ts'

async function listen(t: TestContext, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp(t, () => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function setup(t: TestContext, listener: RequestListener) {
  const server = createServer(listener)
  cleanUp(t, () => server.closeAllConnections())
  const origin = await listen(t, server)
  const client = new HttpClient(realTimers)
  cleanUp(t, () => client[Symbol.asyncDispose]())
  const send = (change: Partial<HttpRequest> = {}, signal?: AbortSignal) =>
    client.send(
      {
        method: 'POST',
        url: `${origin}/hook?a=1`,
        headers: { 'content-type': 'application/json' },
        body: '{"n":1}',
        timeoutMs: 5_000,
        responseBytesMax: 1_000_000,
        previewBytesMax: 4_096,
        ...change,
      },
      signal,
    )
  return { send, origin }
}

test('a call brings the request over and the answer back', async (t) => {
  const { send } = await setup(t, async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    response.writeHead(201, { 'x-a': ['1', '2'] })
    response.end(`${request.method} ${request.url} ${request.headers['content-type']} ${body}`)
  })
  const outcome = await send()
  assert(outcome.kind === 'answered')
  assert.equal(outcome.status, 201)
  assert.equal(outcome.headers['x-a'], '1, 2')
  assert.equal(Buffer.from(outcome.preview).toString(), 'POST /hook?a=1 application/json {"n":1}')
})

test('a redirect is an answer, not followed', async (t) => {
  let calls = 0
  const { send } = await setup(t, (_, response) => {
    calls += 1
    response.writeHead(302, { location: '/elsewhere' }).end()
  })
  const outcome = await send()
  assert.equal(outcome.kind === 'answered' && outcome.status, 302)
  assert.equal(calls, 1)
})

test('only the head of a long answer is kept', async (t) => {
  const { send } = await setup(t, (_, response) => response.end('x'.repeat(100_000)))
  const outcome = await send({ previewBytesMax: 10 })
  assert.equal(outcome.kind === 'answered' && outcome.preview.length, 10)
})

test('an endless answer ends at the limit', async (t) => {
  const { send } = await setup(t, (_, response) => {
    const pump = () => {
      while (!response.destroyed && response.write('x'.repeat(65_536))) {}
    }
    response.on('drain', pump)
    pump()
  })
  const outcome = await send({ responseBytesMax: 100_000 })
  assert.equal(outcome.kind === 'failed' && outcome.type, 'RESPONSE_TOO_LARGE')
})

test('a target that never answers ends in a timeout, one that dribbles too', async (t) => {
  const silent = await setup(t, () => {})
  const dribbling = await setup(t, (_, response) => {
    const timer = setInterval(() => response.write('.'), 5)
    response.on('close', () => clearInterval(timer))
  })
  for (const { send } of [silent, dribbling]) {
    const outcome = await send({ timeoutMs: 50 })
    assert.equal(outcome.kind === 'failed' && outcome.type, 'TIMEOUT')
  }
})

test('cancelling ends the call at once, also before it started', async (t) => {
  const arrived = Promise.withResolvers<void>()
  const { send } = await setup(t, () => arrived.resolve())
  const abort = new AbortController()
  const outcome = send({}, abort.signal)
  await arrived.promise
  abort.abort()
  const ended = await outcome
  assert.equal(ended.kind === 'failed' && ended.type, 'CANCELLED')
  const never = await send({}, abort.signal)
  assert.equal(never.kind === 'failed' && never.type, 'CANCELLED')
})

test('each way a target can fail has its own type', async (t) => {
  const { send } = await setup(t, (request) => request.socket.resetAndDestroy())
  const nonsense = await listen(
    t,
    createTcpServer((socket) => socket.on('error', () => {}).end('nonsense\r\n\r\n')),
  )
  const closing = createTcpServer()
  const refused = await listen(t, closing)
  closing.close()
  await once(closing, 'close')
  const expected: [Partial<HttpRequest>, string][] = [
    [{}, 'CONNECTION_RESET'],
    [{ url: refused }, 'CONNECTION_REFUSED'],
    [{ url: nonsense }, 'INVALID_RESPONSE'],
    [{ url: 'http://name.invalid/' }, 'DNS_RESOLUTION_FAILED'],
    [{ url: refused.replace('http:', 'ftp:') }, 'INVALID_REQUEST'],
    [{ url: 'no url' }, 'INVALID_REQUEST'],
    [{ headers: { 'x-bad': 'line\nbreak' } }, 'INVALID_REQUEST'],
    [{ url: nonsense.replace('http:', 'https:') }, 'TLS_ERROR'],
  ]
  for (const [change, type] of expected) {
    const outcome = await send(change)
    assert.equal(outcome.kind === 'failed' ? outcome.type : outcome.status, type, JSON.stringify(outcome))
  }
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../../test/cleanup.ts'
import type { HttpRequest } from '../../ports/http.ts'
import { realTimers } from '../time/timers.ts'
import { HttpClient, type HttpClientOptions } from './client.ts'

async function listen(t: TestContext, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp(t, () => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function setup(t: TestContext, listener: RequestListener, options: HttpClientOptions = {}) {
  const server = createServer(listener)
  cleanUp(t, () => server.closeAllConnections())
  const origin = await listen(t, server)
  const client = new HttpClient(realTimers, () => performance.now(), options)
  cleanUp(t, () => client[Symbol.asyncDispose]())
  const send = (change: Partial<HttpRequest> = {}, signal?: AbortSignal) =>
    client.send(
      {
        tenantId: 'default',
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
    response.writeHead(201, { 'retry-after': '7', 'x-carillon-async': ['1', '2'], 'x-other': '3' })
    response.end(`${request.method} ${request.url} ${request.headers['content-type']} ${body}`)
  })
  const outcome = await send()
  assert(outcome.kind === 'answered')
  assert.equal(outcome.status, 201)
  assert.deepEqual(outcome.headers, { 'retry-after': '7', 'x-carillon-async': '1, 2' })
  assert.equal(Buffer.from(outcome.preview).toString(), 'POST /hook?a=1 application/json {"n":1}')
})

test('every byte of a call is counted once, also of a second one on the connection and of one that fails', async (t) => {
  const asked: number[] = []
  const interim = 'HTTP/1.1 103 Early Hints\r\n\r\n'
  const answers = [
    `${interim}HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4;x=y\r\nabcd\r\n0\r\n\r\n`,
    'HTTP/1.1 204 No Content\r\n\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc',
  ]
  const target = await listen(
    t,
    createTcpServer((socket) => {
      socket.on('data', (bytes) => {
        asked.push(bytes.length)
        // The last one is cut off.
        if (asked.length === 3) socket.end(answers[2]!)
        else socket.write(answers[asked.length - 1]!)
      })
    }),
  )
  const { send } = await setup(t, () => {})
  const counted: [number, number][] = []
  const onTraffic = (sent: number, received: number) => void counted.push([sent, received])
  for (const body of ['{"n":1}', '{"ü":1}', '']) await send({ url: `${target}/a`, body, onTraffic })
  assert.deepEqual(
    counted,
    answers.map((answer, index) => [asked[index], answer.length]),
  )
  await send({ url: 'http://127.0.0.1:1/', onTraffic })
  assert.deepEqual(counted.at(-1), [0, 0], 'nothing was sent to a target that is not there')
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
    [{ url: refused.replace('http://', 'http://user:secret@') }, 'INVALID_REQUEST'],
    [{ headers: { 'x-bad': 'line\nbreak' } }, 'INVALID_REQUEST'],
    [{ url: nonsense.replace('http:', 'https:') }, 'TLS_ERROR'],
  ]
  for (const [change, type] of expected) {
    const outcome = await send(change)
    assert.equal(outcome.kind === 'failed' ? outcome.type : outcome.status, type, JSON.stringify(outcome))
    assert(!JSON.stringify(outcome).includes('secret'))
  }
})

test('a call with a parsed target goes there', async (t) => {
  const { send, origin } = await setup(t, (request, response) => response.end(request.url))
  const outcome = await send({ url: 'http://name.invalid/', target: { origin, path: '/parsed?b=2' } })
  assert.equal(outcome.kind === 'answered' && Buffer.from(outcome.preview).toString(), '/parsed?b=2')
})

test('a call says once that it started, when a connection takes it', async (t) => {
  const order: string[] = []
  const { send } = await setup(t, (_, response) => {
    order.push('arrived')
    response.end()
  })
  for (let n = 0; n < 2; n++) await send({ onStarted: () => order.push('started') })
  assert.deepEqual(order, ['started', 'arrived', 'started', 'arrived'])
})

test('a call that never got a connection never started', async (t) => {
  const held = Promise.withResolvers<void>()
  let arrived = 0
  const listener: RequestListener = async (_, response) => {
    arrived += 1
    await held.promise
    response.end()
  }
  const { send } = await setup(t, listener, { connectionsMax: 2 })
  const holding = [send(), send()]
  let started = 0
  const onStarted = () => {
    started += 1
  }
  const abort = new AbortController()
  const waiting = [send({ onStarted, timeoutMs: 20 }), send({ onStarted }, abort.signal)]
  abort.abort()
  const types = (await Promise.all(waiting)).map((outcome) => outcome.kind === 'failed' && outcome.type)
  assert.deepEqual(types, ['TIMEOUT', 'CANCELLED'])
  const refused = await send({ onStarted, url: 'http://name.invalid/' })
  assert.equal(refused.kind, 'failed')
  held.resolve()
  await Promise.all(holding)
  assert.equal((await send()).kind, 'answered')
  assert.deepEqual({ started, arrived }, { started: 0, arrived: 3 })
})

test('250 calls to one host run side by side', async (t) => {
  const all = Promise.withResolvers<void>()
  let arrived = 0
  const { send } = await setup(t, async (_, response) => {
    arrived += 1
    if (arrived === 250) all.resolve()
    await all.promise
    response.end()
  })
  const outcomes = await Promise.all(Array.from({ length: 250 }, () => send({ timeoutMs: 20_000 })))
  assert(outcomes.every(({ kind }) => kind === 'answered'))
})

test('calls share a kept-alive connection, and an idle one is closed by us', {
  timeout: 10_000,
}, async (t) => {
  const closed: Promise<unknown>[] = []
  // Without a Keep-Alive header: a time offered there counts instead of ours.
  const target = createTcpServer((socket) => {
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
    closed.push(once(socket, 'end'))
  })
  const url = await listen(t, target)
  const { send } = await setup(t, () => {}, { idleMs: 100 })
  for (let n = 0; n < 20; n++) await send({ url })
  // Two, since undici frees a connection only in the turn after its answer.
  assert(closed.length <= 2, `${closed.length} connections`)
  await Promise.all(closed)
})

test('more origins than are kept cost their idle connections, no call', async (t) => {
  const held = Promise.withResolvers<void>()
  const { send, origin } = await setup(
    t,
    async (request, response) => {
      if (request.url === '/held') await held.promise
      response.end()
    },
    { originsMax: 2 },
  )
  const first = send({ url: `${origin}/held` })
  for (let n = 0; n < 7; n++) {
    const server = createServer((_, response) => response.end())
    cleanUp(t, () => server.closeAllConnections())
    const outcome = await send({ url: await listen(t, server) })
    assert.equal(outcome.kind, 'answered', JSON.stringify(outcome))
  }
  held.resolve()
  assert.equal((await first).kind, 'answered')
})

test('calls that wait for a connection are sent in order, also when their origin is dropped meanwhile', async (t) => {
  const held = Promise.withResolvers<void>()
  const arrived: string[] = []
  const { send, origin } = await setup(
    t,
    async (request, response) => {
      arrived.push(request.url!)
      if (request.url === '/held') await held.promise
      response.end()
    },
    { originsMax: 1, connectionsMax: 1 },
  )
  const calls = ['/held', '/second', '/third'].map((path) => send({ url: `${origin}${path}` }))
  const other = createServer((_, response) => response.end())
  cleanUp(t, () => other.closeAllConnections())
  assert.equal((await send({ url: await listen(t, other) })).kind, 'answered')
  held.resolve()
  for (const call of calls) assert.equal((await call).kind, 'answered')
  assert.deepEqual(arrived, ['/held', '/second', '/third'])
})

for (const method of ['POST', 'GET']) {
  test(`a ${method} on a kept-alive connection that the target closes is a reset and is not repeated`, async (t) => {
    const requests: string[] = []
    const closing = createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', (data) => {
        requests.push(data.toString().split(' ')[0]!)
        if (requests.length === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
        else socket.destroy()
      })
    })
    const url = await listen(t, closing)
    const { send } = await setup(t, () => {})
    const change = { url, method, ...(method === 'GET' ? { body: '' } : {}) }
    assert.equal((await send(change)).kind, 'answered')
    let started = 0
    const onStarted = () => {
      started += 1
    }
    const outcome = await send({ ...change, onStarted })
    assert.equal(outcome.kind === 'failed' && outcome.type, 'CONNECTION_RESET', JSON.stringify(outcome))
    assert.deepEqual({ requests, started }, { requests: [method, method], started: 1 })
  })
}

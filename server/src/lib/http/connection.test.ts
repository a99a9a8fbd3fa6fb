// Which connections are reused, and the fate of calls at their edges.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type LookupFunction, type Socket } from 'node:net'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../../test/cleanup.ts'
import type { HttpOutcome, HttpRequest } from '../../ports/http.ts'
import { realTimers } from '../time/timers.ts'
import { HttpClient, type HttpClientOptions } from './client.ts'
import { type ConnectionCall, HttpConnection, type Place } from './connection.ts'

async function setup(t: TestContext, behave: (socket: Socket) => void, options: HttpClientOptions = {}) {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    behave(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp(t, () => server.close())
  cleanUp(t, () => {
    for (const socket of sockets) socket.destroy()
  })
  const client = new HttpClient(realTimers, () => performance.now(), options)
  cleanUp(t, () => client[Symbol.asyncDispose]())
  const { port } = server.address() as AddressInfo
  const send = (change: Partial<HttpRequest> = {}, signal?: AbortSignal) =>
    client.send(
      {
        tenantId: 'default',
        method: 'GET',
        url: `http://127.0.0.1:${port}/`,
        headers: {},
        timeoutMs: 10_000,
        responseBytesMax: 100_000,
        previewBytesMax: 4_096,
        ...change,
      },
      signal,
    )
  const place: Place = { isTls: false, hostname: '127.0.0.1', port, connectMsMax: 10_000 }
  return { send, sockets, client, place }
}

const resultOf = (outcome: HttpOutcome) => (outcome.kind === 'answered' ? outcome.status : outcome.type)
const ok = 'HTTP/1.1 200 OK\r\n'

test('a connection is used again only when both sides are done with the call and agree', async (t) => {
  const answers: [what: string, answer: string, connections: number, method?: string][] = [
    ['a length', `${ok}content-length: 2\r\n\r\nok`, 1],
    ['chunks', `${ok}transfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`, 1],
    ['HEAD', `${ok}content-length: 2\r\n\r\n`, 1, 'HEAD'],
    ['an interim answer', `HTTP/1.1 103 Hints\r\n\r\n${ok}content-length: 0\r\n\r\n`, 1],
    ['HTTP/1.0 that agrees', 'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n', 1],
    ['a long time', `${ok}keep-alive: timeout=60\r\ncontent-length: 0\r\n\r\n`, 1],
    ['close', `${ok}connection: close\r\ncontent-length: 0\r\n\r\n`, 2],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n', 2],
    ['a time too short to be safe', `${ok}keep-alive: timeout=2\r\ncontent-length: 0\r\n\r\n`, 2],
    ['more than the answer', `${ok}content-length: 2\r\n\r\nok${ok}content-length: 0\r\n\r\n`, 2],
    ['a body to HEAD', `${ok}content-length: 2\r\n\r\nok`, 2, 'HEAD'],
  ]
  for (const [what, answer, connections, method = 'GET'] of answers) {
    const { send, sockets } = await setup(t, (socket) => socket.on('data', () => socket.write(answer)))
    for (let n = 0; n < 2; n++) assert.equal(resultOf(await send({ method })), 200, what)
    assert.equal(sockets.length, connections, what)
  }
})

test('an answer that comes before the request is read is an answer, and the connection is closed', async (t) => {
  const { send, sockets } = await setup(t, (socket) => {
    socket.pause()
    socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n')
    socket.once('close', () => closed.resolve())
    // Reads to its end, so as to hear of it.
    void outcome.promise.then(() => socket.resume())
  })
  const closed = Promise.withResolvers<void>()
  const outcome = Promise.withResolvers<HttpOutcome>()
  outcome.resolve(await send({ method: 'POST', body: Buffer.alloc(50_000_000) }))
  assert.equal(resultOf(await outcome.promise), 413)
  await closed.promise
  assert.equal(sockets.length, 1)
})

test('unsolicited data from a target closes the connection and answers no call', async (t) => {
  const unasked = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  const { send, sockets } = await setup(t, (socket) => {
    socket.once('close', () => closed.resolve())
    socket.on('data', () => socket.write(`${ok}content-length: 0\r\n\r\n`))
    if (sockets.length === 1)
      void unasked.promise.then(() => socket.write('HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n'))
  })
  assert.equal(resultOf(await send()), 200)
  unasked.resolve()
  await closed.promise
  assert.equal(resultOf(await send()), 200)
  assert.equal(sockets.length, 2)
})

test('a call that is ended as it starts is not sent', async (t) => {
  let received = 0
  const { send, sockets } = await setup(t, (socket) =>
    socket.on('data', () => {
      received += 1
      socket.write(`${ok}content-length: 0\r\n\r\n`)
    }),
  )
  const abort = new AbortController()
  assert.equal(resultOf(await send()), 200)
  const ended = await send({ onStarted: () => abort.abort() }, abort.signal)
  assert.equal(resultOf(ended), 'CANCELLED')
  assert.equal(resultOf(await send()), 200)
  assert.deepEqual([received, sockets.length], [2, 2])
})

test('a closed client ends the calls in flight and takes no more', async (t) => {
  const arrived = Promise.withResolvers<void>()
  const { send, client, sockets } = await setup(t, (socket) => socket.on('data', () => arrived.resolve()), {
    connectionsMax: 1,
  })
  const calls = [send(), send()]
  await arrived.promise
  await client[Symbol.asyncDispose]()
  for (const call of calls) assert.equal(resultOf(await call), 'CONNECTION_RESET')
  assert.equal(resultOf(await send()), 'CONNECTION_RESET')
  assert.equal(sockets.length, 1)
})

test('calls that ended while they waited do not pile up, and the others keep their order', async (t) => {
  const held = Promise.withResolvers<void>()
  const paths: string[] = []
  const { send } = await setup(
    t,
    (socket) =>
      socket.on('data', async (data) => {
        paths.push(data.toString().split(' ')[0]!)
        await held.promise
        socket.write(`${ok}content-length: 0\r\n\r\n`)
      }),
    { connectionsMax: 1 },
  )
  const calls = [send({ method: 'A' })]
  const ended: Promise<HttpOutcome>[] = []
  for (const method of ['B', 'C', 'D']) {
    for (let n = 0; n < 700; n++) ended.push(send({ timeoutMs: 1 }))
    await Promise.all(ended)
    calls.push(send({ method }))
  }
  held.resolve()
  for (const call of calls) assert.equal(resultOf(await call), 200)
  assert.deepEqual(paths, ['A', 'B', 'C', 'D'])
})

test('a name is refused when none of its addresses answers, with the error of each address', async (t) => {
  const addresses = [
    { address: '127.0.0.1', family: 4 },
    { address: '127.0.0.1', family: 4 },
  ]
  const lookup: LookupFunction = (_name, _options, callback) =>
    process.nextTick(() => callback(null, addresses as never))
  const { send } = await setup(t, () => {}, {
    guard: { checkTarget: () => null, lookupOf: () => lookup, tellsDetail: () => true },
  })
  const outcome = await send({ url: 'http://target.test:1/' })
  assert(outcome.kind === 'failed')
  assert.equal(outcome.type, 'CONNECTION_REFUSED')
  assert.match(outcome.message, /ECONNREFUSED 127\.0\.0\.1:1/)
})

test('one long answer does not hold the event loop: it comes in pieces of 256 KB a turn', async (t) => {
  const bytes = 6_000_000
  const { place } = await setup(t, (socket) =>
    // As much as the kernel takes is there before the first byte is read.
    socket.once('data', () => socket.end(Buffer.concat([Buffer.from(`${ok}\r\n`), Buffer.alloc(bytes)]))),
  )
  const answered = Promise.withResolvers<void>()
  const perTurn = [0]
  let receivedBytes = 0
  const call: ConnectionCall = {
    method: 'GET',
    answerBytesMax: Infinity,
    isEnded: false,
    onStarted: () => {},
    takeText: () => ({ head: 'GET / HTTP/1.1\r\n\r\n', body: null }),
    onReceived: () => {},
    onBody(part) {
      receivedBytes += part.length
      if (perTurn[0] === 0) setImmediate(() => perTurn.unshift(0))
      perTurn[0]! += part.length
    },
    onAnswered: () => answered.resolve(),
    onFailed: (error) => answered.reject(error),
  }
  new HttpConnection(realTimers, place, { onFree: () => {}, onClosed: () => {}, onError: () => {} }, call)
  await answered.promise
  assert.equal(receivedBytes, bytes)
  assert(Math.max(...perTurn) <= 256 * 1024 + 65_536, `${perTurn}`)
})

// Targets that mean harm or are broken: each call ends at its own limit, and costs no more than that.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../../test/cleanup.ts'
import { VirtualTimers } from '../../../test/virtual-world.ts'
import type { HttpOutcome, HttpRequest } from '../../ports/http.ts'
import type { Timers } from '../../ports/timers.ts'
import { realTimers } from '../time/timers.ts'
import { HttpClient } from './client.ts'

/** A target that does as told on each connection once a request has arrived. */
async function setup(t: TestContext, behave: (socket: Socket) => void, timers: Timers = realTimers) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).once('data', () => behave(socket))
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp(t, () => server.close())
  cleanUp(t, () => {
    for (const socket of sockets) socket.destroy()
  })
  const client = new HttpClient(timers, () => performance.now())
  cleanUp(t, () => client[Symbol.asyncDispose]())
  const send = (change: Partial<HttpRequest> = {}) =>
    client.send({
      tenantId: 'default',
      method: 'POST',
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      headers: {},
      timeoutMs: 30_000,
      responseBytesMax: 1_000_000,
      previewBytesMax: 4_096,
      ...change,
    })
  return { send, sockets }
}

const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
const typeOf = (outcome: HttpOutcome) => (outcome.kind === 'failed' ? outcome.type : outcome.status)

function pump(socket: Socket, text: string | Buffer, onDrain = () => {}): void {
  const more = () => {
    onDrain()
    while (!socket.destroyed && socket.write(text)) {}
  }
  socket.on('drain', more)
  more()
}

function dribble(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 2)
  socket.once('close', () => clearInterval(timer))
}

test('a target that never answers ends in a timeout, and its connection is closed', async (t) => {
  const closed = Promise.withResolvers<void>()
  // The time of the call passes when its request has arrived: on a busy machine a real timeout may end before that.
  const timers = new VirtualTimers()
  const behave = (socket: Socket) => {
    socket.once('close', () => closed.resolve())
    void timers.advance(50)
  }
  const { send } = await setup(t, behave, timers)
  assert.equal(typeOf(await send({ timeoutMs: 50 })), 'TIMEOUT')
  await closed.promise
})

test('slow bytes for ever end in a timeout', async (t) => {
  const { send } = await setup(t, (socket) => {
    socket.write(head)
    dribble(socket, '1\r\n.\r\n')
  })
  assert.equal(typeOf(await send({ timeoutMs: 100 })), 'TIMEOUT')
})

test('slow bytes end at the size limit too, when that comes first', async (t) => {
  const { send } = await setup(t, (socket) => {
    socket.write(head)
    dribble(socket, '1\r\n.\r\n')
  })
  assert.equal(typeOf(await send({ responseBytesMax: 20 })), 'RESPONSE_TOO_LARGE')
})

test('a fast endless answer ends at its limit', async (t) => {
  const { send } = await setup(t, (socket) => {
    socket.write(head)
    pump(socket, `10000\r\n${'x'.repeat(65_536)}\r\n`)
  })
  assert.equal(typeOf(await send({ responseBytesMax: 100_000 })), 'RESPONSE_TOO_LARGE')
})

test('more than a gigabyte passes through without being kept', async (t) => {
  const bytes = 1_200_000_000
  let mostRss = 0
  const { send } = await setup(t, (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${2 * bytes}\r\n\r\n`)
    let drains = 0
    pump(socket, Buffer.alloc(1_048_576, 'x'), () => {
      if (drains++ % 20 === 0) mostRss = Math.max(mostRss, process.memoryUsage.rss())
    })
  })
  const before = process.memoryUsage.rss()
  assert.equal(typeOf(await send({ responseBytesMax: bytes })), 'RESPONSE_TOO_LARGE')
  assert(mostRss - before < 300_000_000, `grew by ${mostRss - before} bytes`)
})

test('headers that never end are an invalid answer when fast and a timeout when slow', async (t) => {
  const start = 'HTTP/1.1 200 OK\r\n'
  const fast = await setup(t, (socket) => {
    socket.write(start)
    pump(socket, 'x-more: and more\r\n'.repeat(100))
  })
  assert.equal(typeOf(await fast.send()), 'INVALID_RESPONSE')
  const oneLine = await setup(t, (socket) => {
    socket.write(`${start}x-long: `)
    pump(socket, 'x'.repeat(1_000))
  })
  assert.equal(typeOf(await oneLine.send()), 'INVALID_RESPONSE')
  const slow = await setup(t, (socket) => {
    socket.write(start)
    dribble(socket, 'x: y\r\n')
  })
  assert.equal(typeOf(await slow.send({ timeoutMs: 100 })), 'TIMEOUT')
})

test('an endless answer without a body ends at its limit, not in a timeout', async (t) => {
  const endless: [text: string, start: string, type: string][] = [
    ['HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100), '', 'INVALID_RESPONSE'],
    ['x'.repeat(1_000), `${head}1;extension=`, 'INVALID_RESPONSE'],
    [`1;${'x'.repeat(1_000)}\r\n.\r\n`, head, 'INVALID_RESPONSE'],
    ['1\r\n.\r\n'.repeat(1_000), head, 'RESPONSE_TOO_LARGE'],
  ]
  for (const [text, start, type] of endless) {
    const { send } = await setup(t, (socket) => {
      socket.write(start)
      pump(socket, text)
    })
    const outcome = await send()
    assert.equal(typeOf(outcome), type, JSON.stringify(outcome))
  }
})

test('an answer of framing alone is read up to 64 KB beyond the limit of its body', async (t) => {
  let writtenBytes = 0
  const { send } = await setup(t, (socket) => {
    socket.write(head)
    // One piece in each turn of the event loop: little is on its way that was not read.
    const more = () => {
      if (socket.destroyed) return
      socket.write('1\r\n.\r\n'.repeat(2_000))
      writtenBytes = socket.bytesWritten
      setImmediate(more)
    }
    more()
  })
  assert.equal(typeOf(await send()), 'RESPONSE_TOO_LARGE')
  assert(writtenBytes > 1_000_000 && writtenBytes < 1_150_000, `${writtenBytes} bytes`)
})

test('an answer that is not HTTP is an outcome', async (t) => {
  const answers: [string, string][] = [
    ['nonsense\r\n\r\n', 'INVALID_RESPONSE'],
    ['220 mail.example ESMTP\r\n', 'INVALID_RESPONSE'],
    ['HTTP/9.9 200 OK\r\n\r\n', 'INVALID_RESPONSE'],
    ['HTTP/1.1 abc OK\r\n\r\n', 'INVALID_RESPONSE'],
    ['HTTP/1.1 200 OK\r\nno colon\r\n\r\n', 'INVALID_RESPONSE'],
    ['HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n', 'INVALID_RESPONSE'],
    ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!', 'INVALID_RESPONSE'],
    [`${head}zz\r\nhello\r\n`, 'INVALID_RESPONSE'],
    [`${head}ffffffffffffffffff\r\nhello\r\n`, 'INVALID_RESPONSE'],
    ['\0\0\0\x12\x04\0\0\0\0\0', 'INVALID_RESPONSE'],
    ['HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n', 'CONNECTION_RESET'],
    ['HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf', 'CONNECTION_RESET'],
    [`${head}5\r\nhal`, 'CONNECTION_RESET'],
    ['HTTP/1.1 200 O', 'CONNECTION_RESET'],
    ['', 'CONNECTION_RESET'],
  ]
  for (const [answer, type] of answers) {
    const { send } = await setup(t, (socket) => socket.end(answer))
    const outcome = await send()
    assert.equal(typeOf(outcome), type, `${JSON.stringify(answer)}: ${JSON.stringify(outcome)}`)
  }
})

test('calls ended at any moment leave a client that still works', async (t) => {
  let healthy = false
  const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n.'
  const { send } = await setup(t, (socket) => {
    if (healthy) socket.end(answer)
    else dribble(socket, answer.slice(0, 1 + (socket.remotePort! % 38)))
  })
  const outcomes = await Promise.all(Array.from({ length: 300 }, (_, n) => send({ timeoutMs: 1 + (n % 40) })))
  assert.deepEqual([...new Set(outcomes.map(({ kind }) => kind))], ['failed'])
  healthy = true
  assert.equal(typeOf(await send()), 200)
})

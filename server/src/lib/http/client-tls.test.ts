// Over TLS: the peer is checked, by name and by address, and a connection is reused like a plain one.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer as createTcpServer, type LookupFunction, type Server } from 'node:net'
import test, { type TestContext } from 'node:test'
import { createServer, setDefaultCACertificates, type TLSSocket } from 'node:tls'
import { cleanUp } from '../../../test/cleanup.ts'
import {
  authorityCertificate,
  certificateKey,
  elsewhereCertificate,
  selfSignedCertificate,
  targetCertificate,
} from '../../../test/tls-certificates.ts'
import type { HttpOutcome, HttpRequest } from '../../ports/http.ts'
import { realTimers } from '../time/timers.ts'
import { HttpClient } from './client.ts'

setDefaultCACertificates([authorityCertificate])

const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
// One address where nobody listens first: the connection to the next must do all the same.
const addresses = [
  { address: '::1', family: 6 },
  { address: '127.0.0.1', family: 4 },
]
const lookup: LookupFunction = (_name, _options, callback) =>
  process.nextTick(() => callback(null, addresses as never))

async function setup(t: TestContext, certificate: string, behave = (socket: TLSSocket) => answerAll(socket)) {
  const sockets: TLSSocket[] = []
  const server = createServer({ key: certificateKey, cert: certificate }, (socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    behave(socket)
  })
  server.on('tlsClientError', () => {})
  return { sockets, ...(await serve(t, server)) }
}

async function serve(t: TestContext, server: Server) {
  const open = new Set<{ destroy(): void }>()
  server.on('connection', (socket) => open.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp(t, () => server.close())
  cleanUp(t, () => {
    for (const socket of open) socket.destroy()
  })
  const client = new HttpClient(realTimers, () => performance.now(), {
    guard: { checkTarget: () => null, lookupOf: () => lookup, tellsDetail: () => true },
  })
  cleanUp(t, () => client[Symbol.asyncDispose]())
  const send = (host: string, change: Partial<HttpRequest> = {}) =>
    client.send({
      tenantId: 'default',
      method: 'POST',
      url: `https://${host}:${(server.address() as AddressInfo).port}/hook`,
      headers: {},
      body: 'hello',
      timeoutMs: 5_000,
      responseBytesMax: 1_000_000,
      previewBytesMax: 4_096,
      ...change,
    })
  return { send }
}

function answerAll(socket: TLSSocket): void {
  socket.on('data', () => socket.write(answer))
}

const resultOf = (outcome: HttpOutcome) =>
  outcome.kind === 'answered' ? Buffer.from(outcome.preview).toString() : outcome.type

test('calls over TLS are answered, name the host they want, and share a connection', async (t) => {
  const { send, sockets } = await setup(t, targetCertificate)
  for (let n = 0; n < 3; n++) assert.equal(resultOf(await send('target.test')), 'ok')
  assert.deepEqual(
    sockets.map(({ servername }) => servername),
    ['target.test'],
  )
})

test('a long answer over TLS, which is read in several turns, comes whole', async (t) => {
  const body = 'x'.repeat(999_999)
  const { send, sockets } = await setup(t, targetCertificate, (socket) =>
    socket.on('data', () => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`)),
  )
  for (let n = 0; n < 3; n++)
    assert.equal(resultOf(await send('target.test', { previewBytesMax: 1_000_000 })), body)
  assert.equal(sockets.length, 1)
})

test('an address is called over TLS when the certificate is for it', async (t) => {
  const { send, sockets } = await setup(t, targetCertificate)
  assert.equal(resultOf(await send('127.0.0.1')), 'ok')
  assert.equal(sockets[0]?.servername, false)
})

test('a certificate for another name or without the address is a TLS error, and nothing is sent', async (t) => {
  const arrived: string[] = []
  const { send } = await setup(t, elsewhereCertificate, (socket) =>
    socket.on('data', (data) => arrived.push(data.toString())),
  )
  const onStarted = () => arrived.push('started')
  // Twice: a connection that was refused leaves no session that a second one could resume.
  for (const host of ['target.test', 'target.test', '127.0.0.1'])
    assert.equal(resultOf(await send(host, { onStarted })), 'TLS_ERROR', host)
  assert.deepEqual(arrived, [])
})

test('a certificate that nobody trusted has signed is a TLS error', async (t) => {
  const { send } = await setup(t, selfSignedCertificate)
  for (const host of ['target.test', '127.0.0.1']) assert.equal(resultOf(await send(host)), 'TLS_ERROR', host)
})

test('a target that does not speak TLS is a TLS error', async (t) => {
  const plain = createTcpServer((socket) =>
    socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'),
  )
  const { send } = await serve(t, plain)
  const outcome = await send('target.test')
  assert.equal(resultOf(outcome), 'TLS_ERROR', JSON.stringify(outcome))
})

test('a target that closes before TLS is agreed is a reset', async (t) => {
  const { send } = await serve(
    t,
    createTcpServer((socket) => socket.on('error', () => {}).end()),
  )
  const outcome = await send('target.test')
  assert.equal(resultOf(outcome), 'CONNECTION_RESET', JSON.stringify(outcome))
})

// By address: Node resumes none when an earlier address of the name has failed.
test('a new connection resumes the TLS session of the last one', async (t) => {
  const reused: boolean[] = []
  const { send } = await setup(t, targetCertificate, (socket) => {
    reused.push(socket.isSessionReused())
    socket.on('data', () => socket.write(answer.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n')))
  })
  for (let n = 0; n < 2; n++) assert.equal(resultOf(await send('127.0.0.1')), 'ok')
  assert.deepEqual(reused, [false, true])
})

test('a long request and a long answer go over TLS whole', async (t) => {
  const bodyBytes = 3_000_000
  let receivedBytes = 0
  const { send } = await setup(t, targetCertificate, (socket) =>
    socket.on('data', (data) => {
      receivedBytes += data.length
      if (receivedBytes < bodyBytes) return
      socket.end(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(bodyBytes)}`)
    }),
  )
  const outcome = await send('target.test', {
    body: Buffer.alloc(bodyBytes, 'é'),
    responseBytesMax: bodyBytes,
    previewBytesMax: bodyBytes,
  })
  assert.equal(resultOf(outcome), 'x'.repeat(bodyBytes))
})

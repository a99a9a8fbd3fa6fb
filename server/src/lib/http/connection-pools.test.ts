// Connections are shared by the calls of one tenant to one origin only, and idle ones are bounded over all of them.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type LookupFunction, type Socket } from 'node:net'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../../test/cleanup.ts'
import type { HttpOutcome, HttpRequest } from '../../ports/http.ts'
import { realTimers } from '../time/timers.ts'
import { HttpClient, type HttpClientOptions } from './client.ts'

/** A target that answers each request as told; `path` is that of the request. */
async function setup(
  t: TestContext,
  answer: (socket: Socket, path: string) => void,
  options: HttpClientOptions = {},
) {
  const open = new Set<Socket>()
  let opened = 0
  const server = createServer((socket) => {
    opened += 1
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    socket.on('error', () => {}).on('data', (data) => answer(socket, data.toString().split(' ')[1]!))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp(t, () => server.close())
  cleanUp(t, () => {
    for (const socket of open) socket.destroy()
  })
  const client = new HttpClient(realTimers, () => performance.now(), { idleMs: 60_000, ...options })
  cleanUp(t, () => client[Symbol.asyncDispose]())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const send = (tenantId: string, path = '/', change: Partial<HttpRequest> = {}) =>
    client.send({
      tenantId,
      method: 'GET',
      url: origin + path,
      headers: {},
      timeoutMs: 20_000,
      responseBytesMax: 100_000,
      previewBytesMax: 4_096,
      ...change,
    })
  return { send, open, opened: () => opened }
}

const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'
const answerOk = (socket: Socket) => void socket.write(ok)
const textOf = (outcome: HttpOutcome) =>
  outcome.kind === 'answered'
    ? `${outcome.status} ${Buffer.from(outcome.preview)}`
    : `${outcome.type} ${outcome.message}`

test('a second answer to a call of one tenant is never read as the answer to a call of another', async (t) => {
  let ofA: Socket | null = null
  const { send } = await setup(t, (socket, path) => {
    if (path === '/a') {
      ofA = socket
      socket.write('HTTP/1.1 204 No Content\r\n\r\n')
      return
    }
    ofA!.write('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged')
    setImmediate(() => socket.write('HTTP/1.1 500 Error\r\ncontent-length: 7\r\n\r\ngenuine'))
  })
  for (let n = 0; n < 30; n++) {
    assert.equal(textOf(await send('tenant a', '/a')), '204 ')
    assert.equal(textOf(await send('tenant b', '/b')), '500 genuine')
  }
})

test('calls of one tenant to one origin share a connection, also while another tenant calls it', async (t) => {
  const { send, opened } = await setup(t, answerOk)
  for (let n = 0; n < 5; n++) await send('tenant a')
  assert.equal(opened(), 1)
  for (let n = 0; n < 5; n++) await Promise.all([send('tenant a'), send('tenant b')])
  assert.equal(opened(), 2)
})

test('many tenants that call one origin leave no more idle connections than the bound', async (t) => {
  const idleConnectionsMax = 25
  const { send, open, opened } = await setup(t, answerOk, { idleConnectionsMax })
  const tenants = Array.from({ length: 400 }, (_, n) => `tenant ${n}`)
  const last = tenants.splice(-10)
  for (let n = 0; n < tenants.length; n += 50)
    await Promise.all(tenants.slice(n, n + 50).map((tenantId) => send(tenantId)))
  for (const tenantId of last) await send(tenantId)
  assert.equal(opened(), 400)
  while (open.size > idleConnectionsMax) await Promise.race([...open].map((socket) => once(socket, 'close')))
  // The connections used last are kept: none is opened for their tenants.
  for (const tenantId of last) await send(tenantId)
  assert.equal(opened(), 400)
  await send('tenant 0')
  assert.equal(opened(), 401)
})

test('the bound on idle connections closes the one that was used least recently', async (t) => {
  const { send, opened } = await setup(t, answerOk, { idleConnectionsMax: 2 })
  for (const tenantId of ['a', 'b', 'a', 'c', 'a']) await send(tenantId)
  assert.equal(opened(), 3)
  await send('b')
  assert.equal(opened(), 4)
})

test('a bound of none closes each connection with its answer', async (t) => {
  const { send, opened } = await setup(t, answerOk, { idleConnectionsMax: 0 })
  for (let n = 0; n < 3; n++) assert.equal(textOf(await send('a')), '200 ')
  assert.equal(opened(), 3)
})

test('a tenant with many origins costs no other tenant its connections', async (t) => {
  // As names of one address: they differ as origins do.
  const lookup: LookupFunction = (_name, _options, callback) =>
    process.nextTick(() => callback(null, [{ address: '127.0.0.1', family: 4 }] as never))
  const guard = { checkTarget: () => null, lookupOf: () => lookup, tellsDetail: () => true }
  const { send, open, opened } = await setup(t, answerOk, { originsMax: 20, guard })
  await send('victim')
  const port = [...open][0]!.localPort
  for (let n = 0; n < 50; n++) await send('other', '/', { url: `http://name-${n}.test:${port}/` })
  assert.equal(opened(), 51)
  await send('victim')
  assert.equal(opened(), 51)
})

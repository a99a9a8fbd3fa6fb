// Connections are shared by the calls of one tenant to one origin only, and idle ones are bounded over all of them.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
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
  return { send, origin, open, opened: () => opened }
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
  const guard = { checkOrigin: () => null, lookupOf: () => lookup }
  const { send, open, opened } = await setup(t, answerOk, { originsMax: 20, guard })
  await send('victim')
  const port = [...open][0]!.localPort
  for (let n = 0; n < 50; n++) await send('other', '/', { url: `http://name-${n}.test:${port}/` })
  assert.equal(opened(), 51)
  await send('victim')
  assert.equal(opened(), 51)
})

test('want of file descriptors is told once a minute, and other failures are not', async (t) => {
  let nowMs = 0
  let code = 'EMFILE'
  const lookup: LookupFunction = (_name, _options, callback) =>
    process.nextTick(() => callback(Object.assign(new Error('failed'), { code }), []))
  const told: string[] = []
  const client = new HttpClient(realTimers, () => nowMs, {
    guard: { checkOrigin: () => null, lookupOf: () => lookup },
    onNoFilesLeft: (code) => told.push(code),
  })
  cleanUp(t, () => client[Symbol.asyncDispose]())
  const call = () =>
    client.send({
      ...{ tenantId: 'a', method: 'GET', url: 'http://target.test/', headers: {} },
      ...{ timeoutMs: 20_000, responseBytesMax: 1_000, previewBytesMax: 1_000 },
    })
  for (let n = 0; n < 3; n++) await call()
  assert.deepEqual(told, ['EMFILE'])
  nowMs = 60_000
  code = 'ECONNREFUSED'
  await call()
  code = 'ENFILE'
  for (let n = 0; n < 3; n++) await call()
  assert.deepEqual(told, ['EMFILE', 'ENFILE'])
})

test('a process that has used up its file descriptors says so, and its calls fail', async (t) => {
  const { origin } = await setup(t, () => {})
  const script = `
    import { HttpClient } from '${new URL('./client.ts', import.meta.url).href}'
    import { realTimers } from '${new URL('../time/timers.ts', import.meta.url).href}'
    const onNoFilesLeft = (code) => process.exit(code === 'EMFILE' ? 42 : 1)
    const client = new HttpClient(realTimers, () => performance.now(), { onNoFilesLeft })
    const request = { method: 'GET', url: '${origin}', headers: {}, timeoutMs: 20000, responseBytesMax: 1 }
    for (let n = 0; n < 100; n++) client.send({ tenantId: 'a', previewBytesMax: 1, ...request })`
  const command = 'ulimit -n 64 && exec "$0" --input-type=module -e "$1"'
  const child = spawn('sh', ['-c', command, process.execPath, script], { stdio: 'inherit' })
  assert.deepEqual(await once(child, 'exit'), [42, null])
})

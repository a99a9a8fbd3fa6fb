import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import test, { type TestContext } from 'node:test'
import { addTenant } from '../../../test/access.ts'
import { type Answer, assertProblem, setupApp } from '../../../test/app.ts'
import { cleanUp } from '../../../test/cleanup.ts'
import { until } from '../../../test/e2e/api.ts'
import type { Caller } from '../access/auth.ts'

const mebibyte = 1024 * 1024
/** Bodies of 3 MiB that a tenant may leave open, of its 32 MiB. */
const bodies = 10
/** Of a body for which there is no room beside them. */
const justBeyond = 2 * mebibyte + 8_192
const json = { 'content-type': 'application/json' }

/** An app with `POST /large` for the tenant of the query, or without a caller, which answers with the size of the body. */
async function setup(t: TestContext) {
  const parts = await setupApp(t, {
    extend: (app) => {
      for (const [url, bodies] of [
        ['/large', {}],
        ['/apart', { bodies: 'apart' }],
      ] as const)
        app.route<{ Querystring: { tenant?: string; operator?: string }; Body: { text: string } }>({
          method: 'POST',
          url,
          bodyLimit: 4 * mebibyte,
          config: bodies,
          onRequest: async (request) => {
            const { tenant: tenantId, operator } = request.query
            if (tenantId !== undefined) request.caller = { tenantId, operator: operator === 'true' } as Caller
          },
          handler: async ({ body }) => ({ length: body.text.length }),
        })
    },
  })
  await addTenant(parts.call, 'second', 'free')
  const port = Number(new URL(await parts.app.listen({ port: 0, host: '127.0.0.1' })).port)
  const ask = (query: string, bytes = 2 * mebibyte, path = '/large'): Promise<Answer> =>
    parts.app.inject({
      ...{ method: 'POST', url: `${path}?${query}`, headers: json },
      payload: JSON.stringify({ text: 'x'.repeat(bytes) }),
    })
  /** A client that announces a body, or sends it in chunks, and stops after so many bytes of it. */
  const leave = async (query: string, { sent = 3 * mebibyte, chunked = false, path = '/large' } = {}) => {
    const socket = connect(port, '127.0.0.1')
    // The server may close it while the body is still on its way.
    socket.on('error', () => {})
    cleanUp(t, () => void socket.destroy())
    const length = chunked ? 'transfer-encoding: chunked' : `content-length: ${4 * mebibyte - 1}`
    socket.write(
      `POST ${path}?${query} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${length}\r\n\r\n`,
    )
    const body = Buffer.alloc(sent, 'x')
    if (chunked) socket.write(`${sent.toString(16)}\r\n`)
    await new Promise<void>((resolve) => socket.write(body, () => resolve()))
    return socket
  }
  /** Leaves bodies open until the tenant of the query is refused another one. */
  const fill = async (query: string, count: number): Promise<Socket[]> => {
    const sockets: Socket[] = []
    for (let n = 0; n < count; n++) sockets.push(await leave(query))
    await until(async () => ((await ask(query, justBeyond)).statusCode === 200 ? null : true), 'all came')
    return sockets
  }
  return { ...parts, port, ask, leave, fill }
}

test('a tenant whose bodies do not end has a quarter of the bytes, and others are answered', async (t) => {
  const { ask, fill } = await setup(t)
  const [first] = await fill('tenant=a', bodies)
  const refused = await ask('tenant=a', 3 * mebibyte)
  assertProblem(refused, 'TENANT_SHARE_USED')
  assert.equal(refused.headers['retry-after'], '1')
  assert.match(refused.body, /32768 KiB of request bodies/)
  assert.equal((await ask('tenant=a', 1_000)).statusCode, 200, 'a small body')
  assert.equal((await ask('tenant=b', 3 * mebibyte)).statusCode, 200)
  assert.equal((await ask('tenant=a&operator=true', 3 * mebibyte)).statusCode, 200)
  first!.destroy()
  await until(
    async () => ((await ask('tenant=a', 3 * mebibyte)).statusCode === 200 ? true : null),
    'room again',
  )
})

test('a body that outgrows the share while it comes is refused, in chunks as with a length', async (t) => {
  const { ask, leave } = await setup(t)
  const sockets: Socket[] = []
  for (let n = 0; n < bodies; n++) sockets.push(await leave('tenant=a', { chunked: n % 2 === 0 }))
  await until(async () => ((await ask('tenant=a', justBeyond)).statusCode === 200 ? null : true), 'all came')
  const last = await leave('tenant=a', { sent: justBeyond, chunked: true })
  const answer = await new Promise<string>((resolve) => last.once('data', (data) => resolve(String(data))))
  assert.match(answer, /^HTTP\/1\.1 429 .*connection: close.*TENANT_SHARE_USED/s)
  assert.equal((await ask('tenant=b')).statusCode, 200)
  for (const socket of sockets) assert.equal(socket.readyState, 'open')
})

test('bytes that were announced and did not come take no place', async (t) => {
  const { ask, leave } = await setup(t)
  for (let n = 0; n < 30; n++) await leave('tenant=a', { sent: 10 })
  assert.equal((await ask('tenant=a', 3 * mebibyte)).statusCode, 200)
})

test('an answered body leaves its bytes', async (t) => {
  const { ask } = await setup(t)
  for (let n = 0; n < 30; n++) {
    const { body } = await ask('tenant=a', 3 * mebibyte)
    assert.deepEqual(JSON.parse(body), { length: 3 * mebibyte })
  }
})

test('callers without a key are bounded like a tenant, and leave the others their place', async (t) => {
  const { ask, fill } = await setup(t)
  await fill('', bodies)
  assertProblem(await ask('', 3 * mebibyte), 'TENANT_SHARE_USED')
  assert.equal((await ask('tenant=a', 3 * mebibyte)).statusCode, 200)
})

test('all tenants together leave a tenth of the bytes to operators', async (t) => {
  const { ask, fill } = await setup(t)
  for (const tenant of ['a', 'b', 'c']) await fill(`tenant=${tenant}`, bodies)
  await fill('tenant=d', 8)
  assertProblem(await ask('tenant=e', 3 * mebibyte), 'SERVER_FULL')
  assert.equal((await ask('tenant=e&operator=true', 3 * mebibyte)).statusCode, 200)
})

test('a body above the limit of its route is refused for that, and one that nobody reads leaves the connection usable', async (t) => {
  const { ask, leave, port } = await setup(t)
  assertProblem(await ask('tenant=a', 5 * mebibyte), 'BODY_TOO_LARGE')
  const long = await leave('tenant=a', { sent: 4 * mebibyte + 8_192, chunked: true })
  const answer = await new Promise<string>((resolve) => long.once('data', (data) => resolve(String(data))))
  assert.match(answer, /BODY_TOO_LARGE/)
  const socket = connect(port, '127.0.0.1')
  cleanUp(t, () => void socket.destroy())
  const unread = `POST /large?tenant=a HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: 100000\r\n\r\n`
  let text = ''
  socket.on('data', (data) => {
    text += String(data)
  })
  socket.write(unread + 'x'.repeat(100_000))
  await until(async () => (text.includes('UNSUPPORTED_MEDIA_TYPE') ? true : null), 'it is refused')
  socket.write('GET /livez HTTP/1.1\r\nhost: a\r\n\r\n')
  await until(async () => (/HTTP\/1\.1 200 OK/.test(text) ? true : null), 'the next request is answered')
})

test('a route that bounds its bodies by itself is not counted', async (t) => {
  const { ask, fill } = await setup(t)
  await fill('tenant=a', bodies)
  assertProblem(await ask('tenant=a', 3 * mebibyte), 'TENANT_SHARE_USED')
  assert.equal((await ask('tenant=a', 3 * mebibyte, '/apart')).statusCode, 200)
})

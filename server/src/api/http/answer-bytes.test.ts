import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import test, { type TestContext } from 'node:test'
import { addTenant } from '../../../test/access.ts'
import { type Answer, assertProblem, setupApp } from '../../../test/app.ts'
import { cleanUp } from '../../../test/cleanup.ts'
import { until } from '../../../test/e2e/api.ts'
import type { Caller } from '../access/auth.ts'

const mebibyte = 1024 * 1024
/** Far more than the kernel keeps of a connection that nobody reads. */
const largeBytes = 14 * mebibyte

/** An app that answers `GET /large` to the tenant of the query, with so many bytes, and `POST` too. */
async function setup(t: TestContext) {
  const parts = await setupApp(t, {
    extend: (app) => {
      app.route<{ Querystring: { tenant: string; bytes: number; operator?: string } }>({
        method: ['GET', 'POST'],
        url: '/large',
        onRequest: async (request) => {
          const { tenant: tenantId, operator } = request.query
          request.caller = { tenantId, operator: operator === 'true' } as Caller
        },
        handler: async ({ query }, reply) => reply.type('text/plain').send('x'.repeat(Number(query.bytes))),
      })
    },
  })
  await addTenant(parts.call, 'second', 'free')
  const port = Number(new URL(await parts.app.listen({ port: 0, host: '127.0.0.1' })).port)
  const ask = (tenant: string, bytes = 20_000, more = ''): Promise<Answer> =>
    parts.app.inject({ method: 'GET', url: `/large?tenant=${tenant}&bytes=${bytes}${more}` })
  /** A client that reads the head of its answer, and then no more. */
  const readHead = async (tenant: string, method = 'GET'): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1')
    cleanUp(t, () => void socket.destroy())
    socket.write(
      `${method} /large?tenant=${tenant}&bytes=${largeBytes} HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n`,
    )
    await new Promise((resolve) => socket.once('data', resolve))
    socket.pause()
    return socket
  }
  return { ...parts, ask, readHead }
}

test('a tenant whose clients do not read has a quarter of the bytes, and others are answered', async (t) => {
  const { ask, readHead } = await setup(t)
  const slow = await readHead('a')
  assert.equal((await ask('a')).statusCode, 200)
  const refused = await ask('a', 3 * mebibyte)
  assertProblem(refused, 'TENANT_SHARE_USED')
  assert.equal(refused.headers['retry-after'], '1')
  assert.equal((await ask('b', largeBytes)).statusCode, 200)
  assert.equal((await ask('a', 3 * mebibyte, '&operator=true')).statusCode, 200)
  slow.destroy()
  await until(async () => ((await ask('a', largeBytes)).statusCode === 200 ? true : null), 'room again')
})

test('bytes are free again when they are read', async (t) => {
  const { ask, readHead } = await setup(t)
  const slow = await readHead('a')
  assertProblem(await ask('a', 3 * mebibyte), 'TENANT_SHARE_USED')
  slow.resume()
  await until(async () => ((await ask('a', largeBytes)).statusCode === 200 ? true : null), 'room again')
})

test('the answer to a write is always sent, and counts; then not even a read is begun', async (t) => {
  const { ask, readHead } = await setup(t)
  await readHead('a', 'POST')
  await readHead('a', 'POST')
  assertProblem(await ask('a', 1), 'TENANT_SHARE_USED')
  assert.equal((await ask('b', 1)).statusCode, 200)
})

test('all tenants together leave a tenth of the bytes to operators', async (t) => {
  const { ask, readHead } = await setup(t)
  for (const tenant of ['a', 'b', 'c', 'd']) await readHead(tenant)
  assertProblem(await ask('e', 2 * mebibyte), 'SERVER_FULL')
  assert.equal((await ask('e', mebibyte)).statusCode, 200)
  assert.equal((await ask('e', 2 * mebibyte, '&operator=true')).statusCode, 200)
})

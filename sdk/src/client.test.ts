import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { type TestContext } from 'node:test'
import { CarillonError, createClient } from './client.ts'

async function setup(t: TestContext, listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close().closeAllConnections())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return createClient({ url, key: 'the-key', timeoutMs: 200 })
}

test('a call carries the key and brings the answer', async (t) => {
  const client = await setup(t, (request, response) => {
    const known = request.headers.authorization === 'Bearer the-key' && request.url === '/api/v1/workers'
    response.writeHead(known ? 200 : 500).end('{"workers":[]}')
  })
  assert.deepEqual(await client.workers(), { workers: [] })
})

test('not being ready is an answer, not an error', async (t) => {
  const answer = { status: 'not_ready', version: '1', roles: [], checks: { database: 'away' } }
  const client = await setup(t, (_, response) => response.writeHead(503).end(JSON.stringify(answer)))
  assert.deepEqual(await client.ready(), answer)
})

test('a refusal is an error with the problem document', async (t) => {
  const problem = { code: 'UNAUTHENTICATED', status: 401, detail: 'The API key is not known.' }
  const client = await setup(t, (_, response) =>
    response.writeHead(401, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem)),
  )
  await assert.rejects(client.workers(), (error: CarillonError) => {
    assert(error instanceof CarillonError)
    assert.equal(error.message, 'The API key is not known.')
    assert.deepEqual(error.problem, problem)
    return true
  })
})

test('silence ends after the timeout, nonsense at once, and both say from whom', async (t) => {
  const silent = await setup(t, () => {})
  await assert.rejects(silent.workers(), { name: 'CarillonError', message: /^No answer from http:.*timeout/ })
  const nonsense = await setup(t, (_, response) => response.end('<html>'))
  await assert.rejects(nonsense.workers(), { name: 'CarillonError', message: /^No answer from http:/ })
})

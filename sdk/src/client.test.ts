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

test('each call asks what the API takes', async (t) => {
  const seen: unknown[] = []
  const client = await setup(t, async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString()
    seen.push([request.method, request.url, text === '' ? null : JSON.parse(text)])
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  const job = {
    name: 'a',
    schedule: '@daily',
    execution: { callback_url: 'http://127.0.0.1:7420/echo' },
  }
  await client.createJob(job)
  await client.getJob('a/b')
  await client.trigger('1')
  await client.trigger('1', { payload_override: null })
  await client.listExecutions('1')
  await client.listExecutions('1', { status: 'FAILED', start_date: '2026-01-01T00:00:00+01:00', limit: 5 })
  await client.getExecution('2')
  await client.listDeadLetters({ job_id: '1' })
  await client.redrive(['3'])
  assert.deepEqual(seen, [
    ['POST', '/api/v1/jobs', job],
    ['GET', '/api/v1/jobs/a%2Fb', null],
    ['POST', '/api/v1/jobs/1/trigger', {}],
    ['POST', '/api/v1/jobs/1/trigger', { payload_override: null }],
    ['GET', '/api/v1/jobs/1/executions', null],
    [
      'GET',
      '/api/v1/jobs/1/executions?status=FAILED&start_date=2026-01-01T00%3A00%3A00%2B01%3A00&limit=5',
      null,
    ],
    ['GET', '/api/v1/executions/2', null],
    ['GET', '/api/v1/dead-letters?job_id=1', null],
    ['POST', '/api/v1/dead-letters/redrive', { execution_ids: ['3'] }],
  ])
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

// The checker is seen to notice: true answers pass, and each way of falsifying one is named.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { realTimers } from '../../src/lib/time/timers.ts'
import { operatorKey, setupApp } from '../app.ts'
import { cleanUp } from '../cleanup.ts'
import { Checker, type FuzzAnswer } from './check.ts'
import { type OpenApiDocument, operationsOf } from './document.ts'
import type { FuzzRequest } from './requests.ts'
import { runFuzz } from './run.ts'

const job = {
  name: 'a',
  schedule: { type: 'IMMEDIATE' },
  execution: { callback_url: 'http://127.0.0.1:9/' },
}

async function setup(t: TestContext) {
  const { app, get, call } = await setupApp(t, { timers: realTimers })
  const document: OpenApiDocument = (await get('/openapi.json')).json()
  const checker = new Checker(document)
  /** Sends it to the real API, falsifies the answer and has it checked. */
  const check = async (body: unknown, falsify: (answer: FuzzAnswer) => void = () => {}) => {
    const operation = operationsOf(document).find(({ name }) => name === 'POST /api/v1/jobs')!
    const answered = await call('POST', '/jobs', body)
    const request: FuzzRequest = {
      operation,
      method: 'POST',
      path: operation.path,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify(body)),
      parameters: {},
      spoiled: [],
    }
    const answer: FuzzAnswer = {
      status: answered.statusCode,
      headers: { ...(answered.headers as FuzzAnswer['headers']) },
      body: answered.rawPayload,
    }
    falsify(answer)
    return checker.check(request, answer)
  }
  return { app, check }
}

function rewrite(answer: FuzzAnswer, change: (value: Record<string, unknown>) => void): void {
  const value = JSON.parse(answer.body.toString())
  change(value)
  answer.body = Buffer.from(JSON.stringify(value))
}

test('a true answer passes, be it taken or refused', async (t) => {
  const { check } = await setup(t)
  assert.deepEqual(await check(job), [])
  assert.deepEqual(await check({ ...job, priority: 99 }), [])
  assert.deepEqual(await check([]), [])
})

test('a failure of ours is noticed', async (t) => {
  const { check } = await setup(t)
  const failed = await check(job, (answer) => {
    answer.status = 500
  })
  assert.match(failed[0]!, /status 500/)
  const away = (answer: FuzzAnswer) => {
    answer.status = 503
  }
  assert.match((await check(job, away))[0]!, /503 without Retry-After/)
})

test('a status, type or shape that the document does not have is noticed', async (t) => {
  const { check } = await setup(t)
  const redirected = await check(job, (answer) => {
    answer.status = 302
  })
  assert.match(redirected[0]!, /no status 302/)
  const html = await check(job, (answer) => {
    answer.headers['content-type'] = 'text/html'
  })
  assert.match(html[0]!, /content type text\/html/)
  const without = await check(job, (answer) => rewrite(answer, (value) => delete value['job_id']))
  assert.match(without[0]!, /must have required property 'job_id'/)
  const cached = await check(job, (answer) => {
    delete answer.headers['cache-control']
  })
  assert.match(cached[0]!, /no-store/)
})

test('the checker reports a refusal that does not name the error and its location', async (t) => {
  const { check } = await setup(t)
  const wrong = { ...job, priority: 99 }
  const say = (change: (problem: Record<string, unknown>) => void) =>
    check(wrong, (answer) => rewrite(answer, change)).then((complaints) => complaints.join())
  assert.match(
    await say((problem) => Object.assign(problem, { code: 'NO_SUCH_CODE' })),
    /not in the registry/,
  )
  assert.match(await say((problem) => Object.assign(problem, { code: 'JOB_NOT_FOUND' })), /belongs to 404/)
  assert.match(await say((problem) => delete problem['errors']), /without errors/)
  const elsewhere = [{ pointer: '/retry_policy/max_retries', detail: 'is wrong' }]
  assert.match(await say((problem) => Object.assign(problem, { errors: elsewhere })), /which is no field/)
  const plain = await check(wrong, (answer) => {
    answer.headers['content-type'] = 'application/json'
  })
  assert.match(plain.join(), /refusal of type application\/json/)
})

test('that something was taken which the document forbids is noticed', async (t) => {
  const { check } = await setup(t)
  const taken = await check({ ...job, priority: 99 }, (answer) => {
    answer.status = 201
    answer.headers['content-type'] = 'application/json'
  })
  assert.match(taken.join(), /taken that the document forbids.*priority/)
})

test('among many requests the few with a planted failure are found, with the command that repeats them', async (t) => {
  const { app } = await setup(t)
  let count = 0
  const origin = await serve(t, app, (_request, response) => {
    count += 1
    if (count % 100 !== 0) return false
    response.writeHead(500, { 'content-type': 'application/json' }).end('{}')
    return true
  })
  const report = await runFuzz({ origin, key: operatorKey, seed: 7, requests: 400, msMax: 30_000 })
  assert.equal(report.sent, 400)
  const planted = report.faults.filter(({ what }) => /status 500/.test(what))
  assert(planted.length > 0, 'none was found')
  assert.match(planted[0]!.curl, /^curl .*http:\/\/127\.0\.0\.1/)
  assert.equal(report.faultCount, 4, JSON.stringify(report.faults))
})

test('without a planted one there is none', async (t) => {
  const { app } = await setup(t)
  const origin = await serve(t, app, () => false)
  const report = await runFuzz({ origin, key: operatorKey, seed: 7, requests: 400, msMax: 30_000 })
  assert.deepEqual(report.faults, [])
})

/** Operations that need nothing of PostgreSQL: in memory a dry run cannot be undone. */
const light = ['/livez', '/readyz', '/echo', '/api/v1/schedules/preview', '/api/v1/workers']

/** The app behind something that may answer in its place, with a document of the light operations. */
async function serve(
  t: TestContext,
  app: FastifyInstance,
  answer: (request: IncomingMessage, response: ServerResponse) => boolean,
): Promise<string> {
  const document: OpenApiDocument = (await app.inject('/openapi.json')).json()
  const paths = Object.fromEntries(light.map((path) => [path, document.paths[path]!]))
  const server = createServer((request, response) => {
    if (request.url === '/openapi.json') response.end(JSON.stringify({ ...document, paths }))
    else if (!answer(request, response)) app.routing(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp(t, () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../cleanup.ts'
import { until } from '../e2e/api.ts'
import { startReceiver as startTarget } from '../e2e/receiver.ts'
import { type ReceiverLine, readLines } from './history.ts'
import { startReceiver } from './receiver.ts'
import { answerTo } from './receiver-answers.ts'

const headers = {
  'x-execution-id': 'e-1',
  'x-attempt-number': '2',
  'x-idempotency-key': 'k',
  'x-job-id': 'j',
  'x-scheduled-time': '2026-01-01T00:00:00Z',
  'x-carillon-token': 'secret',
  traceparent: '00-a-b-01',
}

test('a call is logged with its contents, and then with its answer', async (t) => {
  const { url, lines } = await setup(t)
  const response = await fetch(`${url}/quick`, { method: 'POST', headers, body: 'payload' })
  assert.equal(response.status, 200)
  const [arrived, answered] = lines()
  assert(arrived?.what === 'arrived' && answered?.what === 'answered')
  assert.partialDeepStrictEqual(arrived.call, {
    executionId: 'e-1',
    attempt: 2,
    key: 'k',
    jobId: 'j',
    scheduledTime: '2026-01-01T00:00:00Z',
    traceparent: '00-a-b-01',
    path: '/quick',
  })
  assert.deepEqual([answered.seq, answered.status], [arrived.seq, 200])
  assert(arrived.at <= answered.at)
})

test('a connection that is cut, and a path that is none', async (t) => {
  const { url, lines } = await setup(t)
  const id = findExecution('reset', (answer) => answer?.status === null)
  await assert.rejects(fetch(`${url}/reset`, { headers: { ...headers, 'x-execution-id': id } }))
  assert.equal((await fetch(`${url}/nowhere`, { headers })).status, 410)
  const statuses = lines().flatMap((line) => (line.what === 'answered' ? [line.status] : []))
  assert.deepEqual(statuses, [null, 410])
})

test('one that answers later says how it went with the token of the call, until it is answered', async (t) => {
  const { url, lines } = await setup(t)
  let asked = 0
  const api = await startTarget(t, {
    answer: (_call, response) => {
      response.statusCode = asked++ === 0 ? 503 : 200
      response.end()
    },
  })
  const id = findExecution('later', (answer) => answer?.says?.length === 1)
  const response = await fetch(`${url}/later?api=${api.url}`, {
    headers: { ...headers, 'x-execution-id': id },
  })
  assert.deepEqual([response.status, response.headers.get('x-carillon-async')], [202, 'true'])
  const said = await until(() => lines().find((line) => line.what === 'said') ?? null, 'it says how it went')
  assert(said.what === 'said')
  assert.equal(said.answer, 200)
  assert.deepEqual(
    api.calls.map(({ path, headers: { authorization } }) => [path, authorization]),
    [1, 2].map(() => [`/api/v1/executions/${id}/complete`, 'Bearer secret']),
  )
})

test('the same execution and attempt get the same answer, others may get another', () => {
  const ask = (executionId: string, attempt: number) => answerTo('flaky', { executionId, attempt, ms: 0 })
  assert.deepEqual(ask('e', 1), ask('e', 1))
  const statuses = new Set(Array.from({ length: 100 }, (_, n) => ask(`e-${n}`, 1)?.status))
  assert.deepEqual(statuses, new Set([200, 503, null]))
})

function findExecution(name: string, fits: (answer: ReturnType<typeof answerTo>) => boolean): string {
  const ids = Array.from({ length: 200 }, (_, n) => `e-${n}`)
  return ids.find((executionId) => fits(answerTo(name, { executionId, attempt: 2, ms: 0 })))!
}

async function setup(t: TestContext) {
  const dir = await mkdtemp(join(tmpdir(), 'carillon-receiver-'))
  cleanUp(t, () => rm(dir, { recursive: true }))
  const receiver = await startReceiver(dir, 0)
  cleanUp(t, () => receiver[Symbol.asyncDispose]())
  return { url: receiver.url, lines: () => readLines<ReceiverLine>(dir, 'receiver') }
}

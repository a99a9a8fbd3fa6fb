import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { type Call, startReceiver } from '../e2e/receiver.ts'
import { isIdle } from './driver.ts'
import { Caller } from './driver-calls.ts'
import type { HistoryLine } from './history.ts'

const call = { name: 'trigger', method: 'POST', path: '/jobs/j/trigger', body: { a: 1 }, key: 'k-1' }

test('a line is in the history before the request is sent, and one when it was answered', async (t) => {
  const { caller, lines, seen } = await setup(t, [{ status: 202, body: { execution_id: 'e', other: 1 } }])
  const { ending, body } = await caller.send(call)
  assert.deepEqual([ending, body.execution_id], ['ok', 'e'])
  assert.equal(seen[0], 1, 'one line was there when the request came')
  assert.deepEqual(
    lines.map(({ what }) => what),
    ['sent', 'answered'],
  )
  assert.deepEqual(lines[1]?.what === 'answered' && lines[1].answer, { execution_id: 'e' })
})

test('a refused call is over, and a call that may have taken effect is sent again elsewhere with its key', async (t) => {
  const { caller, calls, lines } = await setup(t, [
    { status: 503, body: {} },
    { status: 409, body: { code: 'IDEMPOTENCY_KEY_IN_USE' } },
    { status: 'cut' },
    { status: 409, body: { code: 'JOB_DELETED' } },
  ])
  assert.equal((await caller.send(call)).ending, 'fail')
  assert.deepEqual(
    calls.map(({ headers }) => headers['idempotency-key']),
    ['k-1', 'k-1', 'k-1', 'k-1'],
  )
  const endings = lines.flatMap((line) => (line.what === 'answered' ? [line.ending] : []))
  assert.deepEqual(endings, ['info', 'info', 'info', 'fail'])
  const sent = lines.flatMap((line) => (line.what === 'sent' ? [line.call] : []))
  assert.deepEqual(
    sent.map(({ again }) => again),
    [undefined, 1, 1, 1],
  )
  assert.equal(new Set(sent.map(({ api }) => api)).size, 2)
})

test('a change without a key is sent once, however it is answered', async (t) => {
  const { caller, calls } = await setup(t, [{ status: 'cut' }])
  const edit = { name: 'edit', method: 'PATCH', path: '/jobs/j', body: {}, version: 3 }
  assert.equal((await caller.sendOnce(edit)).ending, 'info')
  assert.deepEqual(
    calls.map(({ headers }) => headers['if-match']),
    ['"3"'],
  )
})

for (const [from, to] of [
  ['RETRYING', 'RUNNING'],
  ['RUNNING', 'RETRYING'],
  ['WAITING_DEPENDENCIES', 'PENDING'],
  ['PENDING', 'RUNNING'],
  ['RUNNING', 'CANCELLING'],
] as const)
  test(`an execution that goes from ${from} to ${to} between two questions is under way`, async (t) => {
    for (let moveBefore = 1; moveBefore <= 6; moveBefore++) {
      const { port } = await startReceiver(t, {
        answer: ({ path }, response) => {
          const asked = new URL(path, 'http://127.0.0.1').searchParams.get('status')
          const total = asked === (questions++ < moveBefore ? from : to) ? 1 : 0
          response.end(JSON.stringify({ pagination: { total }, graph_runs: [] }))
        },
      })
      let questions = 0
      const caller = new Caller({ apiUrls: [`http://127.0.0.1:${port}`], key: 'x', write: () => {} })
      assert.equal(await isIdle(caller), false, `it moved before question ${moveBefore}`)
    }
  })

/** An API that gives these answers in turn, under two addresses. */
async function setup(t: TestContext, answers: { status: number | 'cut'; body?: object }[]) {
  const lines: HistoryLine[] = []
  const calls: Call[] = []
  /** Lines that were there when each request came. */
  const seen: number[] = []
  const { port } = await startReceiver(t, {
    answer: (given, response, request) => {
      calls.push(given)
      seen.push(lines.length)
      const { status, body } = answers.shift()!
      if (status === 'cut') {
        request.socket.destroy()
        return
      }
      response.statusCode = status
      response.end(JSON.stringify(body))
    },
  })
  const apiUrls = [`http://127.0.0.1:${port}`, `http://localhost:${port}`]
  const caller = new Caller({ apiUrls, key: 'x', write: (line) => lines.push(line) })
  return { caller, calls, lines, seen }
}

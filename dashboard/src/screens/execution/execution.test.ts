import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Execution } from '@carillon/contract/execution.ts'
import { checkJson } from './check-json.ts'
import { searchLines } from './log-search.ts'
import { nearest } from './neighbour-of.ts'
import { waterfallOf } from './waterfall.ts'
import { whyLine } from './why-line.ts'

const base = {
  execution_id: 'e',
  job_id: 'j',
  status: 'SUCCEEDED',
  kind: 'slot',
  scheduled_time: '2026-11-17T12:00:00.000Z',
  enqueued_at: '2026-11-17T12:00:00.010Z',
  started_at: '2026-11-17T12:00:00.030Z',
  finished_at: '2026-11-17T12:00:00.530Z',
  duration_ms: 500,
  attempt_number: 1,
  error: null,
  worker_id: 'w1',
  dead_letter: false,
  retry_at: null,
  progress: null,
  parents: [],
  skipped: null,
  attempts: [],
} as unknown as Execution

const refused = {
  type: 'HTTP_ERROR',
  message: 'Callback returned 503 Service Unavailable.',
  http_status: 503,
}
const now = Date.parse('2026-11-17T12:00:10.000Z')
const attempt = (number: number, times: [string, string, string], outcome = 'failed') => ({
  attempt_number: number,
  outcome,
  worker_id: 'w1',
  enqueued_at: times[0],
  started_at: times[1],
  finished_at: times[2],
  duration_ms: 1,
  http_status: 503,
  error: refused,
  response_preview: null,
  usage: null,
})

test('one that succeeded says on which attempt, how long it took and how late it began', () => {
  assert.equal(whyLine(base, now), 'It succeeded on attempt 1 in 500 ms; it began 30 ms after it was due.')
})

test('a retrying execution shows its error and when its next attempt starts', () => {
  const retrying = {
    ...base,
    status: 'RETRYING',
    error: refused,
    retry_at: '2026-11-17T12:00:14.000Z',
  } as Execution
  assert.equal(
    whyLine(retrying, now),
    'Attempt 1 failed: Callback returned 503 Service Unavailable; attempt 2 starts in 4.0 s.',
  )
})

test('one that failed for good says that a person is needed', () => {
  const failed = {
    ...base,
    status: 'FAILED',
    attempt_number: 3,
    error: refused,
    dead_letter: true,
  } as Execution
  assert.equal(
    whyLine(failed, now),
    'Attempt 3, the last one, failed: Callback returned 503 Service Unavailable; it became a dead letter.',
  )
})

test('one that runs says for how long, where, and how far it is', () => {
  const running = {
    ...base,
    status: 'RUNNING',
    progress: { fraction: 0.4, message: 'page 4 of 10', at: base.enqueued_at },
  } as Execution
  assert.equal(whyLine(running, now), 'Attempt 1 has been running for 10 s on worker w1: 40 %, page 4 of 10.')
})

test('every status has its sentence', () => {
  for (const status of [
    'WAITING_DEPENDENCIES',
    'PENDING',
    'CANCELLING',
    'CANCELLED',
    'SKIPPED',
    'TIMED_OUT',
  ] as const) {
    assert.match(whyLine({ ...base, status }, now), /^[A-Z].+\.$/)
  }
})

test('the waterfall has the wait, the run and the pause of every attempt on one line of time', () => {
  const execution = {
    ...base,
    status: 'FAILED',
    attempts: [
      attempt(1, ['2026-11-17T12:00:00.000Z', '2026-11-17T12:00:00.100Z', '2026-11-17T12:00:00.300Z']),
      attempt(2, ['2026-11-17T12:00:01.000Z', '2026-11-17T12:00:01.050Z', '2026-11-17T12:00:02.000Z']),
    ],
  } as unknown as Execution
  const { bars, lengthMs } = waterfallOf(execution, now)
  assert.equal(lengthMs, 2_000)
  assert.deepEqual(
    bars.map(({ queueMs, runMs, backoffEndMs }) => ({ queueMs, runMs, backoffEndMs })),
    [
      { queueMs: 100, runMs: 200, backoffEndMs: 1_000 },
      { queueMs: 50, runMs: 950, backoffEndMs: null },
    ],
  )
})

test('an attempt that runs grows with the time, one that waits has not begun', () => {
  const running = waterfallOf({ ...base, status: 'RUNNING' } as Execution, now)
  assert.deepEqual([running.bars[0]?.outcome, running.bars[0]?.runMs], ['running', 9_970])
  const waiting = waterfallOf({ ...base, status: 'PENDING', attempt_number: 0 } as Execution, now)
  assert.deepEqual([waiting.bars[0]?.attempt, waiting.bars[0]?.startMs], [1, null])
})

test('clocks of two machines that disagree make no bar that ends before it begins', () => {
  const execution = {
    ...base,
    status: 'FAILED',
    attempts: [
      attempt(1, ['2026-11-17T12:00:00.200Z', '2026-11-17T12:00:00.100Z', '2026-11-17T12:00:00.050Z']),
    ],
  } as unknown as Execution
  const [bar] = waterfallOf(execution, now).bars
  assert.ok(bar !== undefined && bar.queueMs >= 0 && (bar.runMs ?? -1) >= 0)
})

test('neighbours are ordered by slot, and within a slot by creation', () => {
  const placed = (execution_id: string, second: number) => ({
    execution_id,
    scheduled_time: `2026-11-17T12:00:0${second}Z`,
  })
  // In list order: newest first, and r is a retry of the slot of b.
  const items = [placed('r', 2), placed('c', 3), placed('b', 2), placed('a', 1)]
  assert.equal(nearest(items, placed('b', 2), 'older'), 'a')
  assert.equal(nearest(items, placed('b', 2), 'newer'), 'r')
  assert.equal(nearest(items, placed('r', 2), 'older'), 'b')
  assert.equal(nearest(items, placed('r', 2), 'newer'), 'c')
  assert.equal(nearest(items, placed('c', 3), 'newer'), null)
})

test('a payload is checked before it is sent', () => {
  assert.deepEqual(checkJson('{"a": 1}'), { value: { a: 1 }, error: null })
  assert.deepEqual(checkJson('null'), { value: null, error: null })
  assert.match(checkJson('{').error ?? '', /^Not JSON/)
  assert.equal(checkJson(JSON.stringify('x'.repeat(300_000))).error, 'It is larger than 256 KB.')
})

test('the log is searched in any case', () => {
  const lines = ['Begin', 'half way', 'BEGIN again'].map((message, line) => ({
    message,
    line,
    attempt_number: 1,
    at: base.enqueued_at,
    level: 'info' as const,
  }))
  assert.deepEqual(
    searchLines(lines, ' begin ').map(({ line }) => line),
    [0, 2],
  )
  assert.equal(searchLines(lines, '').length, 3)
})

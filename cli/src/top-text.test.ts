import assert from 'node:assert/strict'
import { test } from 'node:test'
import { widthOf } from './text.ts'
import type { Seen } from './top-source.ts'
import { createTopState, take } from './top-state.ts'
import { type TopLook, writeTop } from './top-text.ts'

const nowMs = Date.now()
const look: TopLook = {
  width: 80,
  height: 24,
  paint: (text) => text,
  nowMs,
  url: 'http://127.0.0.1:7420',
  paused: false,
}

function seen(n: number, change: Partial<Seen> = {}): Seen {
  const at = new Date(nowMs - 1_000).toISOString()
  return {
    execution_id: `e${n}`,
    job_id: `j${n % 3}`,
    job_name: `Job ${n % 3} \u001b[31m日本語 with a name that is far too long for any line of a terminal`,
    status: 'SUCCEEDED',
    attempt_number: 1,
    scheduled_time: at,
    started_at: at,
    finished_at: at,
    duration_ms: 12,
    error_type: null,
    ...change,
  }
}

function busyState() {
  const state = createTopState()
  take(state, { kind: 'source', source: 'stream' })
  for (let i = 0; i < 300; i++) {
    const counts = { started: i % 50, succeeded: i % 40, failed: i % 3, running: 7, waiting: 2 }
    take(state, { kind: 'pulse', pulse: { atMs: nowMs - 200, seconds: 1, capped: false, ...counts } })
    const status = i % 3 === 0 ? 'FAILED' : i % 3 === 1 ? 'RUNNING' : 'SUCCEEDED'
    const change = status === 'RUNNING' ? { finished_at: null, duration_ms: null } : {}
    take(state, { kind: 'executions', items: [seen(i, { status, ...change, error_type: `TYPE_${i % 30}` })] })
  }
  state.workers = { count: 2, load: 7, capacity: 4_000 }
  state.deadLetters = { count: 3, capped: false }
  return state
}

test('the screen fills the terminal exactly, at any size', () => {
  for (const [width, height] of [
    [80, 24],
    [40, 10],
    [200, 60],
  ] as const) {
    for (const state of [busyState(), createTopState()]) {
      const lines = writeTop(state, { ...look, width, height })
      assert.equal(lines.length, height)
      for (const line of lines) {
        assert(widthOf(line) <= width, `${width}: ${widthOf(line)} ${line}`)
        assert(!line.includes('\u001b'))
      }
    }
  }
})

test('the screen shows throughput and the running, failing and waiting executions', () => {
  const text = writeTop(busyState(), look).join('\n')
  assert.match(text, /^carillon top {2}http:\/\/127\.0\.0\.1:7420 .*live, 200ms old {2}\d\d:\d\d:\d\d UTC/)
  assert.match(text, /running 7 {3}waiting 2 {3}workers 2 \(7 of 4000\) {3}dead letters 3/)
  assert.match(text, /^started +\d+\.\d\/s .*▁/m)
  assert.match(text, /FAILED ATTEMPTS in the last hour\n +\d+× {2}Job 0/)
  assert.match(text, /▶ running/)
  assert.match(text, /✓ succeeded/)
  assert.match(text, /q quit/)
})

test('an execution that ended is not shown as running', () => {
  const state = createTopState()
  take(state, { kind: 'executions', items: [seen(1, { status: 'RUNNING', finished_at: null })] })
  take(state, { kind: 'executions', items: [seen(1)] })
  assert.equal(state.running.size, 0)
  assert.equal(state.ended.length, 1)
})

test('the collected data is bounded', () => {
  const state = createTopState()
  for (let i = 0; i < 5_000; i++) {
    take(state, { kind: 'executions', items: [seen(i, { status: 'FAILED', job_id: `j${i}` })] })
    take(state, { kind: 'executions', items: [seen(i + 10_000, { status: 'RUNNING' })] })
  }
  assert(state.failing.size <= 200 && state.ended.length <= 50 && state.running.size <= 1_000)
})

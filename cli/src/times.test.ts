import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeProgress } from './progress.ts'
import { readInstant, readSeconds, writeAgo, writeDuration } from './times.ts'

test('durations have a unit, and two at most', () => {
  const cases = [
    [3, '3ms'],
    [1_234, '1.2s'],
    [59_999, '59s'],
    [125_000, '2m 5s'],
    [3_600_000, '1h'],
    [47 * 3_600_000, '1d 23h'],
    [20 * 86_400_000, '20d'],
  ] as const
  for (const [ms, text] of cases) assert.equal(writeDuration(ms), text)
  assert.equal(writeAgo(-90_000), '1m ago')
  assert.equal(writeAgo(7_300_000), 'in 2h')
})

test('times are given as spans, days or instants', () => {
  assert.equal(readSeconds('timeout', '90'), 90)
  assert.equal(readSeconds('timeout', '5m'), 300)
  assert.throws(() => readSeconds('timeout', 'soon'), /--timeout is a time such as 30s/)
  assert.equal(readInstant('since', '2026-01-31', 'past'), '2026-01-31')
  const backMs = Date.now() - Date.parse(readInstant('since', '2h', 'past'))
  assert(Math.abs(backMs - 7_200_000) < 5_000)
  assert.throws(() => readInstant('since', 'yesterday', 'past'), /--since is a span/)
})

test('a bar tells counts, share and the time that is left', () => {
  const state = { what: 'Pause', done: 50, total: 200, note: '', elapsedMs: 10_000 }
  assert.equal(writeProgress(state), 'Pause  ██████░░░░░░░░░░░░░░░░░░  50/200  25%  30s left')
  assert.equal(writeProgress({ ...state, total: null }), 'Pause  50 done')
})

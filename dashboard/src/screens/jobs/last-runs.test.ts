import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withRuns } from './last-runs.ts'

const run = (execution_id: string, minute: number, status: string) => ({
  job_id: 'a',
  execution_id,
  status,
  scheduled_time: `2026-01-01T00:0${minute}:00Z`,
})

test('the latest execution of a job is the one that was due last, and follows its status until it ended', () => {
  const first = withRuns(new Map(), [run('1', 1, 'SUCCEEDED'), run('0', 0, 'FAILED')])
  assert.equal(first.get('a')?.execution_id, '1')
  const second = withRuns(first, [run('2', 2, 'RUNNING')])
  const third = withRuns(second, [run('2', 2, 'FAILED')])
  assert.equal(third.get('a')?.status, 'FAILED')
  assert.equal(withRuns(third, [run('2', 2, 'RUNNING')]).get('a')?.status, 'FAILED')
})

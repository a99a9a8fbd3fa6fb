// The bar of a run.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inProgressOrder, progressText, withNews } from './progress.ts'

test('ended statuses come first, and an unknown status last', () => {
  const parts = inProgressOrder({ PENDING: 2, NEW_ONE: 1, FAILED: 1, SUCCEEDED: 3, RUNNING: 0 })
  assert.deepEqual(
    parts.map(({ status }) => status),
    ['SUCCEEDED', 'FAILED', 'PENDING', 'NEW_ONE'],
  )
  assert.deepEqual(
    parts.map(({ isEnded }) => isEnded),
    [true, true, false, false],
  )
})

test('the bar in words', () => {
  assert.equal(
    progressText({ WAITING_DEPENDENCIES: 4, SUCCEEDED: 7, FAILED: 1 }),
    '8 of 12 nodes ended: 7 succeeded, 1 failed, 4 waiting dependencies',
  )
  assert.equal(progressText({}), '0 of 0 nodes ended')
})

test('a row is updated by the events of its run', () => {
  const row = { status: 'RUNNING', nodes_by_status: { PENDING: 2 } }
  const news = { graph_run_id: 'r', status: 'SUCCEEDED', states: { SUCCEEDED: 2 } }
  assert.deepEqual(withNews(row, news), { status: 'SUCCEEDED', nodes_by_status: { SUCCEEDED: 2 } })
  assert.deepEqual(withNews(row, { ...news, states: null }).nodes_by_status, { PENDING: 2 })
  assert.equal(withNews(row, undefined), row)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LiveExecution } from '../../live/live.ts'
import { withEvent } from '../../live/told-execution.ts'
import { freshMax, noLiveRows, type Row, takeLiveRows } from './live-rows.ts'

function told(id: string, change: Partial<LiveExecution> = {}): LiveExecution {
  return {
    execution_id: id,
    job_id: 'j',
    job_name: 'job',
    status: 'RUNNING',
    attempt_number: 1,
    scheduled_time: '2026-11-17T12:00:05Z',
    started_at: null,
    finished_at: null,
    duration_ms: null,
    error_type: null,
    ...change,
  }
}

const seen = { ids: new Set(['b']), newest: 'b', query: {} }

test('a row that is listed changes in place and is not counted as new', () => {
  const { changed, fresh } = takeLiveRows(noLiveRows, [told('b', { status: 'SUCCEEDED' })], seen)
  assert.equal(changed.get('b')?.status, 'SUCCEEDED')
  assert.equal(fresh.size, 0)
})

test('one that is newer than the list is counted once, however often it is told', () => {
  const once = takeLiveRows(noLiveRows, [told('c'), told('c', { status: 'SUCCEEDED' })], seen)
  assert.deepEqual([...takeLiveRows(once, [told('c')], seen).fresh], ['c'])
})

test('one that is older than the list, or does not match it, is not new', () => {
  const old = told('a')
  assert.equal(takeLiveRows(noLiveRows, [old], seen).fresh.size, 0)
  const failedOnly = { ...seen, query: { status: 'FAILED' } }
  assert.equal(takeLiveRows(noLiveRows, [told('d')], failedOnly).fresh.size, 0)
})

test('under a search nothing counts as new: whether it matches, an event does not tell', () => {
  for (const name of ['q', 'tag', 'kind', 'dead_letter', 'worker_id', 'end_date']) {
    const searched = { ...seen, query: { [name]: 'Garamond' } }
    assert.equal(takeLiveRows(noLiveRows, [told('c')], searched).fresh.size, 0, name)
  }
  const recent = { ...seen, query: { start_date: '2026-11-17T12:00:00Z', status: 'RUNNING' } }
  assert.equal(takeLiveRows(noLiveRows, [told('c')], recent).fresh.size, 1)
})

test('the number of rows held back is limited', () => {
  const many = Array.from({ length: freshMax + 50 }, (_, index) => told(`n${index}`))
  assert.equal(takeLiveRows(noLiveRows, many, seen).fresh.size, freshMax)
})

test('an event about an earlier attempt does not undo a later one', () => {
  const row = { execution_id: 'a', status: 'RUNNING', attempt_number: 2 } as Row
  assert.equal(withEvent(row, told('a', { attempt_number: 1, status: 'FAILED' })).status, 'RUNNING')
  assert.equal(withEvent(row, told('a', { attempt_number: 2, status: 'FAILED' })).status, 'FAILED')
})

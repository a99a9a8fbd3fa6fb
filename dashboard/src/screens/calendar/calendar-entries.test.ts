import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entriesOf, linesOf } from './calendar-entries.ts'

test('the days of a calendar are read and written line by line', () => {
  const entries = [{ date: '2026-10-03' }, { from: '2026-12-24', to: '2026-12-26' }]
  assert.deepEqual(entriesOf(`\n ${linesOf(entries)} \n`), { entries, error: null })
})

test('a line that is no day is told', () => {
  assert.match(entriesOf('2026-10-03\nchristmas').error ?? '', /christmas/)
  assert.match(entriesOf('2026-10-03\n'.repeat(501)).error ?? '', /500/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at } from '../../../test/schedule/list-runs.ts'
import { readInstant } from './instant.ts'
import { findZone } from './zone.ts'

const newYork = findZone('America/New_York')

test('RFC 3339 is read as the instant it names', () => {
  for (const [text, instant] of [
    ['2026-01-31T09:00:00Z', '2026-01-31T09:00:00Z'],
    ['2026-01-31t09:00:00z', '2026-01-31T09:00:00Z'],
    ['2026-01-31 09:00Z', '2026-01-31T09:00:00Z'],
    ['2026-01-31T09:00:00+05:30', '2026-01-31T03:30:00Z'],
    ['2026-01-31T09:00:00-0800', '2026-01-31T17:00:00Z'],
    ['2024-02-29T23:59:59.250Z', '2024-02-29T23:59:59.250Z'],
  ] as const) {
    const read = readInstant(text, 'from', null)
    assert.ok(read.ok, text)
    assert.equal(read.value * 1000, at(instant), text)
  }
})

test('a time without an offset is read on the clock of the zone', () => {
  assert.ok(newYork.ok)
  for (const [text, instant] of [
    ['2026-07-01T09:00:00', '2026-07-01T13:00:00Z'],
    ['2026-03-08T02:30:00', '2026-03-08T07:00:00Z'],
    ['2026-11-01T01:30:00', '2026-11-01T05:30:00Z'],
    ['2150-07-01T09:00:00', '2150-07-01T13:00:00Z'],
  ] as const) {
    const read = readInstant(text, 'from', newYork.value)
    assert.ok(read.ok, text)
    assert.equal(read.value * 1000, at(instant), text)
  }
})

test('dates that do not exist, and texts that are no time, are refused', () => {
  for (const text of [
    '',
    'now',
    '2026-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-32T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T23:59:60Z',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00',
    '2026-01-01',
    '2026/01/01T00:00:00Z',
    '12026-01-01T00:00:00Z',
    '2026-01-01T00:00:00Z ',
    '1960-01-01T00:00:00Z',
    '2200-01-01T00:00:00Z',
    `2026-01-01T00:00:00.${'0'.repeat(300)}Z`,
  ]) {
    const read = readInstant(text, 'from', null)
    assert.ok(!read.ok, text)
    assert.deepEqual([read.error.code, read.error.field], ['BAD_INSTANT', 'from'])
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatExact,
  formatRelative,
  formatShare,
  formatTime,
  plural,
  words,
} from './format.ts'

test('durations have the unit that fits them', () => {
  assert.equal(formatDuration(0), '0 ms')
  assert.equal(formatDuration(999.4), '999 ms')
  assert.equal(formatDuration(1_000), '1.0 s')
  assert.equal(formatDuration(59_400), '59 s')
  assert.equal(formatDuration(61_000), '1 min 01 s')
  assert.equal(formatDuration(3_600_000), '1 h 00 min')
  assert.equal(formatDuration(90_000_000), '1 d 01 h')
  assert.equal(formatDuration(null), '–')
})

test('a duration that is about to be a minute is a minute, not sixty seconds', () => {
  assert.equal(formatDuration(59_999), '1 min 00 s')
})

test('a share is never whole when something is missing, nor nothing when something is there', () => {
  assert.equal(formatShare(1), '100 %')
  assert.equal(formatShare(0.99999), '99.9 %')
  assert.equal(formatShare(0.00001), '0.1 %')
  assert.equal(formatShare(0), '0 %')
  assert.equal(formatShare(0.5), '50 %')
  assert.equal(formatShare(null), 'none yet')
})

test('counts are grouped and say when there are more', () => {
  assert.equal(formatCount(10_000, true), '10,000+')
  assert.equal(plural(1, 'job'), '1 job')
  assert.equal(plural(1_200, 'job'), '1,200 jobs')
})

test('sizes grow through their units', () => {
  assert.equal(formatBytes(512), '512 B')
  assert.equal(formatBytes(1_536), '1.5 KB')
  assert.equal(formatBytes(5 * 1_024 ** 3), '5.0 GB')
})

test('an instant of today shows its time, another one its date too', () => {
  const now = Date.parse('2026-11-17T12:00:00Z')
  assert.equal(formatTime('2026-11-17T09:30:05Z', 'UTC', now), '09:30:05Z')
  assert.equal(formatTime('2026-11-16T09:30:05Z', 'UTC', now), '11-16 09:30:05Z')
  assert.equal(formatTime('2025-11-16T09:30:05Z', 'UTC', now), '2025-11-16 09:30:05Z')
  assert.equal(formatTime('2026-11-17T11:58:00Z', 'relative', now), '2 min ago')
  assert.equal(formatTime('not an instant', 'UTC', now), 'not an instant')
})

test('a future instant is shown as in some time, and a past one as some time ago', () => {
  assert.equal(formatRelative(5_000, 0), 'in 5 s')
  assert.equal(formatRelative(0, 5_400_000), '1 h 30 min ago')
  assert.equal(formatRelative(0, 500), 'now')
})

test('the exact form has milliseconds and its zone', () => {
  assert.equal(formatExact('2026-11-17T09:30:05.123Z', 'UTC'), '2026-11-17 09:30:05.123 UTC')
})

test('a status is read as words', () => {
  assert.equal(words('WAITING_DEPENDENCIES'), 'waiting dependencies')
})

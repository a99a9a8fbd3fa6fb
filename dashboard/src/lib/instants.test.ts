import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitInstants, withInstants } from './instants.ts'

const nowMs = Date.parse('2026-11-17T12:00:00Z')

test('each instant of a sentence is a part of its own, and no other digits are', () => {
  assert.deepEqual(splitInstants('Not due until 2026-11-17T23:20:00Z.'), [
    { text: 'Not due until ' },
    { instant: '2026-11-17T23:20:00Z' },
    { text: '.' },
  ])
  assert.deepEqual(splitInstants('2026-11-17T23:20:00.125+01:00'), [
    { instant: '2026-11-17T23:20:00.125+01:00' },
  ])
  const none = 'Version 2026-11-17 of 23:20:00 failed at 2026-99-99T99:00:00Z'
  assert.deepEqual(splitInstants(none), [{ text: none }])
  assert.deepEqual(splitInstants(''), [])
})

test('an instant in a sentence stands on the chosen clock, with its zone', () => {
  const said = 'It has been paused since 2026-11-16T21:30:02Z, until 2026-11-17T23:20:00Z.'
  const utc = 'It has been paused since 11-16 21:30:02 UTC, until 23:20:00 UTC.'
  assert.equal(withInstants(said, 'UTC', nowMs), utc)
  const zone = process.env['TZ']
  process.env['TZ'] = 'Europe/Berlin'
  try {
    const berlin = 'It has been paused since 11-16 22:30:02 CET, until 11-18 00:20:00 CET.'
    assert.equal(withInstants(said, 'local', nowMs), berlin)
    assert.equal(withInstants(said, 'relative', nowMs), berlin, '"ago" means the local clock')
  } finally {
    if (zone === undefined) delete process.env['TZ']
    else process.env['TZ'] = zone
  }
})

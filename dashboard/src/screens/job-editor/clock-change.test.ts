import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextClockChange } from './clock-change.ts'

const at = (zone: string, from: string) => {
  const found = nextClockChange(zone, Date.parse(from))
  return found === null ? null : new Date(found).toISOString()
}

test('the next clock change is found to the minute, forwards and back', () => {
  assert.equal(at('America/New_York', '2026-11-17T02:00:00Z'), '2027-03-14T07:00:00.000Z')
  assert.equal(at('Europe/Berlin', '2026-08-01T00:00:00Z'), '2026-10-25T01:00:00.000Z')
  assert.equal(at('Australia/Lord_Howe', '2026-08-01T00:00:00Z'), '2026-10-03T15:30:00.000Z')
})

test('a zone without clock changes, or that is none, has no next one', () => {
  assert.equal(at('UTC', '2026-11-17T02:00:00Z'), null)
  assert.equal(at('Asia/Tokyo', '2026-11-17T02:00:00Z'), null)
  assert.equal(at('Nowhere/Land', '2026-11-17T02:00:00Z'), null)
})

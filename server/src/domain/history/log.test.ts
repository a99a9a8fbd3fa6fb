import assert from 'node:assert/strict'
import test from 'node:test'
import { firstLineOf } from './log.ts'

test('the log of an attempt that is run again under its number follows the one before', () => {
  const first = firstLineOf({ attempt: 1, fence: 1 })
  // Handed back and claimed again: another claim, the same attempt.
  const again = firstLineOf({ attempt: 1, fence: 2 })
  assert.equal(first, 0)
  assert.ok(again > first)
  assert.ok(firstLineOf({ attempt: 1, fence: 3 }) > again)
})

test('each attempt that was spent begins with line 0', () => {
  for (const attempt of [1, 2, 7]) assert.equal(firstLineOf({ attempt, fence: attempt }), 0)
})

test('the number of a line fits into an integer, however often an execution was handed back', () => {
  assert.ok(firstLineOf({ attempt: 1, fence: 2_147_483_647 }) + 1_000_000 < 2 ** 31)
})

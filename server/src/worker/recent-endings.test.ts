import assert from 'node:assert/strict'
import test from 'node:test'
import { RecentEndings } from './recent-endings.ts'

test('the larger of two windows of 200 ms is measured, and nothing once both are over', () => {
  const endings = new RecentEndings()
  for (let i = 0; i < 5; i++) endings.count(1_000)
  assert.equal(endings.measure(1_199), 5)
  endings.count(1_200)
  assert.equal(endings.measure(1_399), 5)
  assert.equal(endings.measure(1_400), 1)
  assert.equal(endings.measure(1_800), 0)
})

test('the largest count stays known until it is forgotten', () => {
  const endings = new RecentEndings()
  for (let i = 0; i < 5; i++) endings.count(1_000)
  endings.count(9_000)
  assert.equal(endings.most, 5)
  endings.forgetMost()
  assert.equal(endings.most, 0)
  endings.measure(9_100)
  assert.equal(endings.most, 1, 'the current window counts again')
})

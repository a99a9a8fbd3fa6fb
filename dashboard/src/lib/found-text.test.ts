import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foundText } from './found-text.ts'

const capped = { totalCapped: true, isComplete: false }

test('the number found is never less than the rows on screen', () => {
  assert.equal(foundText({ ...capped, total: 6, loaded: 48 }), '48+ found')
  assert.equal(foundText({ ...capped, total: 1_000, loaded: 100 }), '1,000+ found')
})

test('a search that found nothing so far does not say "0+"', () => {
  assert.equal(foundText({ ...capped, total: 0, loaded: 0 }), 'none found yet')
})

test('once the end is reached the number is exact', () => {
  assert.equal(foundText({ ...capped, total: 0, loaded: 0, isComplete: true }), '0 found')
  assert.equal(foundText({ ...capped, total: 6, loaded: 48, isComplete: true }), '48 found')
})

test('an exact total stands as it is', () => {
  assert.equal(foundText({ total: 250, totalCapped: false, loaded: 100, isComplete: false }), '250 found')
  assert.equal(foundText({ total: null, totalCapped: false, loaded: 0, isComplete: false }), '')
})

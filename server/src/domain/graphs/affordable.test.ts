import assert from 'node:assert/strict'
import test from 'node:test'
import { takeAffordable } from './affordable.ts'

const taken = (sizes: readonly number[], max = 100) => takeAffordable(sizes, (size) => size, max)

test('as many items are taken as fit, earlier ones first', () => {
  assert.deepEqual(taken([]), [])
  assert.deepEqual(taken([40, 40, 40, 20]), [40, 40, 20])
  assert.deepEqual(taken(Array(120).fill(1)), Array(100).fill(1))
})

test('the first item is taken however large it is', () => {
  assert.deepEqual(taken([500, 40]), [500])
  assert.deepEqual(taken([500, 40, 3]), [500, 3])
})

test('small items are not held up by large ones that would fill the step', () => {
  assert.deepEqual(taken([50, 50, 50, 2, 5]), [50, 2, 5])
})

test('small items that are more than a quarter of the step wait for their turn', () => {
  assert.deepEqual(taken([30, 40, ...Array(30).fill(5)]), [30, 40, ...Array(6).fill(5)])
})

test('the smallest items come first of all', () => {
  assert.deepEqual(taken([...Array(30).fill(5), 1]), [...Array(19).fill(5), 1])
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { WaitingEstimates } from './waiting-estimates.ts'

test('a tenant that was never counted is counted first', () => {
  const estimates = new WaitingEstimates()
  assert.equal(estimates.isOld('a', 1, 0), true)
  assert.equal(estimates.usedOf('a'), null)
  assert.equal(estimates.roomOf('a'), Number.POSITIVE_INFINITY)
})

test('executions admitted since the count leave less room, until the next count', () => {
  const estimates = new WaitingEstimates()
  estimates.note('a', { waitingMax: 10, waiting: 4 }, 0)
  estimates.admit('a', 5)
  assert.deepEqual([estimates.roomOf('a'), estimates.usedOf('a')], [1, 9])
  estimates.admit('a', 5)
  assert.equal(estimates.roomOf('a'), 0)
  estimates.note('a', { waitingMax: 10, waiting: 2 }, 1)
  assert.deepEqual([estimates.roomOf('a'), estimates.usedOf('a')], [8, 2])
})

test('far from the limit a count stands for ten seconds, near it for one', () => {
  const estimates = new WaitingEstimates()
  estimates.note('a', { waitingMax: 100, waiting: 50 }, 0)
  const isOld = (more: number, nowMs: number) => estimates.isOld('a', more, nowMs)
  assert.deepEqual([isOld(30, 9_999), isOld(30, 10_000)], [false, true])
  assert.deepEqual([isOld(31, 999), isOld(31, 1_000)], [false, true])
  estimates.admit('a', 31)
  assert.deepEqual([isOld(0, 999), isOld(0, 1_000)], [false, true])
})

test('where a refusal is final, a count that would refuse stands for a shorter time', () => {
  const estimates = new WaitingEstimates({ refusingMsMin: 100 })
  estimates.note('a', { waitingMax: 100, waiting: 90 }, 0)
  assert.deepEqual([estimates.isOld('a', 10, 999), estimates.isOld('a', 10, 1_000)], [false, true])
  assert.deepEqual([estimates.isOld('a', 11, 99), estimates.isOld('a', 11, 100)], [false, true])
})

test('a large number is counted less often', () => {
  const estimates = new WaitingEstimates()
  estimates.note('a', { waitingMax: 1_000_000, waiting: 1_000_000 }, 0)
  assert.deepEqual([estimates.isOld('a', 1, 49_999), estimates.isOld('a', 1, 50_000)], [false, true])
})

test('a tenant without a limit is asked about again after ten seconds, and has room for any number', () => {
  const estimates = new WaitingEstimates()
  estimates.note('a', { waitingMax: null, waiting: 0 }, 0)
  estimates.admit('a', 1_000_000)
  assert.equal(estimates.roomOf('a'), Number.POSITIVE_INFINITY)
  assert.deepEqual([estimates.isOld('a', 1, 9_999), estimates.isOld('a', 1, 10_000)], [false, true])
})

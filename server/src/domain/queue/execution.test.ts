import assert from 'node:assert/strict'
import test from 'node:test'
import { createVirtualWorld } from '../../../test/virtual-world.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import {
  batchExecutionsMax,
  batchIdOf,
  executionIdAt,
  idempotencyKeyOf,
  statusOfLive,
  statusOfOutcome,
} from './execution.ts'

test('an execution’s id leads to its batch, and back with its position', () => {
  const { ids } = createVirtualWorld()
  const seen = new Set<string>()
  for (const batchId of [ids.nextBatch(), ids.nextBatch(), ids.nextBatch()]) {
    let before = ''
    for (let position = 0; position < batchExecutionsMax; position++) {
      const executionId = executionIdAt(batchId, position)
      assert.match(executionId, /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
      assert.equal(batchIdOf(executionId), batchId)
      assert.equal(Number.parseInt(executionId.slice(34), 16), position)
      assert(executionId > before, 'ids sort by position')
      before = executionId
      seen.add(executionId)
    }
  }
  assert.equal(seen.size, 3 * batchExecutionsMax)
})

test('the first of a batch has the id of the batch', () => {
  const batchId = '019b7a00-4c00-7000-8000-000000000000'
  assert.equal(executionIdAt(batchId, 0), batchId)
  assert.equal(executionIdAt(batchId, 9), '019b7a00-4c00-7000-8000-000000000009')
  assert.equal(executionIdAt(batchId, 15), '019b7a00-4c00-7000-8000-00000000000f')
  assert.equal(executionIdAt(batchId, 16), '019b7a00-4c00-7000-8000-000000000010')
  assert.equal(executionIdAt(batchId, 99), '019b7a00-4c00-7000-8000-000000000063')
})

// By `printf %s 'job:time' | sha256sum | cut -c1-32`.
const jobId = '019b7a00-4c00-7000-8000-000000000001'
const executionId = '019b7a00-4c00-7000-8000-0000000000a7'
const slot = epochMs(Date.UTC(2026, 0, 25, 10, 0, 0))
const ofSlot = '849bf95ed4d85f81c96ee1adc14744ba'
const ofExecution = '6fa3632594f3cbb992967ccb4e632fd0'

test('a slot’s idempotency key is the head of SHA-256 of job and slot, whichever execution it is', () => {
  assert.equal(idempotencyKeyOf('slot', { jobId, executionId, slot }), ofSlot)
  const other = '019b7a00-4c00-7000-8000-0000000000ff'
  assert.equal(idempotencyKeyOf('slot', { jobId, executionId: other, slot }), ofSlot)
})

test('any other kind’s idempotency key is the head of SHA-256 of job and execution, regardless of its time', () => {
  assert.equal(idempotencyKeyOf('trigger', { jobId, executionId, slot }), ofExecution)
  assert.equal(idempotencyKeyOf('redrive', { jobId, executionId, slot }), ofExecution)
  assert.equal(idempotencyKeyOf('trigger', { jobId, executionId, slot: epochMs(0) }), ofExecution)
})

test('an execution under way is PENDING until its first attempt began, and RETRYING after that attempt has ended', () => {
  assert.equal(statusOfLive('waiting', 0, false), 'PENDING')
  assert.equal(statusOfLive('ready', 0, false), 'PENDING')
  assert.equal(statusOfLive('running', 1, false), 'RUNNING')
  assert.equal(statusOfLive('running', 4, false), 'RUNNING')
  assert.equal(statusOfLive('retrying', 1, false), 'RETRYING')
  assert.equal(statusOfLive('ready', 1, false), 'RETRYING')
  assert.equal(statusOfLive('running', 1, true), 'CANCELLING')
})

test('the last attempt decides the final status', () => {
  assert.equal(statusOfOutcome('succeeded'), 'SUCCEEDED')
  assert.equal(statusOfOutcome('failed'), 'FAILED')
  assert.equal(statusOfOutcome('timed_out'), 'TIMED_OUT')
  assert.equal(statusOfOutcome('lost'), 'FAILED')
})

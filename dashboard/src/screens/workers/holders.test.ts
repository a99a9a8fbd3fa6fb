// Which scheduler holds which partition.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holdersOf, leaseLeftMs } from './holders.ts'

test('each scheduler has a letter, by its id, and its number of partitions', () => {
  const partitions = Array.from({ length: 64 }, (_, partition_id) => ({
    partition_id,
    scheduler_id: partition_id === 0 ? null : partition_id < 40 ? 'b' : 'a',
  }))
  const holders = holdersOf({ partitions, schedulers: [{ scheduler_id: 'c', partitions: 0 }] })
  assert.deepEqual(
    [...holders.values()].map(({ schedulerId, letter, partitions: held }) => [schedulerId, letter, held]),
    [
      ['a', 'A', 24],
      ['b', 'B', 39],
      ['c', 'C', 0],
    ],
  )
})

test('the twenty-seventh scheduler is AA', () => {
  const schedulers = Array.from({ length: 28 }, (_, index) => ({
    scheduler_id: `s${String(index).padStart(2, '0')}`,
    partitions: 1,
  }))
  const holders = holdersOf({ partitions: [], schedulers })
  assert.deepEqual([...holders.values()].map(({ letter }) => letter).slice(24), ['Y', 'Z', 'AA', 'AB'])
})

test('a lease ends ten seconds after the last heartbeat', () => {
  const at = '2026-01-01T00:00:00Z'
  assert.equal(leaseLeftMs(at, Date.parse(at) + 3_000), 7_000)
  assert.equal(leaseLeftMs(at, Date.parse(at) + 30_000), 0)
})

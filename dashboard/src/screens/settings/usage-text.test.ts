import assert from 'node:assert/strict'
import test from 'node:test'
import { formatUsed, nameOfLimit, shareOf, stateOf } from './usage-text.ts'

test('bytes are shown as such, and other limits as counts', () => {
  assert.equal(formatUsed('storage_bytes_max', 104_857_600), '100 MB')
  assert.equal(formatUsed('active_jobs_max', 10_000), '10,000')
  assert.equal(formatUsed('waiting_executions_max', 100_000, true), '100,000+')
  assert.equal(nameOfLimit('storage_bytes_max'), 'Storage')
})

test('the state is the share of the limit, and fine without a limit', () => {
  const name = 'active_jobs_max'
  assert.equal(stateOf({ name, limit: 10, used: 8 }), '80 % used')
  assert.equal(stateOf({ name, limit: null, used: 8 }), 'fine')
  assert.equal(shareOf({ name, limit: 10, used: 20 }), 2)
  assert.equal(shareOf({ name, limit: null, used: 20 }), null)
})

test('executions a minute are all used when two minutes’ worth are', () => {
  assert.equal(shareOf({ name: 'executions_per_minute', limit: 100, used: 150 }), 0.75)
})

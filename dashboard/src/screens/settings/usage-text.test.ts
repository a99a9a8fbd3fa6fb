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
  assert.equal(stateOf({ limit: 10, used: 8 }), '80 % used')
  assert.equal(stateOf({ limit: null, used: 8 }), 'fine')
  assert.equal(shareOf({ limit: 10, used: 20 }), 2)
  assert.equal(shareOf({ limit: null, used: 20 }), null)
})

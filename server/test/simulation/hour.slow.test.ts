// An hour in which nothing goes wrong, and one in which calls of the store fail now and then, from seeds that never change.
import assert from 'node:assert/strict'
import test from 'node:test'
import { noFaults } from './faults.ts'
import { assertSound, runApart } from './run.ts'

const file = 'hour.slow.test.ts'
const hourMs = 3_600_000

test('when nothing goes wrong nothing is late, lost or skipped but for overlap with a slow target', async () => {
  const hour = await runApart({ seed: 2, servers: 2, forMs: hourMs })
  assertSound(hour, file)
  const { seen } = hour.verdict
  assert.deepEqual([seen['lost'], seen['misfire'], seen['calls']], [0, 0, seen['attempts']])
  assert.ok(seen['overlap']! > 0, 'no slow target was in the way of anything')
})

test('a call of the store that fails now and then makes nothing later than three seconds', async () => {
  const rates = { ...noFaults, refusedShare: 0.002, lostShare: 0.002 }
  const hour = await runApart({ seed: 5, servers: 2, forMs: hourMs, rates })
  assertSound(hour, file)
  const { seen } = hour.verdict
  assert.ok(seen['lost reply']! > 100)
  assert.ok(seen['lateMsMax']! <= 3_000, `a slot fired ${seen['lateMsMax']} ms late`)
})

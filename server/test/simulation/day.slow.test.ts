// A day of a hundred jobs in which much goes wrong, from a seed that never changes.
import assert from 'node:assert/strict'
import test from 'node:test'
import { manyFaults } from './faults.ts'
import { assertSound, runApart } from './run.ts'

const file = 'day.slow.test.ts'
const hourMs = 3_600_000

test('a day of crashes, pauses, outages and lost replies: every slot has one record and every execution ends', async () => {
  const day = await runApart({
    seed: 20_260_328,
    servers: 2,
    forMs: 24 * hourMs,
    rates: manyFaults,
    pollFactor: 10,
  })
  assertSound(day, file)
  // A day that met nothing would prove nothing.
  const { seen } = day.verdict
  const kinds = ['crash', 'pause', 'outage', 'refused call', 'lost reply'] as const
  const ends = ['lost', 'overlap', 'misfire', 'exclusion', 'MAX_RETRIES_EXCEEDED', 'NOT_RETRYABLE'] as const
  const changes = ['edit', 'reschedule', 'pause', 'resume', 'delete', 'cancel'].map((kind) => `job ${kind}`)
  const stops = ['paused', 'edited', 'deleted', 'cancelled', 'superseded'] as const
  const words = ['word taken', 'word over'] as const
  const deeds = ['edges', 'trigger', 'cancel run', 'cancel execution', 'resume run'].map(
    (deed) => `graph ${deed}`,
  )
  const runs = ['SUCCEEDED', 'FAILED', 'CANCELLED'].map((status) => `run ${status}`)
  const nodes = ['dependency', 'paused', 'cancelled', 'unrun'].map((state) => `node ${state}`)
  for (const what of [...kinds, ...ends, ...changes, ...stops, ...words, ...deeds, ...runs, ...nodes])
    assert.ok(seen[what]! > 0, `never met: ${what}`)
  assert.ok(seen['executions']! > 15_000, `only ${seen['executions']} executions`)
})

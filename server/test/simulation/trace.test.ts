// A seed decides everything: only so can a failure be repeated.
import assert from 'node:assert/strict'
import test from 'node:test'
import { stormyFaults } from './faults.ts'
import { run } from './run.ts'

async function traceOf(seed: number): Promise<string> {
  const forMs = 5 * 60_000
  const { sim } = await run({ seed, servers: 2, forMs, jobs: 20, rates: stormyFaults, traced: true })
  return sim.traceHash()
}

test('the same seed gives the same trace, another seed another one', async () => {
  const first = await traceOf(1)
  assert.equal(await traceOf(1), first)
  assert.notEqual(await traceOf(2), first)
})

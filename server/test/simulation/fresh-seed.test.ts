// The same as `day.test.ts` from a seed that is new each time, so that every run of the tests looks somewhere else.
import test from 'node:test'
import { SeededRandom } from '../virtual-world.ts'
import { drawFaults, stormyFaults } from './faults.ts'
import { assertSound, commandOf, freshSeed, runApart } from './run.ts'

const file = 'fresh-seed.test.ts'
const hourMs = 3_600_000

test('a day from a fresh seed, with faults of its own', async (t) => {
  const seed = freshSeed()
  t.diagnostic(commandOf(seed, file))
  const rates = drawFaults(new SeededRandom(seed))
  assertSound(await runApart({ seed, servers: 2, forMs: 24 * hourMs, rates, pollFactor: 10 }), file)
})

test('an hour of a fresh seed in which something goes wrong all the time, at the pace of production', async (t) => {
  const seed = freshSeed()
  t.diagnostic(commandOf(seed, file))
  assertSound(await runApart({ seed, servers: 3, forMs: hourMs, rates: stormyFaults }), file)
})

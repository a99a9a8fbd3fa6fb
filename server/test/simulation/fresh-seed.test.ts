// Hours on end from a seed that is new each time, with the jobs of a whole day: what `sim.test.ts` runs is many and short.
import test from 'node:test'
import { SeededRandom } from '../virtual-world.ts'
import { drawFaults } from './faults.ts'
import { assertSound, commandOf, freshSeed, runApart } from './run.ts'

const file = 'fresh-seed.test.ts'
const hourMs = 3_600_000

test('eight hours from a fresh seed, with faults of its own', async (t) => {
  const seed = freshSeed()
  t.diagnostic(commandOf(seed, file))
  const rates = drawFaults(new SeededRandom(seed))
  assertSound(await runApart({ seed, servers: 2, forMs: 8 * hourMs, rates, pollFactor: 10 }), file)
})

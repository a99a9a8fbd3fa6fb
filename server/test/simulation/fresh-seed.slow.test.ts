// Hours on end with the jobs of a whole day: `sim.test.ts` runs many short simulations instead. Another seed can be
// given by the environment.
import test from 'node:test'
import { SeededRandom } from '../virtual-world.ts'
import { drawFaults } from './faults.ts'
import { assertSound, commandOf, runApart, seedOr } from './run.ts'

const file = 'fresh-seed.slow.test.ts'
const hourMs = 3_600_000

test('eight hours with faults drawn from a seed', async (t) => {
  const seed = seedOr(20_261_116)
  t.diagnostic(commandOf(seed, file))
  const rates = drawFaults(new SeededRandom(seed))
  assertSound(await runApart({ seed, servers: 2, forMs: 8 * hourMs, rates, pollFactor: 10 }), file)
})

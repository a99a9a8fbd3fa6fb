// A short simulation, by the command that people use. More seeds are in sim.slow.test.ts.
import assert from 'node:assert/strict'
import test from 'node:test'
import { assertSoundSeeds, sim } from './sim-command.ts'

test('15 seeds with every kind of fault keep every invariant', async () => {
  await assertSoundSeeds(15, 300)
})

test('one seed is run alone, and wrong arguments are refused with help', async () => {
  const { code, said } = await sim('--seed', '7', '--minutes', '1')
  assert.equal(code, 0, said)
  assert.match(said, /^seeds +1$/m)
  for (const args of [['--seeds', '0'], ['--seed', 'x'], ['--minutes', '1.5'], ['--speed', '3'], ['7']]) {
    const refused = await sim(...args)
    assert.equal(refused.code, 2, refused.said)
    assert.match(refused.said, /usage: npm run sim/)
  }
})

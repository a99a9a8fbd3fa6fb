import test from 'node:test'
import { assertSoundSeeds } from './sim-command.ts'

test('50 seeds with every kind of fault keep every invariant', async () => {
  await assertSoundSeeds(50, 1_000)
})

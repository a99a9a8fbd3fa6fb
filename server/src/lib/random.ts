// The real randomness: the one home of Math.random and of the operating system's generator.
import { randomBytes } from 'node:crypto'
import type { Random } from '../ports/random.ts'

export const realRandom: Random = {
  next: () => Math.random(),
  bytes: (count) => randomBytes(count),
}

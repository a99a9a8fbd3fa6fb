// Choices from a seed: the same seed makes the same choices.
import { SeededRandom } from '../virtual-world.ts'

export class Dice {
  readonly #random: SeededRandom

  constructor(seed: number) {
    this.#random = new SeededRandom(seed)
  }

  /** A whole number from 0 to `count - 1`. */
  below(count: number): number {
    return Math.floor(this.#random.next() * count)
  }

  /** A whole number; both ends are possible. */
  between(min: number, max: number): number {
    return min + Math.floor(this.#random.next() * (max - min + 1))
  }

  chance(share: number): boolean {
    return this.#random.next() < share
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }

  shuffle<T>(list: readonly T[]): T[] {
    const shuffled = [...list]
    for (let at = shuffled.length - 1; at > 0; at--) {
      const other = this.below(at + 1)
      ;[shuffled[at], shuffled[other]] = [shuffled[other]!, shuffled[at]!]
    }
    return shuffled
  }

  uuid(): string {
    const hex = Buffer.from(this.#random.bytes(16)).toString('hex')
    return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-7$3-8$4-$5')
  }
}

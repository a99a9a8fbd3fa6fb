// UUIDv7 (RFC 9562): 48 bits of milliseconds, 12 bits that count within a millisecond, 62 random bits. Ids from the
// same process strictly increase, also when the clock steps back or a millisecond holds over 4,096.
import type { Ids } from '../ports/ids.ts'
import type { Random } from '../ports/random.ts'
import { type EpochMs, epochMs } from './time/epoch.ts'

/** Bounds below and above every id: the start of a first page. */
export const firstId = '00000000-0000-0000-0000-000000000000'
export const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** When an id was made, by the clock of its maker. */
export function madeAtOf(id: string): EpochMs {
  return epochMs(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))
}

const perMsMax = 4_096
const idBytes = 8
/** One call for randomness serves this many ids. */
const idsPerRefill = 256

export class UuidV7 implements Ids {
  readonly #now: () => EpochMs
  readonly #random: Random
  #lastMs = 0
  #count = 0
  #pool: Uint8Array = new Uint8Array(0)
  #poolAt = 0

  constructor(now: () => EpochMs, random: Random) {
    this.#now = now
    this.#random = random
  }

  next(): string {
    const ms = this.#now()
    if (ms > this.#lastMs) {
      this.#lastMs = ms
      this.#count = 0
    } else if (++this.#count === perMsMax) {
      this.#lastMs += 1
      this.#count = 0
    }
    const time = this.#lastMs.toString(16).padStart(12, '0')
    const count = this.#count.toString(16).padStart(3, '0')
    const tail = this.#takeTail()
    return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${tail.slice(0, 4)}-${tail.slice(4)}`
  }

  nextBatch(): string {
    return `${this.next().slice(0, 34)}00`
  }

  #takeTail(): string {
    if (this.#poolAt === this.#pool.length) {
      this.#pool = this.#random.bytes(idBytes * idsPerRefill)
      this.#poolAt = 0
    }
    const bytes = this.#pool.slice(this.#poolAt, this.#poolAt + idBytes)
    this.#poolAt += idBytes
    bytes[0] = (bytes[0]! & 0x3f) | 0x80 // the variant of RFC 9562
    return bytes.toHex()
  }
}

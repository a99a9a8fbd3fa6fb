// The real clock. It follows the database's clock by samples: each says that, at some moment between
// `sentMs` and `receivedMs` of our monotonic clock, the database read `databaseMs`. The shortest round
// trip wins, because its moment is known best.
import assert from 'node:assert/strict'
import type { Clock } from '../ports/clock.ts'
import { type EpochMs, epochMs } from './epoch.ts'

export interface ClockSample {
  sentMs: number
  receivedMs: number
  databaseMs: number
}

/** Older samples are dropped, so drift cannot build up. */
const sampleAgeMsMax = 60_000
const samplesMax = 16

export class DatabaseClock implements Clock {
  readonly #monotonicMs: () => number
  #samples: ClockSample[] = []
  #offsetMs: number | null = null

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs
  }

  monotonicMs(): number {
    return this.#monotonicMs()
  }

  databaseNow(): EpochMs {
    assert(this.#offsetMs !== null, 'the database clock is read before it was first measured')
    return epochMs(this.#monotonicMs() + this.#offsetMs)
  }

  observe(sample: ClockSample): void {
    const recent = this.#samples.filter(
      (one) => sample.receivedMs - one.receivedMs < sampleAgeMsMax && agree(one, sample),
    )
    this.#samples = [...recent, sample].slice(-samplesMax)
    const best = this.#samples.reduce((a, b) => (roundTripOf(b) < roundTripOf(a) ? b : a))
    this.#offsetMs = offsetOf(best)
  }
}

function roundTripOf(sample: ClockSample): number {
  return sample.receivedMs - sample.sentMs
}

function offsetOf(sample: ClockSample): number {
  return sample.databaseMs - (sample.sentMs + sample.receivedMs) / 2
}

// Two samples of an undisturbed clock cannot be further apart than both half round trips (plus what
// 1 ms truncation hides). If they are, the database's clock was stepped and the older one is wrong.
function agree(a: ClockSample, b: ClockSample): boolean {
  return Math.abs(offsetOf(a) - offsetOf(b)) <= (roundTripOf(a) + roundTripOf(b)) / 2 + 2
}

// The real clock. It follows the database's clock by samples: each says that, at some moment between
// `sentMs` and `receivedMs` of our monotonic clock, the database read `databaseMs`. The sample that says most
// about this moment wins: a short round trip is exact, an old sample may have drifted.
import assert from 'node:assert/strict'
import type { Clock } from '../../ports/clock.ts'
import { type EpochMs, epochMs } from './epoch.ts'

export interface ClockSample {
  sentMs: number
  receivedMs: number
  databaseMs: number
}

/** Older samples are dropped, so that drift cannot build up; after a long outage there is no estimate. */
const sampleAgeMsMax = 60_000
const samplesMax = 16
/** Longer than any answer is waited for. */
const roundTripMsMax = 10_000
/** Two hosts that are slewed apart, each as fast as NTP does it. */
const driftPerMs = 1 / 1_000
/** After a step of either clock ours is not relied on, and a caller that checks once a second or two sees that. */
const distrustMs = 3_000
const stepMsMin = 1_000
/** Drift between samples that lie closer together counts as of this time: a moment says little about a rate. */
const driftOverMsMin = 1_000

export class DatabaseClock implements Clock {
  readonly #monotonicMs: () => number
  #samples: ClockSample[] = []
  #best: ClockSample | null = null
  /** At least the allowance; more when the last samples drifted apart by more. */
  #driftPerMs = driftPerMs
  #step = { ms: 0, untilMs: Number.NEGATIVE_INFINITY }

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs
  }

  monotonicMs(): number {
    return this.#monotonicMs()
  }

  databaseNow(): EpochMs {
    assert(this.#best !== null, 'the database clock is read before it was first measured')
    return epochMs(this.#monotonicMs() + offsetOf(this.#best))
  }

  uncertaintyMs(): number {
    if (this.#best === null) return Number.POSITIVE_INFINITY
    const nowMs = this.#monotonicMs()
    const ageMs = nowMs - this.#best.receivedMs
    if (ageMs < 0 || ageMs > sampleAgeMsMax) return Number.POSITIVE_INFINITY
    const boundMs = roundTripOf(this.#best) / 2 + ageMs * this.#driftPerMs
    return nowMs < this.#step.untilMs ? Math.max(boundMs, this.#step.ms) : boundMs
  }

  /**
   * Returns by how much either clock was stepped since the last sample; 0 if round trips and drift explain the
   * difference.
   */
  observe(sample: ClockSample): number {
    // Our own clock was set meanwhile, back or on, or we stood still: it says nothing about the database's.
    if (roundTripOf(sample) < 0 || roundTripOf(sample) > roundTripMsMax) return 0
    const stepMs = this.#compare(sample)
    const recent = this.#samples.filter(
      (one) => sample.receivedMs - one.receivedMs < sampleAgeMsMax && apartMs(one, sample) === 0,
    )
    this.#samples = [...recent, sample].slice(-samplesMax)
    const boundOf = (one: ClockSample) =>
      roundTripOf(one) / 2 + (sample.receivedMs - one.receivedMs) * driftPerMs
    this.#best = this.#samples.reduce((a, b) => (boundOf(b) < boundOf(a) ? b : a))
    return stepMs
  }

  #compare(sample: ClockSample): number {
    this.#driftPerMs = driftPerMs
    const last = this.#samples.at(-1)
    if (last === undefined) return 0
    const apart = apartMs(last, sample)
    if (apart >= stepMsMin) {
      this.#step = { ms: apart, untilMs: sample.receivedMs + distrustMs }
      return apart
    }
    const overMs = Math.max(driftOverMsMin, sample.receivedMs - last.receivedMs)
    // A difference that round trips do not explain shows more drift than the allowance; it may be as much as they would
    // hide.
    if (apart > overMs * driftPerMs) this.#driftPerMs = (apart + 2 * explainedMs(last, sample)) / overMs
    return 0
  }
}

function roundTripOf(sample: ClockSample): number {
  return sample.receivedMs - sample.sentMs
}

function offsetOf(sample: ClockSample): number {
  return sample.databaseMs - (sample.sentMs + sample.receivedMs) / 2
}

// Two samples of undisturbed clocks cannot be further apart than this: both half round trips, plus the part hidden by 1
// ms truncation.
function explainedMs(a: ClockSample, b: ClockSample): number {
  return (roundTripOf(a) + roundTripOf(b)) / 2 + 2
}

/** By how much more they are: a clock was stepped or drifts, and the older sample is wrong. */
function apartMs(a: ClockSample, b: ClockSample): number {
  return Math.max(0, Math.abs(offsetOf(a) - offsetOf(b)) - explainedMs(a, b))
}

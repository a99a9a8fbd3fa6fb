// The faults of a simulation, all from one seed: servers that crash or freeze, a store that is unavailable, store calls
// that fail before or after they were carried out. Each fault is recorded: the checker wants an explanation.
import type { Random } from '../../src/ports/random.ts'

export interface FaultRates {
  /** Mean time between crashes of a server; null: none. It is back after a moment, at most `restartMsMax`. */
  crashEveryMs: number | null
  restartMsMax: number
  /** Mean time between crashes of all servers at once; null: none. */
  blackoutEveryMs: number | null
  blackoutMsMax: number
  /** Mean time between pauses of a server; null: none. */
  pauseEveryMs: number | null
  pauseMsMax: number
  /** It lasts one of these times instead of up to the longest; empty: it does not. */
  pausesMs: readonly number[]
  /** Mean time between outages of the store; null: none. */
  outageEveryMs: number | null
  outageMsMax: number
  /** Mean time between cuts of a server's connection to the store, both ways or only back; null: none. */
  cutEveryMs: number | null
  cutMsMax: number
  /** Mean time between whiles in which one server's way to the store is slow; null: none. */
  slowEveryMs: number | null
  slowMsMax: number
  /** Mean time between orderly stops of a server, or of all one after the other; null: none. */
  stopEveryMs: number | null
  /** Mean time between steps of the store's own clock; null: none. */
  stepEveryMs: number | null
  /** Share of store calls that fail and did nothing. */
  refusedShare: number
  /** Share of store calls that were carried out but lost their reply. */
  lostShare: number
  /** Share of store calls that are carried out long after their caller has given up. */
  lateShare: number
  /** Share of store calls at which their server crashes or stands still: before, during or after it. */
  brokenAtCallShare: number
  /** Shares of hints between servers that get lost, come seconds late, come twice. */
  hintLostShare: number
  hintLateShare: number
  hintTwiceShare: number
}

export const FAULT_KINDS = [
  'crash',
  'pause',
  'outage',
  'cut',
  'slow',
  'stop',
  'clock step',
  'refused call',
  'lost reply',
  'late effect',
] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

export interface Fault {
  kind: FaultKind
  /** Null: it is everybody's. */
  server: string | null
  /** On the virtual clock, as `VirtualHttp.sent` has it. */
  fromMs: number
  toMs: number
  /** The call that failed; null: not one call. */
  method: string | null
}

export const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** How long a call takes at most on a slow way: above it no sample of the clock is good enough any more. */
export const slowCallMsMax = 3_500

export const noFaults: FaultRates = {
  crashEveryMs: null,
  restartMsMax: 1_000,
  blackoutEveryMs: null,
  blackoutMsMax: 0,
  pauseEveryMs: null,
  pauseMsMax: 0,
  pausesMs: [],
  outageEveryMs: null,
  outageMsMax: 0,
  cutEveryMs: null,
  cutMsMax: 0,
  slowEveryMs: null,
  slowMsMax: 0,
  stopEveryMs: null,
  stepEveryMs: null,
  refusedShare: 0,
  lostShare: 0,
  lateShare: 0,
  brokenAtCallShare: 0,
  hintLostShare: 0.1,
  hintLateShare: 0,
  hintTwiceShare: 0,
}

/** Every kind of fault, often. */
export const manyFaults: FaultRates = {
  ...noFaults,
  crashEveryMs: hourMs,
  restartMsMax: minuteMs,
  blackoutEveryMs: 8 * hourMs,
  blackoutMsMax: 100 * minuteMs,
  pauseEveryMs: 20 * minuteMs,
  pauseMsMax: 20_000,
  outageEveryMs: 2 * hourMs,
  outageMsMax: 2 * minuteMs,
  refusedShare: 0.002,
  lostShare: 0.002,
}

/** So often that one fault meets the next. */
export const stormyFaults: FaultRates = {
  ...noFaults,
  crashEveryMs: 7 * minuteMs,
  restartMsMax: minuteMs / 2,
  blackoutEveryMs: 40 * minuteMs,
  blackoutMsMax: 10 * minuteMs,
  pauseEveryMs: 2 * minuteMs,
  pauseMsMax: 20_000,
  outageEveryMs: 10 * minuteMs,
  outageMsMax: 2 * minuteMs,
  refusedShare: 0.01,
  lostShare: 0.01,
}

/** A draw of its own for each seed: about a third of the kinds is absent, and the others come at other rates. */
export function drawFaults(random: Random): FaultRates {
  const every = (meanMs: number) => (random.next() < 0.3 ? null : meanMs * (0.3 + 2 * random.next()))
  const share = (max: number) => (random.next() < 0.3 ? 0 : max * random.next() ** 2)
  return {
    ...noFaults,
    crashEveryMs: every(hourMs),
    restartMsMax: 1_000 + random.next() * 3 * minuteMs,
    blackoutEveryMs: every(10 * hourMs),
    blackoutMsMax: random.next() * 2 * hourMs,
    pauseEveryMs: every(20 * minuteMs),
    pauseMsMax: 500 + random.next() * 19_500,
    outageEveryMs: every(2 * hourMs),
    outageMsMax: 2 * minuteMs,
    refusedShare: share(0.01),
    lostShare: share(0.01),
  }
}

/** The time until the next one of something that happens once in `meanMs` on average. */
export function drawWaitMs(random: Random, meanMs: number): number {
  return Math.ceil(-Math.log(1 - random.next()) * meanMs)
}

/** Whole ms from `min` to `max`. */
export function drawMs(random: Random, min: number, max: number): number {
  return min + Math.floor(random.next() * (max - min + 1))
}

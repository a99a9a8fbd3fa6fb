// Draws everything that a seed decides before anything runs: the servers and jobs, the rate of each fault, and the
// times. Each kind of fault is absent in about a third of the seeds, so that no fault hides the effects of another.
import type { Random } from '../../src/ports/random.ts'
import { SeededRandom } from '../virtual-world.ts'
import { drawMs, type FaultRates, minuteMs, noFaults } from './faults.ts'
import type { ServerRole } from './server.ts'
import { type DrawnLimits, drawTenantLimits } from './tenant-limits.ts'

/** All that a seed decides; printed with a failure. */
export interface DrawnOptions {
  /** The roles of each server. */
  servers: readonly (readonly ServerRole[])[]
  jobs: number
  graphs: number
  /** Number of actions by people on graphs, approximately. */
  deeds: number
  /** Of each worker. */
  capacity: number
  pollFactor: number
  changeEveryMs: number
  /** Mean time between two things that people do by hand: triggers, redrives, backfills. */
  orderEveryMs: number
  /** How far the clock of a server runs wrong, at most: 0.01 is 36 s in an hour. */
  driftMax: number
  startAt: number
  rates: FaultRates
  /** Of the first tenants. */
  limits: readonly DrawnLimits[]
}

const both: readonly ServerRole[] = ['scheduler', 'worker']
const LAYOUTS: readonly (readonly (readonly ServerRole[])[])[] = [
  [both, both],
  [both, both, both],
  [both, both, both, both],
  [both, ['scheduler'], ['worker']],
  [['scheduler'], ['scheduler'], ['worker'], ['worker']],
  [['scheduler'], ['worker'], ['worker']],
]

/** Instants at which the clocks of a zone change: forwards, back, by half an hour, at midnight. */
const CHANGES = [
  Date.UTC(2026, 2, 29, 1), // Europe/Berlin, forwards
  Date.UTC(2026, 9, 25, 1), // Europe/Berlin, back
  Date.UTC(2026, 2, 8, 7), // America/New_York, forwards
  Date.UTC(2026, 10, 1, 6), // America/New_York, back
  Date.UTC(2026, 3, 4, 15), // Australia/Lord_Howe, half an hour back
  Date.UTC(2026, 9, 3, 15, 30), // Australia/Lord_Howe, half an hour forwards
  Date.UTC(2026, 3, 23, 22), // Africa/Cairo, forwards at midnight
  Date.UTC(2026, 9, 29, 21), // Africa/Cairo, back at midnight
  Date.UTC(2026, 8, 6, 4), // America/Santiago, forwards at midnight
  Date.UTC(2026, 3, 5, 3), // America/Santiago, back at midnight
] as const
const ordinaryDay = Date.UTC(2026, 4, 20, 11, 57)

export function drawOptions(seed: number, forMs: number): DrawnOptions {
  const random = startOf(seed)
  const capacity = pick(random, [1, 4, 30, 400])
  return {
    servers: pick(random, LAYOUTS),
    jobs: capacity === 1 ? drawMs(random, 3, 6) : drawMs(random, 5, 15),
    graphs: drawMs(random, 0, 1),
    deeds: pick(random, [20, 40, 80]),
    capacity,
    pollFactor: pick(random, [1, 5, 10, 20, 20]),
    changeEveryMs: pick(random, [1_500, 3_000, 10_000]),
    orderEveryMs: pick(random, [6_000, 15_000, 40_000]),
    driftMax: pick(random, [0, 0.0001, 0.001, 0.02]),
    startAt: drawStart(random, forMs),
    rates: random.next() < 0.08 ? noFaults : drawRates(random),
    limits: drawTenantLimits(startOf(seed ^ limitsStream)),
  }
}

/** Any number: other draws than the ones of the seed itself. */
const limitsStream = 0x2c1b3c6d

function startOf(seed: number): Random {
  const random = new SeededRandom(seed)
  // The first draws of seeds that follow each other are alike.
  for (let i = 0; i < 8; i++) random.next()
  return random
}

/** Everything is down for so long that slots are misfired, and starts again. */
const coldStart = { blackoutEveryMs: minuteMs, blackoutMsMax: 280_000 }

/** Most seeds have a change of some zone's clocks in them. */
function drawStart(random: Random, forMs: number): number {
  if (random.next() < 0.25) return ordinaryDay + drawMs(random, 0, 600_000)
  return pick(random, CHANGES) - drawMs(random, 10_000, forMs)
}

function drawRates(random: Random): FaultRates {
  const every = (meanMs: number) => (random.next() < 1 / 3 ? null : meanMs * (0.3 + 2 * random.next()))
  const share = (max: number) => (random.next() < 1 / 3 ? 0 : max * random.next() ** 2)
  return {
    crashEveryMs: every(4 * minuteMs),
    restartMsMax: pick(random, [500, 5_000, 30_000]),
    blackoutEveryMs: every(8 * minuteMs),
    blackoutMsMax: pick(random, [2_000, 30_000, 240_000]),
    pauseEveryMs: every(2 * minuteMs),
    pauseMsMax: 0,
    pausesMs: leasePausesMs,
    outageEveryMs: every(8 * minuteMs),
    outageMsMax: pick(random, [3_000, 20_000, 150_000]),
    cutEveryMs: every(5 * minuteMs),
    cutMsMax: pick(random, [3_000, 15_000, 60_000]),
    slowEveryMs: every(8 * minuteMs),
    slowMsMax: pick(random, [10_000, 90_000]),
    stopEveryMs: every(4 * minuteMs),
    stepEveryMs: every(6 * minuteMs),
    refusedShare: share(0.02),
    lostShare: share(0.02),
    lateShare: share(0.01),
    brokenAtCallShare: share(0.002),
    hintLostShare: share(0.5),
    hintLateShare: share(0.3),
    hintTwiceShare: share(0.3),
    ...(random.next() < 0.1 ? coldStart : {}),
  }
}

/** Half, just above and three times the leases of schedulers (6 s) and workers (10 s). */
const leasePausesMs = [3_000, 6_060, 18_000, 5_000, 10_100, 30_000]

function pick<T>(random: Random, values: readonly T[]): T {
  return values[Math.floor(random.next() * values.length)]!
}

// The memory store stands for PostgreSQL in the simulator: results hold for PostgreSQL only if both behave the same. So
// everything a simulation does, faults included, goes into both, one operation after the other. Not compared: dry runs,
// which the memory store cannot undo; statistics, which PostgreSQL folds behind the clock; simultaneous sessions, which
// are in `test/races`.
import type { TestContext } from 'node:test'
import type { PostgresVersion } from '../database.ts'
import { type FaultRates, noFaults } from '../simulation/faults.ts'
import { recordHistory } from './history.ts'
import { runInLockstep } from './lockstep.ts'

/** So often that a minute is enough for workers to be lost and partitions to change hands. */
const denseFaults: FaultRates = {
  ...noFaults,
  crashEveryMs: 12_000,
  restartMsMax: 8_000,
  pauseEveryMs: 10_000,
  pauseMsMax: 20_000,
  outageEveryMs: 15_000,
  outageMsMax: 3_000,
  refusedShare: 0.02,
  lostShare: 0.02,
}
const people = { orderEveryMs: 1_000, deeds: 150 }
const load = { rates: denseFaults, forMs: 40_000, jobs: 40, graphs: 1, changeEveryMs: 1_000, ...people }
/** As in `workload.ts`. */
const tenantIds = ['a', 'b', 'c'].map((letter) => `00000000-0000-7000-8000-00000000000${letter}`)
const tablesEvery = 250
export const seedVariable = 'CARILLON_DIFFERENTIAL_SEED'

export interface Compared {
  /** Operations by `port.method`. */
  met: Map<string, number>
  transitions: Set<string>
}

/** Plays the history of a seed on both stores; returns its operations and transitions. */
export async function compareStores(
  t: TestContext,
  seed: number,
  version: PostgresVersion,
): Promise<Compared> {
  const met = new Map<string, number>()
  const history = await recordHistory({ seed, ...load })
  for (const { port, method } of history) {
    const name = `${port}.${method}`
    met.set(name, (met.get(name) ?? 0) + 1)
  }
  t.diagnostic(
    `${history.length} operations; alone: ${seedVariable}=${seed} npm test -- server/test/differential/differential.test.ts`,
  )
  const transitions = new Set(await runInLockstep(t, history, { version, tenantIds, tablesEvery }))
  return { met, transitions }
}

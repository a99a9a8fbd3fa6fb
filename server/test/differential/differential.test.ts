// The memory store stands for PostgreSQL in the simulator: results hold for PostgreSQL only if both behave the same. So
// everything a simulation does, faults included, goes into both, one operation after the other. Not compared: dry runs,
// which the memory store cannot undo; statistics, which PostgreSQL folds behind the clock; simultaneous sessions, which
// are in `test/races`.
import assert from 'node:assert/strict'
import test from 'node:test'
import { POSTGRES_VERSIONS, type PostgresVersion } from '../database.ts'
import { type FaultRates, noFaults } from '../simulation/faults.ts'
import { recordHistory } from './history.ts'
import { runInLockstep } from './lockstep.ts'
import { allTransitions } from './observed-transitions.ts'

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
const seedVariable = 'CARILLON_DIFFERENTIAL_SEED'

const given = process.env[seedVariable]
const cases: { seed: number; version: PostgresVersion }[] =
  given === undefined
    ? [
        { seed: 1, version: 18 },
        { seed: 2, version: 18 },
        { seed: 6, version: 18 },
        { seed: 6, version: 15 },
      ]
    : [{ seed: Number(given), version: 18 }]
const met = new Map<string, number>()
const transitions = new Set<string>()

for (const { seed, version } of cases) {
  if (!POSTGRES_VERSIONS.includes(version)) continue
  test(`PostgreSQL ${version} answers and stores the same as the memory store, with seed ${seed}`, async (t) => {
    const history = await recordHistory({ seed, ...load })
    for (const { port, method } of history) {
      const name = `${port}.${method}`
      met.set(name, (met.get(name) ?? 0) + 1)
    }
    t.diagnostic(`${history.length} operations; alone: ${seedVariable}=${seed} npm test -- FILE`)
    const seen = await runInLockstep(t, history, { version, tenantIds, tablesEvery })
    for (const name of seen) transitions.add(name)
  })
}

function assertAllMet(): void {
  const wanted = [
    'jobs.create',
    'jobs.change',
    'jobs.trigger',
    'slots.fire',
    'slots.fireAndClaim',
    'slots.load',
    'slots.takeChanges',
  ]
  wanted.push(
    'queue.claim',
    'queue.finishBatches',
    'queue.finishLive',
    'queue.releaseUnknown',
    'queue.findOwn',
  )
  wanted.push(
    'attempts.report',
    'attempts.update',
    'maintenance.reclaim',
    'maintenance.release',
    'maintenance.wake',
  )
  wanted.push(
    'maintenance.findOverdue',
    'runSteps.step',
    'graphRuns.cancel',
    'graphRuns.resume',
    'control.cancel',
  )
  wanted.push('control.retry', 'deadLetters.redrive', 'operations.step', 'requests.run', 'partitions.take')
  wanted.push('partitions.expel', 'executions.listExecutions', 'executions.getExecution', 'jobs.list')
  for (const name of wanted) assert.ok((met.get(name) ?? 0) > 0, `never met: ${name}`)
}

// One seed alone need not meet everything.
if (given === undefined) test('the comparison covers every kind of operation, not only polls', assertAllMet)

/** Too rare for the forty seconds of a history. */
const RARE = [
  'execution: nothing -- create -> waiting',
  'execution: blocked -- proceed -> waiting',
  'execution: ready -- hold -> waiting',
  'execution: retrying -- hold -> waiting',
  'execution: awaiting -- fail -> timed_out',
  'execution: running -- expire -> retrying',
  'execution: running -- expire -> timed_out',
  'execution: ready -- expire -> timed_out',
  'execution: retrying -- expire -> timed_out',
  'execution: running -- lose -> failed',
  'job: PAUSED -- resume -> COMPLETED',
  'graph run: SUCCEEDED -- resume -> RUNNING',
]

if (given === undefined)
  test('the histories go through every transition of the tables but the rare ones', () => {
    const unseen = allTransitions().filter((name) => !transitions.has(name))
    assert.deepEqual(unseen, RARE)
  })

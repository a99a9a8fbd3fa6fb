// Runs a simulation from its seed to its end and has it checked. Each violation is reported together with the one
// command that repeats it.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { checkAll, type Verdict } from './checker.ts'
import { type FaultRates, noFaults } from './faults.ts'
import { countAnswers, countEvents } from './meet.ts'
import { Witness } from './witness.ts'
import { retryAfterSeconds, startWorkload, type WorkloadOptions } from './workload.ts'
import { Simulation, type SimulationOptions } from './world.ts'

export interface RunOptions
  extends Omit<SimulationOptions, 'startAt' | 'rates'>,
    Omit<WorkloadOptions, 'untilMs'> {
  /** Default: the clocks of Berlin change in the following night. */
  startAt?: number
  /** How long jobs fire and faults happen; then everything ends undisturbed. */
  forMs: number
  /** Default: none. */
  rates?: FaultRates
  /** How long everything may take to end. Default 4 hours: longer than any server is down and any retry waits. */
  drainMsMax?: number
}

export interface Run {
  sim: Simulation
  verdict: Verdict
}

/** The clocks of Berlin change in the following night. */
const startAtDefault = Date.UTC(2026, 2, 28, 12)
const saidMax = 20
/** With so many places a worker keeps nothing waiting. */
const amplePlaces = 100

export async function run(given: RunOptions): Promise<Run> {
  const { forMs, drainMsMax = 4 * 3_600_000, ...options } = given
  const onDone = countAnswers(() => sim)
  const sim: Simulation = new Simulation({ rates: noFaults, startAt: startAtDefault, onDone, ...options })
  const { startAt } = sim.options
  const witness = new Witness(sim)
  using _counted = countEvents(sim, witness)
  startWorkload(sim, { ...options, untilMs: forMs })
  await sim.advance(forMs)
  sim.heal()
  await sim.drain(drainMsMax)
  const verdict = checkAll({
    store: sim.tables.store,
    sent: sim.world.http.sent,
    senders: sim.senders,
    faults: sim.faults,
    changes: sim.changes,
    words: sim.words,
    graphs: sim.graphs,
    deeds: sim.deeds,
    orders: sim.orders,
    databaseAt: sim.world.databaseAt,
    bornAt: witness.bornAt,
    chargedAt: witness.budgets.chargedAt,
    heldStretches: witness.budgets.stretches,
    heldBack: witness.budgets.heldBack,
    driftMax: sim.options.driftMax ?? 0,
    backMs: sim.trouble.backMs,
    pollFactor: sim.options.pollFactor ?? 1,
    isPunctual: (sim.options.pollFactor ?? 1) === 1 && (sim.options.capacity ?? amplePlaces) >= amplePlaces,
    untilAt: startAt + forMs,
    retryAfterMs: retryAfterSeconds * 1_000,
  })
  for (const [what, times] of sim.met) verdict.seen[what] = (verdict.seen[what] ?? 0) + times
  verdict.violations.unshift(...witness.violations)
  for (const { loop, error } of sim.failures) {
    verdict.violations.push({ invariant: 'steps', what: `${loop} failed: ${String(error)}` })
  }
  return { sim, verdict }
}

/** The part of the results that may leave the thread of the simulation. */
export interface Report extends Pick<SimulationOptions, 'seed' | 'rates'> {
  verdict: Verdict
}

/** Runs it in a thread of its own: the hooks of `node:test` make every promise of this one three times as dear. */
export async function runApart(options: Omit<RunOptions, 'tamper' | 'onEvent'>): Promise<Report> {
  const worker = new Worker(new URL('./run-apart.ts', import.meta.url), { workerData: options })
  try {
    const [report] = await once(worker, 'message')
    return report as Report
  } finally {
    await worker.terminate()
  }
}

export function assertSound({ seed, rates, verdict }: Report, file: string): void {
  const { violations, seen } = verdict
  if (violations.length === 0) return
  const said = violations.slice(0, saidMax).map(({ invariant, what }) => `  ${invariant}: ${what}`)
  assert.fail(
    [
      `${violations.length} violations with seed ${seed}. To repeat it:`,
      `  ${commandOf(seed, file)}`,
      ...said,
      `  faults: ${JSON.stringify(rates)}`,
      `  seen: ${JSON.stringify(seen)}`,
    ].join('\n'),
  )
}

/** From the environment when somebody wants another one. */
export function seedOr(usual: number): number {
  const given = process.env[seedVariable]
  return given === undefined ? usual : Number(given)
}

export function commandOf(seed: number, file: string): string {
  return `${seedVariable}=${seed} node_modules/.bin/node --test server/test/simulation/${file}`
}

const seedVariable = 'CARILLON_SIMULATION_SEED'

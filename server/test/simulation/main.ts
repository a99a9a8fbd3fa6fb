// `npm run sim`: runs many seeds, one after the other, and prints their results.
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { SOMETIMES } from './count-seen.ts'
import { describeFailure, Totals } from './report.ts'
import { minutesDefault, runSeed, type SeedReport } from './seed.ts'

const seedsDefault = 50
const seedMax = 2 ** 31 - 1
/** From so many on everything should have been met. */
const seedsForAll = 200
/** One in so many runs twice and must be the same. */
const repeatedEvery = 100
const progressEvery = 100
const failuresMax = 3

const help = `usage: npm run sim -- [--seeds N] [--seed S] [--minutes M]

Runs the real scheduler, worker and maintenance code on several simulated servers, with faults drawn from a seed, and checks
the invariants of docs/internals/invariants.md.

  --seeds N    how many seeds, one after the other. Default 50, from a fresh first one; with --seed 1.
  --seed S     the first seed: the same seed is the same run.
  --minutes M  simulated minutes of each in which jobs fire and faults happen. Default ${minutesDefault}.

Ends with 1 when an invariant was violated, or, of ${seedsForAll} seeds or more, when something was never met that should be.`

interface Order {
  seeds: number
  first: number
  minutes: number
}

const order = readOrder(process.argv.slice(2))
process.exitCode =
  typeof order === 'string' ? refuse(order) : order === null ? say(help) : await runAll(order)

async function runAll({ seeds, first, minutes }: Order): Promise<number> {
  const totals = new Totals()
  let failures = 0
  say(`${seeds} ${seeds === 1 ? 'seed' : 'seeds'} from ${first}, ${minutes} minutes each`)
  for (let index = 0; index < seeds && failures < failuresMax; index++) {
    const report = await runOne(first + index, minutes, index % repeatedEvery === 0)
    totals.add(report)
    if (report.violations.length > 0) {
      failures += 1
      say(await describeFailure(report))
    }
    if (totals.seeds % progressEvery === 0)
      say(`${totals.seeds} of ${seeds}, ${totals.violations} violations`)
  }
  say(totals.table(SOMETIMES))
  const missing = seeds >= seedsForAll ? totals.missing(SOMETIMES) : []
  if (missing.length > 0) say(`never met, so the simulator is blind to it: ${missing.join(', ')}`)
  return failures > 0 || missing.length > 0 ? 1 : 0
}

async function runOne(seed: number, minutes: number, isRepeated: boolean): Promise<SeedReport> {
  const report = await runOrFail(seed, minutes, isRepeated)
  if (!isRepeated || report.violations.length > 0) return report
  const again = await runSeed(seed, minutes, { traced: true })
  if (again.traceHash === report.traceHash) return report
  const what = `two runs of one seed differ: ${report.traceHash} and ${again.traceHash}`
  return { ...report, violations: [{ invariant: 'same seed, same run', what }] }
}

/** A simulation that cannot go on is one way to fail. */
async function runOrFail(seed: number, minutes: number, traced: boolean): Promise<SeedReport> {
  try {
    return await runSeed(seed, minutes, { traced })
  } catch (error) {
    say(`seed ${seed} could not be run to its end: npm run sim -- --seed ${seed} --minutes ${minutes}`)
    throw error
  }
}

/** Null: the usage text is wanted. A text: the error in the arguments. */
function readOrder(args: string[]): Order | string | null {
  try {
    const { values } = parseArgs({
      args,
      options: {
        seeds: { type: 'string' },
        seed: { type: 'string' },
        minutes: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
    if (values.help === true) return null
    const seeds = readWhole('seeds', values.seeds, { min: 1, max: 10_000_000 })
    const seed = readWhole('seed', values.seed, { min: 0, max: seedMax })
    const minutes = readWhole('minutes', values.minutes, { min: 1, max: 100_000 })
    const count = seeds ?? (seed === null ? seedsDefault : 1)
    return { seeds: count, first: seed ?? randomInt(1, seedMax - count), minutes: minutes ?? minutesDefault }
  } catch (error) {
    return (error as Error).message
  }
}

function readWhole(
  name: string,
  text: string | undefined,
  { min, max }: { min: number; max: number },
): number | null {
  if (text === undefined) return null
  const value = Number(text)
  if (text.trim() === '' || !Number.isInteger(value) || value < min || value > max)
    throw new Error(`--${name} wants a whole number from ${min} to ${max}, not "${text}"`)
  return value
}

function refuse(what: string): number {
  process.stderr.write(`${what}\n\n${help}\n`)
  return 2
}

function say(text: string): number {
  process.stdout.write(`${text}\n`)
  return 0
}

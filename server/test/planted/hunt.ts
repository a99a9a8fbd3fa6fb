// Searches for one planted bug: seed by seed, until the checker goes red. Started by `prove.ts` with the bug planted;
// prints the finding as one line of JSON.
import { runSeed } from '../simulation/seed.ts'

export interface Hunt {
  /** Seeds that were run, the one that found it included. */
  seeds: number
  /** Null: not found. */
  invariant: string | null
  what: string
  tookMs: number
}

const [from = 1, seedsMax = 1_000] = process.argv.slice(2).map(Number)
const startedMs = performance.now()

process.stdout.write(`${JSON.stringify(await hunt())}\n`)

async function hunt(): Promise<Hunt> {
  for (let seeds = 1; seeds <= seedsMax; seeds++) {
    const [first] = await violationsOf(from + seeds - 1)
    if (first !== undefined) return { seeds, ...first, tookMs: tookMs() }
  }
  return { seeds: seedsMax, invariant: null, what: '', tookMs: tookMs() }
}

/** A simulation that cannot go on is one way to go red. */
async function violationsOf(seed: number): Promise<readonly { invariant: string; what: string }[]> {
  try {
    return (await runSeed(seed)).violations
  } catch (error) {
    return [{ invariant: 'steps', what: String(error) }]
  }
}

function tookMs(): number {
  return Math.round(performance.now() - startedMs)
}

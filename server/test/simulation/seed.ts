// One seed of `npm run sim`: draws everything from the seed, runs it and has it checked. Short, so that many seeds go
// by in a minute; events that one seed does not meet another does.
import type { Violation } from './checker.ts'
import { type DrawnOptions, drawOptions } from './draw-options.ts'
import { forbidAmbient } from './forbid-ambient.ts'
import { run } from './run.ts'
import type { SimulationOptions } from './world.ts'

export interface SeedReport {
  seed: number
  minutes: number
  drawn: DrawnOptions
  /** The first one found comes first. */
  violations: readonly Violation[]
  /** How often each event was met. */
  seen: Readonly<Record<string, number>>
  /** How much time went by in it, the end included. */
  simulatedMs: number
  tookMs: number
  /** Of all that happened; null unless it was asked for. */
  traceHash: string | null
}

export const minutesDefault = 5

export async function runSeed(
  seed: number,
  minutes: number = minutesDefault,
  watch: Pick<SimulationOptions, 'traced' | 'onEvent'> = {},
): Promise<SeedReport> {
  const startedMs = performance.now()
  const forMs = minutes * 60_000
  const drawn = drawOptions(seed, forMs)
  const { sim, verdict } = await runUnseen({ seed, forMs, ...drawn, ...watch })
  return {
    ...{ seed, minutes, drawn, ...verdict },
    simulatedMs: sim.nowMs,
    tookMs: performance.now() - startedMs,
    traceHash: watch.traced === true ? sim.traceHash() : null,
  }
}

/** Without a look at the host. */
async function runUnseen(options: Parameters<typeof run>[0]): ReturnType<typeof run> {
  using _forbidden = forbidAmbient()
  return await run(options)
}

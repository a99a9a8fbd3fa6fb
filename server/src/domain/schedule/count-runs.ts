// How many slots of a range run, and which one is the n-th: without walking over them, for there may be millions.
import assert from 'node:assert/strict'
import type { EpochMs } from '../../lib/time/epoch.ts'
import { type CompiledSchedule, countExcluded, countSlots, type SlotRange } from './next-run.ts'

/** Slots that no exclusion skips. */
export function countRuns(schedule: CompiledSchedule, range: SlotRange): number {
  return countSlots(schedule, range) - countExcluded(schedule, range)
}

/** The n-th slot of a range that runs; n is from 1 to as many as there are. */
export function nthRun(schedule: CompiledSchedule, { from, to }: SlotRange, n: number): EpochMs {
  // Slots are whole seconds: it lies in [low, high) of them, which is halved until one is left.
  let low = Math.ceil(from / 1_000)
  let high = Math.ceil(to / 1_000)
  assert(n >= 1 && n <= countRuns(schedule, { from, to }), `there is no run ${n} from ${from} to ${to}`)
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const before = countRuns(schedule, { from, to: (middle * 1_000) as EpochMs })
    if (before < n) low = middle
    else high = middle
  }
  return (low * 1_000) as EpochMs
}

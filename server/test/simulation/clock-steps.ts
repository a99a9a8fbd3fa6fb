// Steps of the store's clock, reconstructed from its recorded readings.
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import type { Evidence } from './checker.ts'

/** The readings of the clock just before the step and just after it. */
interface ClockStep {
  before: EpochMs
  after: EpochMs
}

/** In the order they came. */
export function clockStepsOf({ faults, databaseAt }: Evidence): ClockStep[] {
  const steps = faults.filter(({ kind }) => kind === 'clock step')
  return steps.map(({ fromMs }) => ({
    before: (databaseAt(fromMs - 1) + 1) as EpochMs,
    after: databaseAt(fromMs),
  }))
}

/**
 * The latest reading of the clock up to this one. Where the clock was put back, a cause bears a later time than its
 * effect: an execution ends at 6.155, the clock goes back by 168 ms, and the next one is rightly fired at 6.029.
 */
export function latestReadBy(evidence: Evidence, at: EpochMs): EpochMs {
  const latestWith = (latest: EpochMs, { before, after }: ClockStep) =>
    after <= latest && latest < before ? before : latest
  return clockStepsOf(evidence).reduceRight(latestWith, at)
}

/**
 * Whether the clock read this twice, since it was put back: then the order of events is unknown. The witness saw it.
 */
export function isReadTwice(evidence: Evidence, at: EpochMs): boolean {
  return clockStepsOf(evidence).some(({ before, after }) => after <= at && at <= before)
}

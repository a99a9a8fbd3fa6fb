// Steps of the store's clock, as what is on record shows them: by what it read.
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import type { Evidence } from './checker.ts'

/** What the clock read just before the step and just after it. */
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
 * The latest that the clock had read when it read this. Where it was put back, what was before bears a later time than what
 * came of it: an execution ends at 6.155, the clock goes back by 168 ms, and the next one is rightly fired at 6.029.
 */
export function latestReadBy(evidence: Evidence, at: EpochMs): EpochMs {
  const latestWith = (latest: EpochMs, { before, after }: ClockStep) =>
    after <= latest && latest < before ? before : latest
  return clockStepsOf(evidence).reduceRight(latestWith, at)
}

/** Whether the clock read this twice, since it was put back: then nobody can say what came first. The witness saw it. */
export function isReadTwice(evidence: Evidence, at: EpochMs): boolean {
  return clockStepsOf(evidence).some(({ before, after }) => after <= at && at <= before)
}

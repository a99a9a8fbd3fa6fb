// Unless overlap is allowed the executions of a job run one after the other, each from its first call to its end, in the
// order of their slots; where a slot may not wait for another, it is not even fired before that.
import { toRfc3339 } from '../../src/lib/time/epoch.ts'
import { type CheckedJob, type Context, isOfSlot, type RecordedExecution } from './checker.ts'
import { isReadTwice, latestReadBy } from './clock-steps.ts'

export function checkOverlap({ say, evidence }: Context, { version, executions }: CheckedJob): void {
  if (version.overlapPolicy === 'ALLOW') return
  const ran = executions.filter(({ calls, endedAt }) => calls.length > 0 && calls[0]!.at <= endedAt)
  const slots = ran.filter(isOfSlot)
  for (let i = 1; i < slots.length; i++) {
    const [before, after] = [slots[i - 1]!, slots[i]!]
    const { at } = after.calls[0]!
    if (at < before.calls[0]!.at && !isReadTwice(evidence, at))
      say('I20', `"${version.name}": ${after.executionId} started before ${before.executionId}`)
  }
  const started = ran.toSorted((a, b) => a.calls[0]!.at - b.calls[0]!.at)
  for (let i = 1; i < started.length; i++) {
    const [before, after] = [started[i - 1]!, started[i]!]
    const { at } = after.calls[0]!
    if (at >= before.endedAt || areOfBackfill(before, after)) continue
    if (isReadTwice(evidence, at) || latestReadBy(evidence, at) >= before.endedAt) continue
    const times = `${toRfc3339(at)}, before ${before.executionId} ended at ${toRfc3339(before.endedAt)}`
    say('I20', `"${version.name}": ${after.executionId} started at ${times}`)
  }
  if (version.overlapPolicy !== 'SKIP') return
  const fired = executions.filter(isOfSlot)
  for (let i = 1; i < fired.length; i++) {
    const [before, after] = [fired[i - 1]!, fired[i]!]
    if (after.firedAt >= before.endedAt || latestReadBy(evidence, after.firedAt) >= before.endedAt) continue
    const times = `${toRfc3339(after.firedAt)}, before ${before.executionId} ended at ${toRfc3339(before.endedAt)}`
    say('I20', `"${version.name}": ${after.executionId} was fired at ${times}`)
  }
}

/** Executions of a backfill may run beside each other, as requested. */
function areOfBackfill(...executions: RecordedExecution[]): boolean {
  return executions.every(({ kind }) => kind === 'backfill')
}

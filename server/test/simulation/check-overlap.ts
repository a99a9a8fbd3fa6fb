// Unless overlap is allowed the executions of a job run one after the other, each from its first call to its end, in the
// order of their slots; where a slot may not wait for another, it is not even fired before that.
import { toRfc3339 } from '../../src/lib/epoch.ts'
import type { CheckedJob, Context } from './checker.ts'

export function checkOverlap({ say }: Context, { version, executions }: CheckedJob): void {
  if (version.overlapPolicy === 'ALLOW') return
  const ran = executions.filter(({ calls, endedAt }) => calls.length > 0 && calls[0]!.at <= endedAt)
  for (let i = 1; i < ran.length; i++) {
    const [before, after] = [ran[i - 1]!, ran[i]!]
    const started = after.calls[0]!.at
    if (started < before.calls[0]!.at)
      say('I20', `"${version.name}": ${after.executionId} started before ${before.executionId}`)
    else if (started < before.endedAt) {
      const times = `${toRfc3339(started)}, before ${before.executionId} ended at ${toRfc3339(before.endedAt)}`
      say('I20', `"${version.name}": ${after.executionId} started at ${times}`)
    }
  }
  if (version.overlapPolicy !== 'SKIP') return
  for (let i = 1; i < executions.length; i++) {
    const [before, after] = [executions[i - 1]!, executions[i]!]
    if (after.firedAt >= before.endedAt) continue
    const times = `${toRfc3339(after.firedAt)}, before ${before.executionId} ended at ${toRfc3339(before.endedAt)}`
    say('I20', `"${version.name}": ${after.executionId} was fired at ${times}`)
  }
}

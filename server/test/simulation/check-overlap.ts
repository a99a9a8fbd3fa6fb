// With overlap SKIP the executions of a job never overlap, from being fired to their end, and start in the order of
// their slots.
import { toRfc3339 } from '../../src/lib/epoch.ts'
import type { CheckedJob, Context } from './checker.ts'

export function checkOverlap({ say }: Context, { version, executions }: CheckedJob): void {
  if (version.overlapPolicy === 'ALLOW') return
  for (let i = 1; i < executions.length; i++) {
    const before = executions[i - 1]!
    const after = executions[i]!
    const ended = before.endedAt
    const fired = after.firedAt
    if (fired < ended) {
      const times = `${toRfc3339(fired)}, before ${before.executionId} ended at ${toRfc3339(ended)}`
      say('I20', `"${version.name}": ${after.executionId} was fired at ${times}`)
    }
    const [first, second] = [before.calls[0]?.at ?? ended, after.calls[0]?.at ?? fired]
    if (second < first)
      say('I20', `"${version.name}": ${after.executionId} started before ${before.executionId}`)
  }
}

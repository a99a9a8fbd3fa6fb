// The calls that were under way when PostgreSQL went away for a while: the attempt of each must succeed as if nothing had
// been. Attempts from before count for nothing: an earlier fault may have lost one, and its execution lives through the
// outage in the next.
import type { Call, Picture } from './check-picture.ts'
import { at } from './check-slots.ts'

export interface ProbeFigures {
  /** Calls that had to live through an outage. */
  probes: number
}

export function checkProbes({ evidence, executions, calls, say }: Picture): ProbeFigures {
  let probes = 0
  for (const { kind, at: beganAt, details } of evidence.faults) {
    if (kind !== 'database-outage') continue
    const chosen = new Set(details['probe'] as readonly string[])
    for (const call of calls) {
      if (!chosen.has(call.executionId) || !isUnderWay(call, beganAt)) continue
      probes += 1
      const rows = executions.get(call.executionId)?.rows ?? []
      const outcome = rows.find(({ attempt }) => attempt === call.attempt)?.outcome ?? 'not on record'
      if (outcome !== 'succeeded')
        say(
          'probe',
          `attempt ${call.attempt} of ${call.executionId}, under way when PostgreSQL went at ${at(beganAt)}, is ${outcome}`,
        )
    }
  }
  return { probes }
}

/** A worker that dies hangs up: the attempt is lost by then, and later events do not change that. */
function isUnderWay({ at: arrivedAt, answeredAt, goneAt }: Call, instant: number): boolean {
  return arrivedAt <= instant && answeredAt > instant && goneAt > instant
}

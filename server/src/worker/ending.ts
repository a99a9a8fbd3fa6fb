// The report of a worker to the store about an execution that it lets go.
import { suspectHost } from '../domain/queue/route.ts'
import { epochMs } from '../lib/time/epoch.ts'
import type { Ending, FinishedLive } from '../ports/queue.ts'
import type { HeldExecution } from './held-execution.ts'
import { noHost } from './prepare.ts'

/** Workers keep the time themselves; maintenance ends executions that are over their time by this much. */
const netMs = 60_000

/** For an execution that has ended, or was not started for another reason than its host. */
export function endingOf(held: HeldExecution): FinishedLive['ending'] {
  const { end, awaitingUntil, startedAt } = held
  if (end !== null) return { kind: 'ended', end }
  if (awaitingUntil !== null) return { kind: 'awaiting', startedAt: startedAt!, deadline: awaitingUntil }
  if (held.isSuspect) return { kind: 'unstarted', host: suspectHost }
  if (held.waitsAs !== null) return { kind: 'unstarted', host: held.waitsAs }
  return { kind: 'unstarted', host: null, ...(held.isBeyondShare && { toOwnLane: true }) }
}

/** For an execution that waited for its host. */
export function endingUnstarted({ isSuspect, prepared }: HeldExecution): FinishedLive['ending'] {
  const host = isSuspect ? suspectHost : prepared.host === noHost ? null : prepared.host
  return { kind: 'unstarted', host }
}

/** For an execution that leaves its batch and continues. */
export function runningOf({ startedAt, prepared }: HeldExecution): Extract<Ending, { kind: 'running' }> {
  const deadline = epochMs(startedAt! + prepared.timeoutMs + netMs)
  return { kind: 'running', startedAt: startedAt!, deadline }
}

// What happened how often: a simulation that meets nothing proves nothing.
import { SKIP_REASONS } from '../../src/domain/execution.ts'
import type { AttemptRow } from '../../src/store/memory/rows.ts'
import { isHeldBack, isSuperseded } from './check-changes.ts'
import { type CheckedJob, type Context, dueOf } from './checker.ts'

export function countSeen(
  { evidence }: Context,
  jobs: readonly CheckedJob[],
  graphJobs: readonly CheckedJob[],
): Record<string, number> {
  const { store, sent, faults } = evidence
  const seen: Record<string, number> = {
    executions: store.log.ended,
    calls: sent.length,
    attempts: 0,
    lost: store.log.counts.lost,
    cancelled: store.log.counts.cancelled,
    ...Object.fromEntries(SKIP_REASONS.map((reason) => [reason, 0])),
    superseded: 0,
    /** From when a slot was due to its fire, but for those that a resume made late. */
    lateMsMax: 0,
  }
  for (const { job } of jobs) for (const { reason, count } of job.skips) seen[reason]! += count
  for (const checked of jobs) {
    const onTime = checked.executions.filter(({ slot }) => !isHeldBack(checked, slot))
    const lateMs = onTime.map(({ slot, firedAt }) => firedAt - dueOf(checked, slot))
    seen['superseded']! += checked.executions.filter(isSuperseded).length
    seen['lateMsMax'] = lateMs.reduce((a, b) => Math.max(a, b), seen['lateMsMax']!)
  }
  for (const { attempts } of [...jobs, ...graphJobs].flatMap(({ executions }) => executions))
    seen['attempts']! += attempts.filter(wasStarted).length
  for (const { reason } of store.deadLetters.values()) seen[reason] = (seen[reason] ?? 0) + 1
  for (const { kind } of faults) seen[kind] = (seen[kind] ?? 0) + 1
  for (const { answer } of evidence.words) seen[`word ${answer}`] = (seen[`word ${answer}`] ?? 0) + 1
  for (const { kind } of evidence.changes) seen[`job ${kind}`] = (seen[`job ${kind}`] ?? 0) + 1
  for (const { kind } of evidence.deeds) seen[`graph ${kind}`] = (seen[`graph ${kind}`] ?? 0) + 1
  for (const { status, states } of store.graphRuns.values()) {
    for (const what of [`run ${status}`, ...states.map((state) => `node ${state}`)])
      seen[what] = (seen[what] ?? 0) + 1
  }
  return seen
}

/** What was cancelled before its call began is an attempt without one. */
function wasStarted({ outcome, startedAt }: AttemptRow): boolean {
  return outcome !== 'cancelled' || startedAt !== null
}

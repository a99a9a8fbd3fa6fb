// Counts how often each event happened: a simulation that meets nothing proves nothing.
import { SKIP_REASONS } from '@carillon/contract/constants.ts'
import type { AttemptRow, GraphRunRow } from '../../testing/memory-store/rows.ts'
import { isHeldBack, isSuperseded } from './check-changes.ts'
import { isMisfired } from './check-misfires.ts'
import { type CheckedJob, type Context, dueOf, type Evidence, isOfSlot } from './checker.ts'
import { countAtChanges } from './clock-changes.ts'
import { FAULT_KINDS } from './faults.ts'

/** Events that every batch of seeds must meet: where one is never met, the simulator is blind. */
export const SOMETIMES = [
  ...FAULT_KINDS,
  'partition takeover',
  'worker reclaimed',
  'lost',
  'stale result refused',
  'fire of a taken slot',
  'unknown commit found as own',
  'late effect after a take-over',
  'clock given up',
  'graceful stop',
  'graceful hand-back',
  'cancel won',
  'success won over a cancel',
  'superseded',
  'overlap',
  'misfire',
  'catch-up of one',
  'catch-up of all',
  'catch-up cut to its window',
  'slot near a clock put forwards',
  'slot near a clock put back',
  'retry-after honoured',
  'timed out',
  'dead letter',
  'request sent twice',
  'trigger',
  'trigger taken with its commit',
  'retry',
  'redrive',
  'backfill',
  'resumed by itself',
  'word taken',
  'word over',
  'fan-in of two ends at once',
  'run SUCCEEDED',
  'run FAILED',
  'run CANCELLED',
  'graph resume run',
  'waited for the budget',
  'skipped for quota after a wait',
  'skipped for quota at once',
  'request refused for quota',
  'budget watched while others waited',
] as const

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
    /** From the due time of a slot to its fire, except for slots made late by a resume. */
    lateMsMax: 0,
    'waited for the budget': evidence.heldBack.size,
    'budget watched while others waited': evidence.heldStretches.length,
  }
  for (const { job } of jobs) for (const { reason, count } of job.skips) seen[reason]! += count
  for (const checked of jobs) {
    const onTime = checked.executions.filter((one) => isOfSlot(one) && !isHeldBack(checked, one.slot))
    const lateMs = onTime.map(({ slot, firedAt }) => firedAt - dueOf(checked, slot))
    seen['superseded']! += checked.executions.filter(isSuperseded).length
    seen['lateMsMax'] = lateMs.reduce((a, b) => Math.max(a, b), seen['lateMsMax']!)
  }
  for (const { attempts } of [...jobs, ...graphJobs].flatMap(({ executions }) => executions))
    seen['attempts']! += attempts.filter(wasStarted).length
  const add = (what: string, times = 1) => {
    seen[what] = (seen[what] ?? 0) + times
  }
  for (const checked of jobs) countJob(checked, add)
  for (const run of store.graphRuns.values()) add('fan-in of two ends at once', countFanIns(evidence, run))
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

/** An execution cancelled before its call began has an attempt without a call. */
function wasStarted({ outcome, startedAt }: AttemptRow): boolean {
  return outcome !== 'cancelled' || startedAt !== null
}

function countJob(checked: CheckedJob, add: (what: string, times?: number) => void): void {
  const { job, version, executions, expected } = checked
  const { forwards, back } = countAtChanges(job, expected)
  add('slot near a clock put forwards', forwards)
  add('slot near a clock put back', back)
  const late = executions.filter((one) => isMisfired(checked, one)).length
  if (version.misfirePolicy === 'FIRE_ONCE') add('catch-up of one', late)
  if (version.misfirePolicy === 'FIRE_ALL') add('catch-up of all', late)
  if (version.misfirePolicy === 'FIRE_ALL' && job.skips.some(({ reason }) => reason === 'misfire'))
    add('catch-up cut to its window')
  for (const { reason, count } of job.skips) if (reason === 'quota') add('skipped for quota at once', count)
  for (const { kind, attempts, skipReason } of executions) {
    if (kind !== 'slot') add(kind)
    if (skipReason === 'quota') add('skipped for quota after a wait')
    for (const { httpStatus, outcome, final, deadLetter } of attempts) {
      if (httpStatus === 429 && !final) add('retry-after honoured')
      if (outcome === 'timed_out') add('timed out')
      if (deadLetter) add('dead letter')
    }
  }
}

/** Nodes that depend on several, of which two ended within a moment. */
function countFanIns({ store }: Evidence, { graph }: GraphRunRow): number {
  const endOf = (place: number) => {
    const { executionId } = graph.plan.nodes[place]!
    return executionId === null ? undefined : store.log.of(executionId).at(-1)?.recordedAt
  }
  return graph.plan.nodes.filter((_, place) => {
    const ends = graph.parentsOf(place).map(({ parent }) => endOf(parent))
    const known = ends.filter((end) => end !== undefined).toSorted((a, b) => a - b)
    return known.some((end, index) => index > 0 && end - known[index - 1]! <= momentMs)
  }).length
}

const momentMs = 20

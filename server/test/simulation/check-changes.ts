// A change by a person holds from the moment it was made: nothing fires while a job is paused or after it was deleted,
// every slot belongs to the schedule of its time, and slots skipped for a change are near that change.
import type { SkipReason } from '../../src/domain/queue/execution.ts'
import { type EpochMs, toRfc3339 } from '../../src/lib/time/epoch.ts'
import type { Change } from './changes.ts'
import { nameOf } from './check-slots.ts'
import {
  type Call,
  type CheckedJob,
  type Context,
  dueOf,
  isOfSlot,
  type RecordedExecution,
} from './checker.ts'

/** When nothing goes wrong a slot that is older than this has fired, and no change finds it undecided. */
const undecidedMsMax = 2_020

export function checkChanges(context: Context, checked: CheckedJob): void {
  const { executions, changes } = checked
  const { say } = context
  const stops = stopsOf(changes)
  const byId = new Map(executions.map((one) => [one.executionId, one]))
  const isPuzzling = ({ at, server }: Call) => context.plain || !context.wasFaulty(server, at - 30_000, at)
  for (const { kind, at, pending, running } of changes) {
    for (const executionId of pending) {
      const { cancelledAt = null, calls = [] } = byId.get(executionId) ?? {}
      // A delete ends a bounded number of executions at once, and keeps the others from starting until they end.
      const isLeft = kind === 'delete' && cancelledAt !== null && cancelledAt > at
      const hasStopped = isLeft ? !calls.some((one) => one.at > at && isPuzzling(one)) : cancelledAt === at
      if (!hasStopped)
        say('I16', `${executionId} had not begun when it was cancelled at ${toRfc3339(at)}, and went on`)
    }
    for (const executionId of running)
      if ((byId.get(executionId)?.cancelledAt ?? null) === null)
        say('I16', `${executionId} was cancelled at ${toRfc3339(at)}, and ended otherwise`)
  }
  for (const execution of executions) {
    const { executionId, slot, version, firedAt, cancelledAt, calls } = execution
    if (isOfSlot(execution)) checkVersion(context, checked, slot, version)
    // Executions requested by hand run all the same.
    const stop = stops.find(({ from, to }) => isOfSlot(execution) && firedAt > from && firedAt < to)
    if (stop !== undefined) {
      const since = `the job was ${stop.status} since ${toRfc3339(stop.from)}`
      say('I7', `${executionId} of ${nameOf(checked, slot)} was fired at ${toRfc3339(firedAt)}: ${since}`)
    }
    if (cancelledAt === null) continue
    if (!isSuperseded(execution) && !changes.some((change) => isCancelledBy(execution, change)))
      say('I11', `${executionId} was cancelled at ${toRfc3339(cancelledAt)} by nobody`)
    // A worker that was declared dead may call late; its reports are not accepted.
    const late = calls.filter((one) => one.at > cancelledAt && isPuzzling(one))
    for (const { at } of late)
      say('I16', `${executionId} was called at ${toRfc3339(at)}, after it was cancelled`)
  }
}

function isCancelledBy({ executionId, cancelledAt }: RecordedExecution, change: Change): boolean {
  const { kind, at, pending, running } = change
  if (at === cancelledAt) return pending.includes(executionId) || running.includes(executionId)
  const isLeft = kind === 'delete' && pending.includes(executionId)
  return at < cancelledAt! && (isLeft || running.includes(executionId))
}

/** Whether it made way for a newer slot. */
export function isSuperseded({ cancelMessage }: RecordedExecution): boolean {
  return cancelMessage?.startsWith('Cancelled: the slot ') ?? false
}

/** The slot lies in the time of the schedule that this version has. */
export function checkVersion(
  { say, evidence }: Context,
  checked: CheckedJob,
  slot: EpochMs,
  version: number,
): void {
  if (isBeforeStep(checked, slot, evidence.backMs)) return
  const reign = checked.reigns.find(({ from, to }) => slot > from && slot <= to)
  if (reign === undefined || version < reign.versionMin || version > reign.versionMax)
    say('I7', `${nameOf(checked, slot)} has a record of version ${version}`)
}

/** Whether it fired, and then the clock was put back behind it and its schedule changed there. */
export function isBeforeStep({ changes }: CheckedJob, slot: EpochMs, backMs: number): boolean {
  const isEnd = ({ kind, at }: Change) =>
    (kind === 'reschedule' || kind === 'delete') && at < slot && at >= slot - backMs
  return backMs > 0 && changes.some(isEnd)
}

/** Whether the slot was over when it became known: its job was created or resumed as of a moment before it. */
export function isHeldBack(checked: CheckedJob, slot: EpochMs): boolean {
  const { job, changes } = checked
  if (slot < job.createdAt) return true
  return changes.some(({ asOf, at }) => asOf !== null && slot >= asOf && slot <= at + undecidedMsMax)
}

/** A skip for a change: that change came after the slot, and when nothing went wrong soon after it. */
export function explainChange(
  context: Context,
  checked: CheckedJob,
  slot: EpochMs,
  reason: SkipReason,
): void {
  const { changes } = checked
  const isCause = ({ kind, before }: Change) =>
    before === 'PAUSED' && kind !== 'cancel'
      ? reason === 'paused'
      : (reason === 'paused' && kind === 'pause') ||
        (reason === 'edited' && kind === 'reschedule') ||
        (reason === 'deleted' && kind === 'delete')
  const cause = changes.find((change) => change.at >= slot && isCause(change))
  const name = nameOf(checked, slot)
  if (cause === undefined) {
    context.say('I1', `${name} was skipped as ${reason} for no change`)
    return
  }
  const pausedAt = stopsOf(changes).find(({ from, to }) => slot > from && slot <= to)?.from
  const isCalm = context.plain && !changes.some(({ asOf }) => asOf !== null)
  if (isCalm && pausedAt === undefined && dueOf(checked, slot) < cause.at - undecidedMsMax)
    context.say('I1', `${name} was skipped as ${reason} at ${toRfc3339(cause.at)}, long after its time`)
}

/** When the job fired nothing: from the change that stopped it to the one that let it go on. */
export function stopsOf(changes: readonly Change[]): { from: EpochMs; to: number; status: string }[] {
  return changes.flatMap(({ before, after, at }, index) => {
    if (before === after || (after !== 'PAUSED' && after !== 'DELETED')) return []
    const end = changes.slice(index + 1).find((later) => later.after !== after)
    return [{ from: at, to: end?.at ?? Number.POSITIVE_INFINITY, status: after }]
  })
}

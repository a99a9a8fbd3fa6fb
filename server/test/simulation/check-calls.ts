// Checks the calls that the targets saw: never early, always with the same key, at least once for each attempt on
// record. Calls beyond the recorded ones are explained by a fault at the server that made them.

import { isLimited, type JobVersion } from '../../src/domain/jobs/job.ts'
import { idempotencyKeyOf } from '../../src/domain/queue/execution.ts'
import { toRfc3339 } from '../../src/lib/time/epoch.ts'
import { isHeldBack } from './check-changes.ts'
import {
  type Call,
  type CheckedJob,
  type Context,
  dueOf,
  isOfSlot,
  isTierLimited,
  type RecordedExecution,
} from './checker.ts'

/** When nothing goes wrong, an execution starts this soon. */
const lateMsMax = 2_000
/** How long a fault may be felt before it shows: a lease runs out after ten seconds, a pause lasts up to twenty. */
const aftermathMs = 30_000

export function checkCalls(context: Context, checked: CheckedJob): void {
  for (const execution of checked.executions) {
    for (const call of execution.calls) checkCall(context, checked, execution, call)
    checkCoverage(context, execution)
    if (isOfSlot(execution) && !isHeldBack(checked, execution.slot))
      checkLateness(context, checked, execution)
  }
}

function checkCall(
  { say, evidence, wasFaulty }: Context,
  checked: CheckedJob,
  execution: RecordedExecution,
  call: Call,
): void {
  const { job } = checked
  const { executionId, slot, attempts, firedAt } = execution
  const { at, attempt, headers, server } = call
  const name = `call ${attempt} of ${executionId} at ${toRfc3339(at)}`
  const due = isOfSlot(execution) ? dueOf(checked, slot) : firedAt
  if (at < due - evidence.backMs)
    say('I5', `${name} came before its slot ${toRfc3339(slot)} was due at ${toRfc3339(due)}`)
  if (at < firedAt - evidence.backMs) say('I5', `${name} came before it was fired`)
  const { jobId } = job
  if (headers['x-idempotency-key'] !== keptKeyOf(execution)) say('I15', `${name} has another key`)
  if (headers['x-job-id'] !== jobId || headers['x-scheduled-time'] !== toRfc3339(slot))
    say('I15', `${name} says another job or time`)
  // One that was handed back while it ran, as when its server had to stop, and cancelled before it ran again.
  const wasHandedBack = execution.cancelledAt !== null && wasFaulty(server, at, execution.cancelledAt)
  if (attempt > attempts.length + (wasHandedBack ? 1 : 0))
    say('I15', `${name} is beyond the ${attempts.length} attempts on record`)
}

/** The key by the kind of the execution, unless it kept that of an execution it replaced. */
export function keptKeyOf(execution: RecordedExecution): string {
  return execution.attempts[0]?.idempotencyKey ?? idempotencyKeyOf(execution.kind, execution)
}

/** Each attempt on record has its call, and no other call comes without a reason. */
export function checkCoverage(context: Context, execution: RecordedExecution): void {
  const { say, plain, wasFaulty, wordsOf, slackMs } = context
  const { executionId, attempts } = execution
  const extra = new Set(execution.calls)
  for (const { attempt, outcome, startedAt } of attempts) {
    if (outcome === 'lost') continue
    const own = execution.calls.filter((call) => call.attempt === attempt)
    const exact = own.find(({ at, saidAt }) => saidAt === (startedAt ?? saidAt) || at === startedAt)
    // If an attempt was ended by others before its worker had written anything, only its claim is known.
    const wasTold = outcome === 'timed_out' || wordsOf(executionId).some((word) => word.attempt === attempt)
    const later = exact ?? own.find(({ at }) => at >= (startedAt ?? at) - slackMs)
    if (later === undefined) {
      if (outcome !== 'cancelled')
        say('I15', `attempt ${attempt} of ${executionId} is ${outcome} and no call of it is known`)
    } else if (wasTold) extra.delete(exact ?? later)
    else if (exact !== undefined && (outcome !== 'cancelled' || startedAt !== null)) extra.delete(exact)
  }
  for (const { at, attempt, server } of extra) {
    // Until its attempt was on record otherwise, something must have gone wrong.
    const until = attempts[attempt - 1]?.recordedAt ?? execution.endedAt
    if (plain || !wasFaulty(server, at - aftermathMs, until))
      say('I15', `an extra call ${attempt} of ${executionId} at ${toRfc3339(at)} by ${server} for no reason`)
  }
}

function checkLateness(context: Context, checked: CheckedJob, execution: RecordedExecution): void {
  const { say, plain } = context
  const { executionId, slot, calls } = execution
  if (!plain || calls.length === 0 || mayWait(checked.version) || isTierLimited(context, checked)) return
  const lateMs = calls[0]!.at - dueOf(checked, slot)
  if (lateMs > lateMsMax && !waitedItsTurn(checked, execution))
    say('I5', `${executionId} started ${lateMs} ms after it was due`)
}

/** Whether its executions may wait for others when nothing goes wrong. */
function mayWait(version: JobVersion): boolean {
  return isLimited(version) || !['ALLOW', 'SKIP'].includes(version.overlapPolicy)
}

/** Behind the slots that a job with FIRE_ALL still owed: it began soon after an earlier one had ended. */
function waitedItsTurn({ version, executions }: CheckedJob, { slot, calls }: RecordedExecution): boolean {
  const at = calls[0]!.at
  const isBefore = (one: RecordedExecution) =>
    one.slot < slot && one.endedAt <= at && one.endedAt >= at - lateMsMax
  return version.misfirePolicy === 'FIRE_ALL' && executions.some(isBefore)
}

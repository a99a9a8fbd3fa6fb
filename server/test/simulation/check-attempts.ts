// Every execution ends once; its attempts are numbered without a gap, come one after the other, and as its retry
// policy says; one that ended in vain has one dead letter.
import { lossesMax, type RetryPolicy } from '../../src/domain/queue/retry.ts'
import type { AttemptRow } from '../../testing/memory-store/rows.ts'
import type { CheckedJob, Context, RecordedExecution } from './checker.ts'

/** A retry may start this much later than planned, when nothing goes wrong: polls, and hosts that are spared. */
const retryLateMs = 10_000
/** How long a fault may be felt. */
const aftermathMs = 30_000

export function checkAttempts(context: Context, checked: CheckedJob): void {
  for (const execution of checked.executions) {
    checkSequence(context, execution)
    checkEnd(context, checked, execution)
    checkDelays(context, checked, execution)
  }
}

function checkSequence({ say, slackMs }: Context, execution: RecordedExecution): void {
  const { executionId, slot, attempts, cancelledAt } = execution
  attempts.forEach((row, index) => {
    const name = `attempt ${row.attempt} of ${executionId}`
    if (row.attempt !== index + 1) say('I12', `${name} is number ${index + 1} on record`)
    const isLast = index === attempts.length - 1 && (cancelledAt === null || row.outcome === 'cancelled')
    if (row.final !== isLast) say('I11', `${name}: final is ${row.final}`)
    if (row.slot !== slot) say('I2', `${name} is for another slot`)
    const times = [row.slot, row.enqueuedAt, row.startedAt, row.finishedAt, row.recordedAt]
    const known = times.filter((time) => time !== null)
    if (known.some((time, i) => i > 0 && time < known[i - 1]! - slackMs))
      say('I26', `${name}: times run back: ${times}`)
    const before = attempts[index - 1]
    if (before !== undefined && (row.startedAt ?? row.recordedAt) < before.recordedAt - slackMs)
      say('I12', `${name} started before the one before it was over`)
  })
}

function checkEnd(context: Context, { version }: CheckedJob, execution: RecordedExecution): void {
  const { evidence, say, isReplaced } = context
  const { executionId, attempts, cancelledAt } = execution
  const lost = attempts.filter(({ outcome }) => outcome === 'lost').length
  const spent = attempts.length - lost
  const { max_retries } = version.retryPolicy
  if (spent > max_retries + 1) say('I12', `${executionId} had ${spent} attempts of ${max_retries + 1}`)
  const letter = evidence.store.deadLetters.get(executionId)
  const marked = attempts.filter(({ deadLetter }) => deadLetter).length
  const last = attempts.at(-1)
  const letters = cancelledAt !== null || last?.outcome === 'succeeded' ? 0 : 1
  const isKept = letters === 1 && !isReplaced(executionId)
  if ((letter !== undefined) !== isKept || marked !== letters)
    say(
      'I18',
      `${executionId} ended ${last?.outcome}: ${marked} attempts lead to ${letter === undefined ? 'no' : 'a'} letter`,
    )
  if (letter === undefined || last === undefined) return
  const isRight = {
    MAX_RETRIES_EXCEEDED: spent === max_retries + 1 && last.outcome !== 'lost',
    NOT_RETRYABLE: spent === 1 && last.httpStatus === 404,
    WORKER_LOST: lost === lossesMax && last.outcome === 'lost',
    // No job of the workload limits it.
    TOTAL_TIMEOUT: false,
  }[letter.reason]
  if (!isRight)
    say('I18', `${executionId} is dead by ${letter.reason} after ${spent} attempts and ${lost} losses`)
}

function checkDelays(context: Context, { version }: CheckedJob, execution: RecordedExecution): void {
  const { say, plain, wasFaulty, slackMs, evidence } = context
  const { attempts, calls, executionId } = execution
  attempts.slice(0, -1).forEach((row, index) => {
    if (row.outcome === 'lost') return
    const next = calls.find(({ attempt }) => attempt === row.attempt + 1)
    if (next === undefined) return
    const number = attempts.slice(0, index + 1).filter(({ outcome }) => outcome !== 'lost').length
    const { min, max } = boundsOf(context, version.retryPolicy, number, row)
    const delay = next.at - row.finishedAt!
    const name = `attempt ${next.attempt} of ${executionId} came ${delay} ms after the one before it`
    if (delay < min - slackMs) say('I17', `${name}; ${min} at least`)
    const isCalm = plain || (evidence.isPunctual && !wasFaulty(null, row.finishedAt! - aftermathMs, next.at))
    if (isCalm && delay > max + retryLateMs) say('I17', `${name}; ${max} at most`)
  })
}

function boundsOf(
  { evidence }: Context,
  { backoff, initial_delay_ms: initialMs, max_delay_ms: maxMs }: RetryPolicy,
  number: number,
  { httpStatus }: AttemptRow,
): { min: number; max: number } {
  const factor = { FIXED: 1, LINEAR: number, EXPONENTIAL: 2 ** (number - 1) }[backoff]
  const askedMs = httpStatus === 429 ? evidence.retryAfterMs : 0
  const within = (share: number) => Math.max(askedMs, Math.min(maxMs, initialMs * factor * share))
  return { min: Math.floor(within(0.75)), max: Math.ceil(within(1.25)) }
}

// Checks the reports of targets on attempts that they had accepted: an accepted report is on record as it was sent, no
// result is on record without a report, and no attempt is timed out before its time.
import type { AttemptRow } from '../../testing/memory-store/rows.ts'
import type { Word } from './async-targets.ts'
import type { CheckedJob, Context, RecordedExecution } from './checker.ts'

/** When nothing goes wrong a word is on record this soon. */
const heardMsMax = 1_000

export function checkWords(context: Context, { version, executions }: CheckedJob): void {
  const { execution } = version
  if (execution.type !== 'http' || !execution.callback_url.startsWith(asyncOrigin)) return
  for (const one of executions) {
    const words = Map.groupBy(context.wordsOf(one.executionId), ({ attempt }) => attempt)
    for (const row of one.attempts)
      checkAttempt(context, row, words.get(row.attempt) ?? [], execution.timeout_seconds * 1_000)
    for (const [attempt, said] of words) checkTaken(context, one, attempt, said)
  }
}

/** Where targets are that answer later. */
export const asyncOrigin = 'https://later-'

function checkAttempt(
  { say, plain, evidence }: Context,
  row: AttemptRow,
  words: readonly Word[],
  timeoutMs: number,
): void {
  const { executionId, attempt, outcome, startedAt, recordedAt } = row
  const name = `attempt ${attempt} of ${executionId}`
  const before = words.filter(({ at }) => at <= recordedAt + evidence.backMs)
  if ((outcome === 'succeeded' || outcome === 'failed') && !before.some(({ status }) => status === outcome))
    say('I15', `${name} is ${outcome}, and its target had not said so`)
  if (outcome !== 'timed_out') return
  if (startedAt !== null && recordedAt < startedAt + timeoutMs - evidence.backMs)
    say('I5', `${name} timed out ${recordedAt - startedAt} ms after its start, of ${timeoutMs}`)
  const inTime = before.find(({ at }) => startedAt !== null && at + heardMsMax < startedAt + timeoutMs)
  if (plain && inTime !== undefined)
    say('I13', `${name} timed out though its target had said ${inTime.status}`)
}

function checkTaken(
  { say, evidence }: Context,
  one: RecordedExecution,
  attempt: number,
  words: readonly Word[],
): void {
  const taken = words.filter(({ answer }) => answer === 'taken')
  const row = one.attempts.find((other) => other.attempt === attempt)
  const name = `attempt ${attempt} of ${one.executionId}`
  // Two that were said at once and say the same are one word to us, like one that was said again for want of an answer.
  const isLate = ({ at }: Word) =>
    taken.some(({ answeredAt }) => answeredAt !== null && answeredAt + evidence.backMs < at)
  if (taken.some(isLate)) say('I11', `${name} was ended ${taken.length} times by its target`)
  for (const { status } of taken) {
    if (row?.outcome !== status && row?.outcome !== 'cancelled')
      say(
        'I22',
        `${name} is on record as ${row?.outcome ?? 'nothing'}: its target was told that ${status} was taken`,
      )
  }
}

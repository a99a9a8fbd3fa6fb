// Compares the calls that the receiver saw with the recorded attempts: never early, always with the key of the
// execution, at least one call for each attempt recorded as ended, and no recorded answer that the receiver did not
// give. Calls beyond the recorded ones are counted, and each has a reason.
import { hash } from 'node:crypto'
import type { AttemptRow } from './check-evidence.ts'
import type { Call, Picture, Recorded } from './check-picture.ts'
import { at } from './check-slots.ts'
import { retryAfterSeconds } from './receiver-answers.ts'

export interface CallFigures {
  calls: number
  /** Calls beyond one for each attempt that ended otherwise than lost. */
  duplicates: number
  lostAttempts: number
  /** Attempts that ended otherwise than lost or cancelled, and that nobody has called. */
  uncalled: number
}

/** Two processes estimate the database's clock, each by itself. */
const clockMs = 50

export function checkCalls(picture: Picture): CallFigures {
  const { executions, calls, evidence, say } = picture
  const figures: CallFigures = { calls: calls.length, duplicates: 0, lostAttempts: 0, uncalled: 0 }
  const pending = new Set([...evidence.live, ...evidence.batched].map(({ executionId }) => executionId))
  for (const { executionId, attempt, at: arrivedAt } of calls)
    if (!executions.has(executionId) && !pending.has(executionId))
      say('I2', `call ${attempt} of ${executionId} at ${at(arrivedAt)}: there is no such execution`)
  for (const execution of executions.values()) {
    const key = keyOf(picture, execution)
    for (const call of execution.calls) checkCall(picture, execution, call, key)
    checkCoverage(picture, execution, figures)
    checkDelays(picture, execution)
  }
  return figures
}

function checkCall({ say }: Picture, execution: Recorded, call: Call, key: string): void {
  const { executionId, jobId, first, last, rows } = execution
  const name = `call ${call.attempt} of ${executionId} at ${at(call.at)}`
  if (first.kind === 'slot' && call.at < first.slot)
    say('I5', `${name} came before its slot ${at(first.slot)}`)
  else if (call.at < first.enqueuedAt - (first.kind === 'slot' ? 0 : clockMs))
    say('I5', `${name} came before it was fired at ${at(first.enqueuedAt)}`)
  if (call.key !== key) say('I15', `${name} has the key ${call.key}, not ${key}`)
  if (call.jobId !== jobId) say('I15', `${name} says the job ${call.jobId}, not ${jobId}`)
  if (first.kind === 'slot' && Date.parse(call.scheduledTime) !== first.slot)
    say('I15', `${name} says ${call.scheduledTime}, not ${at(first.slot)}`)
  if (last.final && !rows.some(({ attempt }) => attempt === call.attempt))
    say('I15', `${name} is of no attempt on record`)
}

function checkCoverage(picture: Picture, execution: Recorded, figures: CallFigures): void {
  const { say, wasFaulty } = picture
  const { executionId, attempts, calls, rows, last } = execution
  for (const row of attempts) {
    const own = calls.filter(({ attempt }) => attempt === row.attempt)
    const name = `attempt ${row.attempt} of ${executionId}`
    if (row.outcome === 'lost') figures.lostAttempts += 1
    else if (row.outcome !== 'cancelled' && own.length === 0) figures.uncalled += 1
    checkOutcome(picture, name, row, own)
    const isKnown = row.outcome !== 'lost' && own.length > 0
    figures.duplicates += own.length - (isKnown ? 1 : 0)
    // The first of them is the attempt, or was when its worker died.
    for (const extra of own.slice(1))
      if (!wasFaulty(own[0]!.at, extra.at, 'workers'))
        say('I15', `${name} was called again at ${at(extra.at)} for no reason`)
  }
  // A cancel that came between attempts ends it; a worker that was taken for dead does not know that.
  const known = new Set(attempts.map(({ attempt }) => attempt))
  for (const call of calls) {
    if (known.has(call.attempt) || !rows.some(({ attempt }) => attempt === call.attempt)) continue
    figures.duplicates += 1
    if (!wasFaulty(call.at, last.recordedAt, 'workers'))
      say('I15', `${executionId} was called at ${at(call.at)} and is on record as never run`)
  }
}

/** Nothing is on record that the receiver did not say. */
function checkOutcome(
  { say, wasFaulty }: Picture,
  name: string,
  row: AttemptRow,
  own: readonly Call[],
): void {
  const { outcome, httpStatus } = row
  // A later call does not explain an attempt that was already on record.
  const inTime = own.filter(({ answeredAt }) => answeredAt <= row.recordedAt + clockMs)
  const answers = inTime.map(({ answer }) => answer)
  const said = own.flatMap((call) => call.said).filter(({ at: saidAt }) => saidAt <= row.recordedAt)
  if (outcome === 'succeeded' && own.length === 0) say('I15', `${name} succeeded, and was never called`)
  else if (outcome === 'succeeded') {
    const isAnswered = httpStatus !== 202 && answers.includes(httpStatus ?? 'none')
    if (!isAnswered && !said.some(({ status }) => status === 'succeeded'))
      say('I13', `${name} succeeded with ${httpStatus}, and its target answered ${answers.join(', ')}`)
  } else if (outcome === 'failed' && httpStatus !== null) {
    if (!answers.includes(httpStatus) && !said.some(({ status }) => status === 'failed'))
      say(
        'I13',
        `${name} failed with ${httpStatus}, and its target answered ${answers.join(', ') || 'nothing'}`,
      )
  } else if (outcome === 'failed' || outcome === 'timed_out') {
    const isCalm = !wasFaulty((row.startedAt ?? row.recordedAt) - 1, row.recordedAt)
    if (isCalm && own.length === 0) say('I15', `${name} is ${outcome}, and was never called`)
  }
  // Ours from the moment it was taken: nothing else may be on record.
  // Ours from the moment it was taken: nothing else may be on record. That it failed and that it took too long are one word.
  const taken = own.flatMap((call) => call.said).filter(({ answer }) => answer === 200)
  for (const { status, at: saidAt } of taken) {
    const isSame = outcome === status || (status === 'failed' && outcome === 'timed_out')
    if (!isSame && outcome !== 'cancelled')
      say('I22', `${name} is ${outcome}: its target said ${status} at ${at(saidAt)}, and that was taken`)
  }
}

function checkDelays({ say, jobOf }: Picture, { executionId, first, attempts, calls }: Recorded): void {
  if (attempts.length < 2) return
  const policy = jobOf(first.jobId)?.versions.get(first.version)?.retries
  if (policy === undefined) return
  let tries = 0
  attempts.slice(0, -1).forEach((row) => {
    if (row.outcome === 'lost') return
    tries += 1
    const next = calls.find(({ attempt }) => attempt === row.attempt + 1)
    if (next === undefined || row.finishedAt === null) return
    const factor = { FIXED: 1, LINEAR: tries, EXPONENTIAL: 2 ** (tries - 1) }[policy.backoff]
    const least = Math.min(policy.max_delay_ms, policy.initial_delay_ms * factor * 0.75)
    const askedMs = row.httpStatus === 429 ? retryAfterSeconds * 1_000 : 0
    const delayMs = next.at - row.finishedAt
    const leastMs = Math.max(Math.floor(least), askedMs)
    if (delayMs < leastMs - clockMs)
      say(
        'I17',
        `attempt ${next.attempt} of ${executionId} came ${delayMs} ms after the one before it; ${leastMs} at least`,
      )
  })
}

/**
 * A repeat of a failed execution has the key of that execution; otherwise the key comes from the slot or the execution.
 */
function keyOf(picture: Picture, { executionId, first }: Recorded): string {
  const { kind, jobId, slot, retryOf } = first
  if (retryOf !== null) {
    const before = picture.executions.get(retryOf)
    const isKept = before !== undefined && ['failed', 'timed_out', 'lost'].includes(before.last.outcome)
    if (isKept) return keyOf(picture, before)
  }
  const time = `${new Date(slot).toISOString().slice(0, 19)}Z`
  return hash('sha256', kind === 'slot' ? `${jobId}:${time}` : `${jobId}:${executionId}`).slice(0, 32)
}

// Recorded executions: each is in one place and ends once, its attempts are numbered without a gap and follow each
// other, no time runs backwards, and each failed execution has one dead letter.
import type { AttemptRow, Evidence } from './check-evidence.ts'
import type { Picture, Recorded } from './check-picture.ts'
import { at } from './check-slots.ts'

/** Attempts that a dead worker took with it do not count as tries; so many of them, and the execution is dead. */
const lossesMax = 5
/** Times in one row are said by two processes, each with its own estimate of the database's clock. */
const clockMs = 50

export function checkExecutions(picture: Picture): void {
  const { executions, evidence, say } = picture
  checkPlaces(picture)
  for (const execution of executions.values()) {
    const { executionId, rows, last } = execution
    const finals = rows.filter(({ final }) => final).length
    if (finals > 1) say('I11', `${executionId} ended ${finals} times`)
    else if (finals === 1 && !last.final) say('I11', `${executionId} went on after its end`)
    checkSequence(picture, execution)
    for (const row of rows) checkTimes(picture, row)
    if (last.final) checkTries(picture, execution)
  }
  checkLetters(picture)
  for (const { jobId, from, to } of evidence.owed)
    say('I14', `job ${jobId} still owes its slots from ${at(from)} to ${at(to)}`)
}

/** Every created execution is in exactly one place, and once the run is over that place is the record of its end. */
function checkPlaces({ evidence, executions, say }: Picture): void {
  const places = new Map<string, string[]>()
  const put = (executionId: string, place: string) => {
    const list = places.get(executionId)
    if (list === undefined) places.set(executionId, [place])
    else list.push(place)
  }
  const isEnded = (executionId: string) => executions.get(executionId)?.last.final === true
  for (const executionId of executions.keys()) if (isEnded(executionId)) put(executionId, 'ended')
  for (const { executionId, state, workerId } of evidence.live) {
    put(executionId, state)
    if (!isEnded(executionId)) say('I14', `${executionId} is still ${state}, held by ${workerId ?? 'nobody'}`)
  }
  for (const { executionId, workerId } of evidence.batched) {
    put(executionId, 'batched')
    if (!isEnded(executionId))
      say('I14', `${executionId} is still in its batch, held by ${workerId ?? 'nobody'}`)
  }
  for (const [executionId, list] of places)
    if (list.length > 1) say('I25', `${executionId} is in ${list.length} places: ${list.join(', ')}`)
  for (const { executionId, jobId, slot, reason } of evidence.slots)
    if (reason === null && !places.has(executionId))
      say('I14', `${executionId} of job ${jobId} and ${at(slot)} is lost: it was fired, and has no end`)
  for (const { executionId } of executions.values())
    if (!places.has(executionId)) say('I14', `${executionId} is lost: it has attempts, and no end`)
}

function checkSequence({ say }: Picture, { executionId, attempts }: Recorded): void {
  attempts.forEach((row, index) => {
    const name = `attempt ${row.attempt} of ${executionId}`
    if (row.attempt !== index + 1) say('I12', `${name} is number ${index + 1} on record`)
    const before = attempts[index - 1]
    if (before === undefined) return
    const startedAt = row.startedAt ?? row.recordedAt
    if (startedAt < before.recordedAt - clockMs)
      say(
        'I12',
        `${name} started at ${at(startedAt)}, before the one before it was over at ${at(before.recordedAt)}`,
      )
  })
}

function checkTimes({ say }: Picture, row: AttemptRow): void {
  const { executionId, attempt, enqueuedAt, startedAt, finishedAt, recordedAt, durationMs } = row
  const known = [enqueuedAt, startedAt, finishedAt, recordedAt].filter((time) => time !== null)
  const isBack = known.some((time, index) => index > 0 && time < known[index - 1]! - clockMs)
  if (isBack || (durationMs ?? 0) < 0)
    say(
      'I26',
      `attempt ${attempt} of ${executionId}: times run back: ${known.map(at).join(', ')}; ${durationMs} ms`,
    )
}

function checkTries({ say, jobOf }: Picture, { executionId, jobId, first, attempts, last }: Recorded): void {
  const version = jobOf(jobId)?.versions.get(first.version)
  if (version === undefined) {
    say('I2', `${executionId} ran version ${first.version} of job ${jobId}, which is not there`)
    return
  }
  const { max_retries: max } = version.retries
  const lost = attempts.filter(({ outcome }) => outcome === 'lost').length
  const tries = attempts.length - lost
  if (tries > max + 1) say('I12', `${executionId} had ${tries} attempts of ${max + 1}`)
  if (lost > lossesMax) say('I12', `${executionId} was lost ${lost} times`)
  const isFinal = ({ httpStatus }: AttemptRow) =>
    httpStatus !== null && httpStatus >= 300 && httpStatus < 500 && httpStatus !== 429
  const early = attempts.slice(0, -1).find((row) => row.outcome === 'failed' && isFinal(row))
  if (early !== undefined) say('I17', `${executionId} was tried again after ${early.httpStatus}`)
  const isGivenUp = last.outcome === 'failed' && !isFinal(last) && tries < max + 1
  if (isGivenUp) say('I17', `${executionId} failed for good after ${tries} attempts of ${max + 1}`)
}

/** A failed execution has one dead letter until it is redriven, retried or discarded; no other execution has one. */
function checkLetters({ evidence, executions, operations, say }: Picture): void {
  const letters = new Map(evidence.deadLetters.map((letter) => [letter.executionId, letter]))
  const gone = goneLetters(evidence, executions)
  for (const { call, ending } of operations)
    if (call.name === 'discard' && ending !== 'fail') gone.add(call.path.split('/').at(-1)!)
  for (const { call, ending } of operations)
    if ((call.name === 'retry' || call.name === 'redrive') && ending === 'info')
      for (const id of idsOf(call.path, call.body)) gone.add(id)
  for (const { executionId, last, rows } of executions.values()) {
    if (!last.final) continue
    const isDead = ['failed', 'timed_out', 'lost'].includes(last.outcome)
    const marked = rows.filter(({ deadLetter }) => deadLetter).length
    if (marked !== (isDead ? 1 : 0))
      say('I18', `${executionId} ended ${last.outcome}: ${marked} of its attempts died`)
    const letter = letters.get(executionId)
    if (isDead && letter === undefined && !gone.has(executionId))
      say('I18', `${executionId} ended ${last.outcome}, and its dead letter is not there`)
    if (!isDead && letter !== undefined)
      say('I18', `${executionId} ended ${last.outcome}, and has a dead letter`)
    if (letter !== undefined && letter.attempts !== last.attempt)
      say('I18', `the dead letter of ${executionId} has ${letter.attempts} attempts, not ${last.attempt}`)
  }
  for (const executionId of letters.keys())
    if (!executions.get(executionId)?.last.final)
      say('I18', `a dead letter of ${executionId}, which has not ended`)
}

/** Executions that were replaced by another execution. */
function goneLetters({ live }: Evidence, executions: Picture['executions']): Set<string> {
  const gone = new Set<string>()
  for (const { first } of executions.values()) if (first.retryOf !== null) gone.add(first.retryOf)
  for (const { retryOf } of live) if (retryOf !== null) gone.add(retryOf)
  return gone
}

function idsOf(path: string, body: unknown): string[] {
  const { execution_ids: ids } = (body ?? {}) as { execution_ids?: string[] }
  return ids ?? [path.split('/').at(-2)!]
}

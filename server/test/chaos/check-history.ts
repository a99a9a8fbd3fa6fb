// Compares the API answers with the record: acknowledged writes are there, once; refused writes are not; one key has
// one effect; cancelled executions end as cancelled and do not start again; and nothing happened that nobody asked for.
import type { Operation, Picture, Recorded } from './check-picture.ts'
import { at } from './check-slots.ts'

export function checkHistory(picture: Picture): void {
  const { operations } = picture
  const names = Map.groupBy(picture.evidence.jobs, ({ name }) => name)
  const marks = collectMarks(picture)
  for (const operation of operations) {
    const { name } = operation.call
    checkReplies(picture, operation)
    if (name === 'create') checkCreate(picture, operation, names)
    else if (name === 'trigger' || name === 'other body') checkTrigger(picture, operation, marks)
    else if (name === 'retry') checkRepeat(picture, operation, 'execution_id')
    else if (name === 'redrive') checkRedrive(picture, operation)
    else if (name === 'cancel') checkCancel(picture, operation)
    else if (name === 'cancel run') checkRunCancel(picture, operation)
  }
  checkStrangers(picture)
  checkCancelled(picture)
}

/** Executions by the mark that their trigger gave them. */
function collectMarks({ executions, evidence }: Picture): Map<string, Set<string>> {
  const marks = new Map<string, Set<string>>()
  const put = (mark: string | null, executionId: string) => {
    if (mark === null) return
    const set = marks.get(mark)
    if (set === undefined) marks.set(mark, new Set([executionId]))
    else set.add(executionId)
  }
  for (const { first, executionId } of executions.values())
    if (first.kind === 'trigger') put(first.mark, executionId)
  for (const { mark, executionId, kind } of evidence.live) if (kind === 'trigger') put(mark, executionId)
  return marks
}

function checkReplies({ say }: Picture, { call, answers }: Operation): void {
  if (call.key === undefined) return
  const ids = new Set(
    answers
      .filter(({ ending }) => ending === 'ok')
      .map(({ body }) => String(body['execution_id'] ?? body['job_id'])),
  )
  if (ids.size > 1) say('I21', `the key ${call.key} got ${ids.size} answers: ${[...ids].join(', ')}`)
}

function checkCreate(
  { say }: Picture,
  { call, ending, answers }: Operation,
  names: ReadonlyMap<string, readonly { jobId: string }[]>,
): void {
  const { name } = call.body as { name: string }
  const made = names.get(name) ?? []
  if (made.length > 1) say('I21', `"${name}" was created ${made.length} times`)
  if (ending === 'fail' && made.length > 0)
    say('I22', `"${name}" was refused, and is there as ${made[0]!.jobId}`)
  const told = answers.find((one) => one.ending === 'ok')?.body['job_id']
  if (told !== undefined && made[0]?.jobId !== told)
    say('I22', `"${name}" was acknowledged as ${told}, and is ${made[0]?.jobId ?? 'not there'}`)
}

function checkTrigger(
  { say }: Picture,
  { call, ending, answers }: Operation,
  marks: ReadonlyMap<string, ReadonlySet<string>>,
): void {
  const { mark } = (call.body as { payload_override: { mark: string } }).payload_override
  const made = [...(marks.get(mark) ?? [])]
  if (call.name === 'other body' && ending === 'ok')
    say('I21', `the key ${call.key} was taken with another request as well`)
  if (made.length > 1) say('I21', `"${mark}" made ${made.length} executions: ${made.join(', ')}`)
  if (ending === 'fail' && made.length > 0) say('I22', `"${mark}" was refused, and made ${made[0]}`)
  const told = answers.find((one) => one.ending === 'ok')?.body['execution_id']
  if (told !== undefined && made[0] !== told)
    say('I22', `"${mark}" was acknowledged as ${told}, and made ${made[0] ?? 'nothing'}`)
}

function checkRepeat(picture: Picture, { call, answers }: Operation, field: string): void {
  const told = answers.find((one) => one.ending === 'ok')?.body[field]
  const of = call.path.split('/').at(-2)!
  if (told !== undefined) requireRepeat(picture, String(told), of)
}

function checkRedrive(picture: Picture, { answers }: Operation): void {
  const told = answers.find((one) => one.ending === 'ok')?.body['redriven']
  for (const one of (told ?? []) as { execution_id: string; new_execution_id: string }[])
    requireRepeat(picture, one.new_execution_id, one.execution_id)
}

function requireRepeat({ say, executions, evidence }: Picture, executionId: string, of: string): void {
  const retryOf =
    executions.get(executionId)?.first.retryOf ??
    evidence.live.find((row) => row.executionId === executionId)?.retryOf
  if (retryOf !== of)
    say('I22', `${executionId} was acknowledged in place of ${of}, and is ${retryOf ?? 'not there'}`)
}

function checkCancel({ say, executions, wasFaulty }: Picture, { call, answers, ending }: Operation): void {
  const executionId = call.path.split('/').at(-2)!
  const execution = executions.get(executionId)
  const told = answers.find((one) => one.ending === 'ok')
  if (told !== undefined) {
    const status = String(told.body['status'])
    if (execution?.last.outcome !== 'cancelled' && execution?.last.final)
      say('I16', `${executionId} was ${status} at ${at(told.at)}, and ended ${execution.last.outcome}`)
    // A worker that was taken for dead does not know of it.
    const late = execution?.calls.find((one) => one.at > told.at)
    if (late !== undefined && !wasFaulty(told.at - 60_000, late.at, 'workers'))
      say('I16', `${executionId} was ${status} at ${at(told.at)}, and called at ${at(late.at)}`)
  }
  const refused = answers.find(({ body }) => body['code'] === 'EXECUTION_FINISHED')
  if (ending !== 'fail' || refused === undefined) return
  const status = {
    succeeded: 'SUCCEEDED',
    timed_out: 'TIMED_OUT',
    cancelled: 'CANCELLED',
    skipped: 'SKIPPED',
  }
  const outcome = execution?.last.outcome ?? 'failed'
  const expected = (status as Record<string, string>)[outcome] ?? 'FAILED'
  if (refused.body['execution_status'] !== expected)
    say('I11', `${executionId} was ${refused.body['execution_status']} for good, and ended ${outcome}`)
}

function checkRunCancel({ say, evidence }: Picture, { call, ending }: Operation): void {
  const runId = call.path.split('/').at(-2)!
  const run = evidence.graphRuns.find((one) => one.runId === runId)
  if (ending === 'ok' && run?.status !== 'CANCELLED')
    say('I16', `the run ${runId} was cancelled, and is ${run?.status ?? 'not there'}`)
}

/** Every execution stems from something. */
function checkStrangers({ say, executions, operations, evidence }: Picture): void {
  const asked = new Set(
    operations
      .filter(({ call, ending }) => call.name === 'trigger' && ending !== 'fail')
      .map(({ call }) => (call.body as { payload_override: { mark: string } }).payload_override.mark),
  )
  const runs = new Set(evidence.graphRuns.map(({ runId }) => runId))
  for (const { executionId, first } of executions.values()) {
    const { kind, mark, retryOf, runId } = first
    if (kind === 'trigger' && mark !== null && !asked.has(mark)) say('I2', `nobody triggered ${executionId}`)
    if ((kind === 'retry' || kind === 'redrive') && (retryOf === null || !executions.has(retryOf)))
      say('I2', `${executionId} is a ${kind} of ${retryOf ?? 'nothing'}`)
    if (kind === 'dependency' && (runId === null || !runs.has(runId)))
      say('I2', `${executionId} runs after others in ${runId ?? 'no run'}`)
  }
  const repeats = Map.groupBy(
    [...executions.values()].filter(({ first }) => first.kind === 'redrive'),
    ({ first }) => first.retryOf,
  )
  for (const [of, list] of repeats)
    if (list.length > 1)
      say('I18', `${of} was redriven ${list.length} times: ${list.map((one) => one.executionId)}`)
}

/** An execution that ended cancelled was cancelled by a request, or made way for a later slot. */
function checkCancelled({ say, executions, operations, jobOf, evidence }: Picture): void {
  const cancelled = new Set(
    operations
      .filter(({ call, ending }) => call.name === 'cancel' && ending !== 'fail')
      .map(({ call }) => call.path.split('/').at(-2)!),
  )
  const runs = new Map(evidence.graphRuns.map((run) => [run.runId, run]))
  for (const execution of executions.values()) {
    const { executionId, jobId, last } = execution
    if (last.outcome !== 'cancelled' || cancelled.has(executionId)) continue
    const checked = jobOf(jobId)
    const isDeleted = checked?.states.some(
      ({ status, at: since }) => status === 'DELETED' && since <= last.recordedAt,
    )
    const isOfRun = last.runId !== null && runs.get(last.runId)?.status === 'CANCELLED'
    if (
      !isDeleted &&
      !isOfRun &&
      !madeWay(execution, checked?.executions ?? [], checked?.versions.get(1)?.overlap)
    )
      say('I11', `${executionId} was cancelled by nobody: ${last.message}`)
  }
}

/**
 * Whether it made way for a later slot of the same job; an execution without a slot is ordered by the time it was
 * requested.
 */
function madeWay(
  { first, last, executionId }: Recorded,
  others: readonly Recorded[],
  overlap: string | undefined,
): boolean {
  if (overlap !== 'CANCEL_RUNNING') return false
  return others.some((one) => {
    if (one.first.kind !== 'slot' || one.executionId === executionId) return false
    const isLater =
      first.kind === 'slot' ? one.first.slot > first.slot : one.first.enqueuedAt >= first.enqueuedAt
    return isLater && one.first.enqueuedAt <= last.recordedAt
  })
}

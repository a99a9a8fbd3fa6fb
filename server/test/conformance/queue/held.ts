// Executions held by workers and targets, for the suites about updates and reports.
import assert from 'node:assert/strict'
import type { Execution } from '../../../src/domain/jobs/job.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { EpochMs } from '../../../src/lib/time/epoch.ts'
import type { AttemptEnding, AttemptMark, AttemptUpdate, HeldAttempt } from '../../../src/ports/attempts.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { Ending, FinishAnswer } from '../../../src/ports/queue.ts'
import type { Scenario } from '../scenario.ts'

export const http: Execution = {
  type: 'http',
  callback_url: 'https://example.com/report',
  method: 'POST',
  headers: {},
  timeout_seconds: 30,
}

/** A batch of as many jobs held by a worker. */
export async function holdBatch(s: Scenario, count: number, changes: Partial<NewJob> = {}) {
  const jobs: NewJob[] = []
  for (let i = 0; i < count; i++) jobs.push(await s.createJob(changes))
  const { executionIds, batchId } = await s.fireBatch(jobs, 0)
  const workerId = await s.addWorker()
  const [batch, claimed] = await during(s, () => s.claimBatch(workerId))
  const marks = executionIds.map((executionId, i): AttemptMark => {
    return { executionId, jobId: jobs[i]!.jobId, attempt: 1, fence: batch.fence, workerId }
  })
  /** The worker gives it back: of each execution how it ended, in order. */
  const finish = (endings: readonly Ending[]): Promise<FinishAnswer> => {
    const placed = endings.map((ending, position) => ({ position, ending }))
    return s.queue.finishBatches(workerId, [{ batchId, fence: batch.fence, endings: placed }])
  }
  return { jobs, executionIds, batchId, batch, workerId, claimed, marks, finish }
}

/** One triggered execution held by a worker. */
export async function holdLive(s: Scenario, changes: Partial<NewJob> = {}) {
  const job = await s.createJob(changes)
  const executionId = await s.trigger(job)
  const workerId = await s.addWorker()
  const [live, claimed] = await during(s, () => s.claimLive(workerId))
  const { jobId } = job
  const mark: AttemptMark = { executionId, jobId, attempt: live.attempt, fence: live.fence, workerId }
  return { job, executionId, workerId, live, claimed, mark }
}

/** An execution with a target that has answered 202. */
export async function holdAwaiting(s: Scenario, changes: Partial<NewJob> = {}) {
  const held = await holdLive(s, changes)
  await s.finishLive(held.workerId, held.live, s.awaiting())
  return { ...held, mark: { ...held.mark, workerId: null } }
}

/** The result of the action, and the moments of the store that it lies between. */
export async function during<T>(s: Scenario, act: () => Promise<T>): Promise<[T, Span]> {
  const from = await s.now()
  const done = await act()
  return [done, { from, to: await s.now() }]
}

interface Span {
  from: EpochMs
  to: EpochMs
}

export function assertWithin(at: EpochMs | null, { from, to }: Span): void {
  assert(at !== null && at >= from && at <= to, `${at} is not within ${from} and ${to}`)
}

/** The attempt that is under way. */
export async function findHeld(s: Scenario, executionId: string): Promise<HeldAttempt> {
  const [held, ...more] = await s.attempts.find([executionId])
  assert(held !== undefined, `nobody holds ${executionId}`)
  assert.deepEqual(more, [])
  return held
}

export function markOf({ executionId, jobId, attempt, fence, workerId }: HeldAttempt): AttemptMark {
  return { executionId, jobId, attempt, fence, workerId }
}

/** Says how attempts ended. */
export function report(s: Scenario, marks: readonly AttemptMark[], ending: AttemptEnding['ending']) {
  return s.attempts.report(marks.map((mark) => ({ ...mark, ending })))
}

/** The answer to a report when everything was held and nothing of it cancelled. */
export const allTaken = { refused: [], cancelled: [] }

/** Sends an update of a single attempt and returns its answer. */
export async function note(
  s: Scenario,
  mark: AttemptMark,
  said: Partial<AttemptUpdate> = {},
): Promise<string> {
  const [answer, ...more] = await s.attempts.update([{ ...mark, alive: true, ...said }])
  assert.deepEqual([answer?.executionId, more], [mark.executionId, []])
  return answer!.status
}

/** Ends every execution of the job under way as succeeded, regardless of its holder. */
export async function completeAll(s: Scenario, job: NewJob): Promise<void> {
  const { executions } = await s.list(job)
  const held = await s.attempts.find(executions.map(({ executionId }) => executionId))
  assert.deepEqual(await report(s, held.map(markOf), s.succeeded()), allTaken)
}

/** Somebody cancels it while it runs. */
export async function cancelHeld(s: Scenario, executionId: string): Promise<void> {
  const message = 'Cancelled by hand.'
  const { kind } = await s.control.cancel({ tenantId: defaultTenantId, executionId, message })
  assert.equal(kind, 'cancelling')
}

/** The worker is declared dead. */
export async function lose(s: Scenario, workerId: string): Promise<void> {
  assert.notEqual(await s.maintenance.reclaim({ holderId: workerId, beats: 0 }), 'alive')
}

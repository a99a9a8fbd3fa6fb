// Long work started by one request, a bounded part of it in each step: many jobs paused, resumed, deleted or triggered,
// many dead letters redriven, many executions cancelled, past slots run. A step and its progress are one transaction;
// anything created after the operation is left alone.

import { EXECUTOR_KINDS } from '../domain/executors/list.ts'
import { isGraphRefusal } from '../domain/graphs/graph.ts'
import { isActiveJobsRefusal } from '../domain/jobs/active-jobs.ts'
import type { JobView } from '../domain/jobs/job.ts'
import { deleteJob, type JobState, type JobWrite, pauseJob, resumeJob } from '../domain/jobs/job-change.ts'
import type { Operation } from '../domain/jobs/operation.ts'
import type { SettledAttempt } from '../domain/queue/attempt.ts'
import { allOrFirstError } from '../lib/all-or-first-error.ts'
import type { ActiveJobsLimit, JobPage } from '../ports/jobs.ts'
import type { OperationProgress, Operations } from '../ports/operations.ts'
import { leanPage } from '../ports/pages.ts'
import type { WriteStores } from '../ports/requests.ts'
import { emitCancelled } from '../telemetry/emit-settled.ts'
import { type BackfillDeps, backfillSome } from './run-backfill.ts'
import { roomOf, waitForRoom } from './waiting-room.ts'

export interface OperationDeps extends BackfillDeps {
  operations: Pick<Operations, 'step' | 'nextAt'>
  /** Called after a commit that changed jobs. */
  onChanged: () => void
  /** Called after a commit that made something claimable, or let it wait for its turn. */
  onReady: () => void
  /** Called after a commit that cancelled something. */
  onCancelled: () => void
}

type JobOperation = Extract<Operation, { kind: 'pause' | 'resume' | 'delete' | 'trigger' }>
type RedriveOperation = Extract<Operation, { kind: 'redrive' }>
type CancelOperation = Extract<Operation, { kind: 'cancel' }>
type Stores = Pick<WriteStores, 'jobs' | 'deadLetters' | 'control' | 'calendars' | 'tenants' | 'tenantRoom'>

/** Each job is locked until the step is over, and its changes and triggers wait: so a step is short. */
const jobsMax = 10
/** The count of active jobs is locked after a job, and a further job would be locked after the count. */
const countedJobsMax = 1
/**
 * Jobs in no graph and without an unended execution, which have nothing to cancel: their deletes share a step, and their
 * statements go out together. A delete of any other job has a step of its own, for two reasons: it may change the
 * graph of the job, under a lock of the tenant that comes before job locks, and it locks batches, which other transactions lock
 * in the order of batches and not of jobs. Newest first, dependent jobs are mostly gone before the jobs they depend on.
 */
const quietDeletesMax = 100
const lettersMax = 200
const cancelsMax = 200
const rateDefault = 50
/** While another scheduler holds the due operations. */
const lookAgainMs = 100
/** The floor: an operation is woken for when it is asked for. */
export const runOperationsEveryMs = 5_000

export async function runOperation(deps: OperationDeps): Promise<'more' | 'idle' | number> {
  const { clock, operations } = deps
  let cancelled: readonly SettledAttempt[] = []
  const operation = await operations.step(async (one, stores) => {
    if (one.kind === 'redrive') return redriveSome(deps, one, stores)
    if (one.kind === 'backfill') return backfillSome(deps, one, stores)
    const { progress, ended } =
      one.kind === 'cancel' ? await cancelSome(one, stores) : await changeSome(deps, one, stores)
    cancelled = ended
    return progress
  })
  if (operation === null) {
    const nextAt = await operations.nextAt()
    if (nextAt === null) return 'idle'
    const waitMs = nextAt - clock.databaseNow()
    return waitMs > 0 ? waitMs : lookAgainMs
  }
  emitCancelled(cancelled)
  notifyOthers(deps, operation)
  return 'more'
}

function notifyOthers({ onChanged, onReady, onCancelled }: OperationDeps, { kind }: Operation): void {
  if (kind === 'cancel') onCancelled()
  else if (kind === 'redrive' || kind === 'trigger' || kind === 'backfill') onReady()
  else onChanged()
}

/** `ended`: executions that were cancelled before they ran. */
interface Changed {
  progress: OperationProgress
  ended: readonly SettledAttempt[]
}

async function changeSome(
  deps: OperationDeps,
  operation: JobOperation,
  { jobs, tenants, tenantRoom }: Stores,
): Promise<Changed> {
  const { tenantId, filter, after, operationId } = operation
  const activeJobsMax = operation.kind === 'resume' ? await activeJobsMaxOf(tenants, tenantId) : null
  // Ids grow with time: ids before the operation's own existed when it was requested.
  const before = after ?? operationId
  const isDelete = operation.kind === 'delete'
  const isTrigger = operation.kind === 'trigger'
  const room = isTrigger ? await roomOf(deps, { tenantId, tenantRoom }) : jobsMax
  if (room === 0) return { progress: waitForRoom(before), ended: [] }
  const most = Math.min(jobsMax, room)
  const limit = isDelete ? quietDeletesMax : activeJobsMax === null ? most : countedJobsMax
  const all = await jobs.list({ tenantId, filter, before, offset: 0, limit, ...leanPage })
  const page = isDelete ? await cutPage(jobs, tenantId, all) : all
  let done = 0
  const ended: SettledAttempt[] = []
  // In the order of ids, as everywhere: each job stays locked until the step is over.
  const ordered = page.jobs.toReversed()
  if (isDelete) {
    const deleted = await allOrFirstError(
      ordered.map((job) => change(operation, job, { jobs, ended, activeJobsMax })),
    )
    done = deleted.filter(Boolean).length
  } else {
    for (const job of ordered) {
      const isDone = isTrigger
        ? await trigger(deps, operation, job, jobs)
        : await change(operation, job, { jobs, ended, activeJobsMax })
      if (isDone) done += 1
    }
  }
  if (isTrigger) deps.waiting.admit(tenantId, done)
  const progress = { done, skipped: page.jobs.length - done, after: page.next, waitMs: 0 }
  return { progress, ended }
}

/** The first jobs that are quiet; if the first one is not, that one alone. */
async function cutPage(jobs: Stores['jobs'], tenantId: string, page: JobPage): Promise<JobPage> {
  const quiet = new Set(
    await jobs.findQuiet(
      tenantId,
      page.jobs.map(({ jobId }) => jobId),
    ),
  )
  const first = page.jobs.findIndex(({ jobId }) => !quiet.has(jobId))
  if (first < 0) return page
  const taken = page.jobs.slice(0, Math.max(1, first))
  return taken.length === page.jobs.length ? page : { jobs: taken, next: taken.at(-1)!.jobId }
}

async function change(
  operation: JobOperation,
  { jobId }: JobView,
  { jobs, ended, activeJobsMax }: Pick<Stores, 'jobs'> & ActiveJobsLimit & { ended: SettledAttempt[] },
): Promise<boolean> {
  let isChanged = false
  const dependencies = operation.kind === 'delete' ? { dependsOn: [] } : {}
  const target = { tenantId: operation.tenantId, jobId, activeJobsMax, ...dependencies }
  const outcome = await jobs.change(target, (job) => {
    const write = decide(operation, job)
    isChanged = write !== null
    return write
  })
  // One that others run after is not deleted, and one beyond the limit of the tier is not resumed.
  if (!isChanged || typeof outcome === 'string') return false
  if (isGraphRefusal(outcome) || isActiveJobsRefusal(outcome)) return false
  ended.push(...(outcome.cancelled ?? []))
  return true
}

/** Asked at each step: a change of the tier counts at once. */
async function activeJobsMaxOf(tenants: Stores['tenants'], tenantId: string): Promise<number | null> {
  const tenant = await tenants.get(tenantId)
  return tenant === null ? null : tenant.tier.activeJobsMax
}

/** Null: there is nothing to change, or the change is not possible. */
function decide({ kind, options, createdBy: by }: JobOperation, job: JobState): JobWrite | null {
  const { reason = null, until = null } = options
  const write =
    kind === 'pause'
      ? pauseJob(job, { by, reason, until })
      : kind === 'resume'
        ? resumeJob(job, { by, at: null })
        : deleteJob(job, { by })
  return typeof write === 'string' ? null : write
}

async function trigger(
  { clock, ids, lanes }: OperationDeps,
  { tenantId, options }: JobOperation,
  { jobId, execution }: JobView,
  jobs: Stores['jobs'],
): Promise<boolean> {
  const override = 'payloadOverride' in options ? { payloadOverride: options.payloadOverride } : {}
  const refusal = EXECUTOR_KINDS[execution.type].refusePayload?.(execution) ?? null
  if ('payloadOverride' in override && refusal !== null) return false
  const lane = lanes.choose(tenantId, clock.monotonicMs())
  const order = { tenantId, jobId, executionId: ids.next(), lane, uncharged: true } as const
  const outcome = await jobs.trigger({ ...order, ...override })
  return outcome.kind === 'triggered'
}

async function redriveSome(
  deps: OperationDeps,
  { tenantId, filter, after, options }: RedriveOperation,
  { deadLetters, tenantRoom }: Stores,
): Promise<OperationProgress> {
  const { clock, ids, lanes, waiting } = deps
  const { ratePerSecond = rateDefault } = options
  const room = await roomOf(deps, { tenantId, tenantRoom })
  if (room === 0) return waitForRoom(after)
  const limit = Math.min(lettersMax, ratePerSecond, room)
  const page = await deadLetters.list({ tenantId, filter, before: after, limit, ...leanPage })
  const letters = page.deadLetters.map(({ executionId }) => ({
    executionId,
    newExecutionId: ids.next(),
    lane: lanes.choose(tenantId, clock.monotonicMs()),
  }))
  const { redriven } = await deadLetters.redrive({ tenantId, letters, uncharged: true })
  waiting.admit(tenantId, redriven.length)
  return {
    done: redriven.length,
    skipped: letters.length - redriven.length,
    after: page.more ? letters.at(-1)!.executionId : null,
    waitMs: Math.round((letters.length / ratePerSecond) * 1_000),
  }
}

async function cancelSome(
  { tenantId, filter, after, operationId, createdBy }: CancelOperation,
  { control }: Stores,
): Promise<Changed> {
  // Ids grow with time: anything created after the operation is left alone.
  const before = after ?? operationId
  const query = { tenantId, ...filter, deadLetter: null, workerId: null, before, limit: cancelsMax }
  const { executionIds, next } = await control.findUnended(query)
  const message = `Cancelled by ${createdBy}.`
  const { cancelled, cancelling } = await control.cancelMany({ tenantId, executionIds, message })
  const done = cancelled.length + cancelling
  const progress = { done, skipped: executionIds.length - done, after: next, waitMs: 0 }
  return { progress, ended: cancelled }
}

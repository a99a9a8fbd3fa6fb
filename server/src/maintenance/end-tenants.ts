// The end of tenants, a bounded part of it in each step: jobs paused and executions cancelled after a delete, jobs resumed
// after a restore, rows deleted by a purge. A step and its progress are one transaction.
import type { SettledAttempt } from '../domain/queue/attempt.ts'
import type { ExecutionStatus } from '../domain/queue/execution.ts'
import {
  pauseWithTenant,
  purgeWaitMs,
  resumeWithTenant,
  type TenantWork,
  tenantDeletedMessage,
} from '../domain/tenants/tenant-end.ts'
import type { Clock } from '../ports/clock.ts'
import type { Ids } from '../ports/ids.ts'
import { leanPage } from '../ports/pages.ts'
import type { WriteStores } from '../ports/requests.ts'
import type { TenantEnds, TenantProgress, TenantStores } from '../ports/tenant-ends.ts'
import { emitCancelled } from '../telemetry/emit-settled.ts'

export interface EndTenantsDeps {
  clock: Pick<Clock, 'databaseNow'>
  ids: Ids
  tenantEnds: Pick<TenantEnds, 'step' | 'nextAt'>
  /** Called after a commit that changed jobs. */
  onChanged: () => void
  /** Called after a commit that cancelled something. */
  onCancelled: () => void
}

/** Each job is locked until the step is over: so a step is short. */
const jobsMax = 20
const cancelsMax = 200
/** While executions that were running at the delete go on: how often retries of them are looked for. */
const keepEveryMs = 5_000
/** While executions that a purge cancelled are being stopped. */
const underWayMs = 1_000
/** While another scheduler holds the due work. */
const lookAgainMs = 100
/** The floor: the loop is woken for work that is asked for. */
export const endTenantsEveryMs = 5_000

export async function endTenants(deps: EndTenantsDeps): Promise<'more' | 'idle' | number> {
  const { clock, ids, tenantEnds, onChanged, onCancelled } = deps
  let cancelled: readonly SettledAttempt[] = []
  const stage = await tenantEnds.step(async (work, stores) => {
    const { ended = [], ...progress } = await advance(work, stores, deps)
    cancelled = ended
    return progress
  }, ids.next())
  if (stage === null) {
    const nextAt = await tenantEnds.nextAt()
    if (nextAt === null) return 'idle'
    const waitMs = nextAt - clock.databaseNow()
    return waitMs > 0 ? waitMs : lookAgainMs
  }
  emitCancelled(cancelled)
  if (stage === 'restore') onChanged()
  else onCancelled()
  return 'more'
}

/** `ended`: executions that were cancelled before they ran. */
type Advanced = TenantProgress & { ended?: readonly SettledAttempt[] }

function advance(work: TenantWork, stores: TenantStores, deps: EndTenantsDeps): Promise<Advanced> {
  if (work.stage === 'stop') return stop(work, stores)
  if (work.stage === 'keep') return keep(work, stores, deps)
  if (work.stage === 'restore') return restore(work, stores)
  return purge(work, stores, deps)
}

/** Executions first: no new ones come, and the more of them wait, the more a worker could still start. */
async function stop(work: TenantWork, stores: TenantStores): Promise<Advanced> {
  if (work.after !== jobsFrom) {
    const { ended, after } = await cancelSome(stores, work, statusesOf(work))
    return { done: 0, skipped: 0, after: after ?? jobsFrom, waitMs: 0, isOver: false, ended }
  }
  const { done, isLast } = await pauseSome(stores, work)
  return { done, skipped: 0, after: jobsFrom, waitMs: 0, isOver: isLast }
}

/** Executions are dealt with: each look finds the jobs, or the rows, that are left. */
const jobsFrom = 'jobs'
const rowsFrom = 'rows'

/** Paused jobs are no longer found, nor are jobs missed that a last request made meanwhile. */
async function pauseSome({ jobs }: Pick<WriteStores, 'jobs'>, work: TenantWork) {
  const { tenantId } = work
  const filter = { status: 'ACTIVE', tag: null, q: null } as const
  const page = await jobs.list({ tenantId, filter, before: null, offset: 0, limit: jobsMax, ...leanPage })
  let done = 0
  // In the order of ids, as everywhere: each job stays locked until the step is over.
  for (const { jobId } of page.jobs.toReversed()) {
    await jobs.change({ tenantId, jobId }, (job) => {
      const write = pauseWithTenant(job, work)
      if (write !== null) done += 1
      return write
    })
  }
  return { done, isLast: page.jobs.length === 0 }
}

/** Without any more executions it waits for the purge. */
async function keep(
  work: TenantWork,
  stores: TenantStores,
  { clock }: Pick<EndTenantsDeps, 'clock'>,
): Promise<Advanced> {
  const { purgeAt, deletedAt, after } = work
  const nothing = { done: 0, skipped: 0, after: null, isOver: false }
  const now = clock.databaseNow()
  const restMs = purgeAt! - now
  if (restMs <= 0) return { ...nothing, waitMs: 0, isOver: true }
  // The restore would not know it: a request with a key that another server remembered made it active.
  if ((await pauseSome(stores, work)).done > 0) return { ...nothing, waitMs: 0 }
  if (after?.startsWith(lookFrom) !== true) {
    const { ended, after: further } = await cancelSome(stores, work, statusesOf(work))
    return { ...nothing, after: further ?? lookFrom, waitMs: 0, ended }
  }
  const { executionIds, next } = await findSome(stores, work, null, after.slice(lookFrom.length) || null)
  if (executionIds.length > 0) return { ...nothing, waitMs: Math.min(keepEveryMs, restMs) }
  if (next !== null) return { ...nothing, after: `${lookFrom}${next}`, waitMs: 0 }
  const lastRequestsMs = deletedAt + purgeWaitMs - now
  return { ...nothing, waitMs: lastRequestsMs > 0 ? Math.min(lastRequestsMs, restMs) : restMs }
}

/** In front of the id down to which nothing is under way. */
const lookFrom = 'look '

async function restore(work: TenantWork, { jobs }: TenantStores): Promise<Advanced> {
  const { tenantId, after } = work
  const filter = { status: 'PAUSED', tag: null, q: null } as const
  const page = await jobs.list({ tenantId, filter, before: after, offset: 0, limit: jobsMax, ...leanPage })
  let done = 0
  for (const { jobId } of page.jobs.toReversed()) {
    await jobs.change({ tenantId, jobId }, (job) => {
      const write = resumeWithTenant(job, work)
      if (write !== null) done += 1
      return write
    })
  }
  const skipped = page.jobs.length - done
  return { done, skipped, after: page.next, waitMs: 0, isOver: page.next === null }
}

async function purge(
  work: TenantWork,
  stores: TenantStores,
  { clock }: Pick<EndTenantsDeps, 'clock'>,
): Promise<Advanced> {
  const nothing = { done: 0, skipped: 0, after: null, isOver: false }
  const waitMs = work.deletedAt + purgeWaitMs - clock.databaseNow()
  if (waitMs > 0) return { ...nothing, waitMs }
  if (work.after !== rowsFrom) {
    const { ended, after } = await cancelSome(stores, work, [null])
    return { ...nothing, after: after ?? rowsFrom, waitMs: 0, ended }
  }
  const purged = await stores.purgeSome(work.tenantId)
  // Its executions are being stopped; some may have begun to wait meanwhile.
  if (purged === 'under_way') return { ...nothing, waitMs: underWayMs }
  return { ...nothing, done: purged.jobs, after: rowsFrom, waitMs: 0, isOver: purged.rows === 0 }
}

/** Null: all that have not ended. */
function statusesOf({ cancelRunning }: TenantWork): (ExecutionStatus | null)[] {
  return cancelRunning ? [null] : ['WAITING_DEPENDENCIES', 'PENDING', 'RETRYING']
}

/** Cancels a page of executions, status by status, newest first. `after`: where it goes on; null: that was all. */
async function cancelSome(
  stores: Pick<WriteStores, 'control'>,
  work: TenantWork,
  statuses: readonly (ExecutionStatus | null)[],
): Promise<{ ended: SettledAttempt[]; after: string | null }> {
  const { tenantId } = work
  const [number, before = ''] = work.after?.split(' ') ?? ['0']
  const nth = Number(number)
  const { executionIds, next } = await findSome(stores, work, statuses[nth]!, before || null)
  const message = tenantDeletedMessage
  const { cancelled } =
    executionIds.length === 0
      ? { cancelled: [] }
      : await stores.control.cancelMany({ tenantId, executionIds, message })
  if (next !== null) return { ended: cancelled, after: `${nth} ${next}` }
  return { ended: cancelled, after: nth + 1 < statuses.length ? `${nth + 1} ` : null }
}

function findSome(
  { control }: Pick<WriteStores, 'control'>,
  { tenantId }: TenantWork,
  status: ExecutionStatus | null,
  before: string | null,
): Promise<{ executionIds: string[]; next: string | null }> {
  const none = { jobId: null, kind: null, tag: null, q: null, errorType: null, from: null, to: null }
  const query = { tenantId, ...none, status, deadLetter: null, workerId: null, before, limit: cancelsMax }
  return control.findUnended(query)
}

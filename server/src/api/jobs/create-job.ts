// A job is created, by POST or by PUT.
import type { CreatedJob, JobRequest } from '@carillon/contract/job.ts'
import { isGraphRefusal } from '../../domain/graphs/graph.ts'
import { isActiveJobsRefusal } from '../../domain/jobs/active-jobs.ts'
import { isLimited } from '../../domain/jobs/job.ts'
import type { LaneChooser } from '../../domain/queue/lane.ts'
import { storedBytesOf } from '../../domain/tenants/storage.ts'
import type { NewJob } from '../../ports/jobs.ts'
import type { WriteStores } from '../../ports/requests.ts'
import { queueTopics, type WakeupTopic } from '../../ports/wakeup.ts'
import type { World } from '../../ports/world.ts'
import type { Caller } from '../access/auth.ts'
import { tenantDeleted } from '../access/deleted-tenant.ts'
import type { TenantQuotas } from '../access/tenant-quotas.ts'
import { refuseActiveJobs } from '../access/tier-limits.ts'
import { refuseGraph } from '../graphs/graph-refusal.ts'
import { ApiError } from '../http/api-error.ts'
import { tagOf } from '../http/if-match.ts'
import type { WriteAnswer } from '../http/write.ts'
import { withReadingWarnings } from './job-body.ts'
import { toJob, viewOf } from './job-view.ts'
import { warningsOf } from './job-warnings.ts'
import { calendarsNamed } from './named-calendars.ts'
import type { JobReading } from './other-spellings.ts'
import { planJob } from './plan-new-job.ts'
import type { CheckTarget } from './validate-execution.ts'

export interface CreateDeps extends Pick<World, 'clock' | 'ids'> {
  lanes: LaneChooser
  checkTarget: CheckTarget
  quotas: TenantQuotas
}

export interface CreateOrder {
  caller: Caller
  request: JobRequest
  /** Undefined: the request was sent as it is here. */
  reading: JobReading | undefined
  stores: Pick<WriteStores, 'jobs' | 'calendars' | 'graphRuns' | 'artifacts' | 'workers'>
}

export async function createJob(
  { clock, ids, lanes, checkTarget, quotas }: CreateDeps,
  { caller, request, reading, stores }: CreateOrder,
): Promise<WriteAnswer<CreatedJob> | 'key_taken'> {
  const { tenantId, tier, name: by } = caller
  const calendars = await calendarsNamed(stores.calendars, tenantId, request.schedule)
  const now = clock.databaseNow()
  const enqueue = () => ({ executionId: ids.nextBatch(), lane: lanes.choose(tenantId, clock.monotonicMs()) })
  const context = { jobId: ids.next(), tenantId, tier, by, now, enqueue, calendars, checkTarget }
  const job = planJob(request, context)
  if (job.immediate !== null) quotas.admitWaiting(caller, 1)
  if (tier.storageBytesMax !== null) quotas.spendStorage(caller, storedBytesOf(job))
  const created = await stores.jobs.create(job, tier)
  if (created === 'key_taken') return 'key_taken'
  if (created === 'tenant_deleted') throw tenantDeleted(tenantId)
  if (isActiveJobsRefusal(created)) throw refuseActiveJobs(tier, created)
  if (isGraphRefusal(created)) throw refuseGraph(created, job.dependsOn)
  const warnings = await warningsOf(stores, job, { isNew: true })
  const body = { ...toJob(viewOf(job), { now, calendars }), ...withReadingWarnings(reading, warnings) }
  return {
    status: 201,
    headers: { etag: tagOf(job.version), location: `/api/v1/jobs/${job.jobId}` },
    body: job.immediate === null ? body : { ...body, execution_id: job.immediate.executionId },
    executions: job.immediate === null ? 0 : 1,
    wake: wokenBy(job),
  }
}

/** The executions that the creation of a job makes at once. */
export function executionsOf({ schedule }: JobRequest): number {
  return typeof schedule === 'object' && schedule.type === 'IMMEDIATE' ? 1 : 0
}

function wokenBy(job: NewJob): WakeupTopic[] {
  if (job.immediate === null) return ['changes']
  return isLimited(job) ? ['waiting'] : queueTopics(job.immediate.lane)
}

export function keyTaken(key: string | undefined): ApiError {
  const errors = [{ pointer: '/key', detail: 'is the key of another job' }]
  return new ApiError('JOB_KEY_TAKEN', `Another job has the key ${key}.`, errors)
}

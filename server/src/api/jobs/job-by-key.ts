// PUT /api/v1/jobs/by-key/{key}: the job of this key shall be so. Creates it or replaces it, whichever it takes.
import { CreatedJob, JobRequest, jobKeyForm } from '@carillon/contract/job.ts'
import type { FastifyInstance } from 'fastify'
import { isGraphRefusal } from '../../domain/graphs/graph.ts'
import { isActiveJobsRefusal } from '../../domain/jobs/active-jobs.ts'
import type { WriteStores } from '../../ports/requests.ts'
import type { Caller } from '../access/auth.ts'
import { refuseActiveJobs } from '../access/tier-limits.ts'
import { refuseGraph } from '../graphs/graph-refusal.ts'
import { ApiError } from '../http/api-error.ts'
import {
  checkVersion,
  type Precondition,
  putHeaders,
  readIfMatch,
  readIfNoneMatch,
  tagOf,
} from '../http/if-match.ts'
import { refuseField } from '../http/problem.ts'
import { answerWrite, type WriteAnswer, type WriteDeps, writeRoute } from '../http/write.ts'
import { type CreateDeps, createJob, executionsOf, keyTaken } from './create-job.ts'
import { takeJob, withReadingWarnings } from './job-body.ts'
import { jobRules } from './job-rules.ts'
import { toJob } from './job-view.ts'
import { warningsOf } from './job-warnings.ts'
import { calendarsNamed, calendarsOf } from './named-calendars.ts'
import type { JobReading } from './other-spellings.ts'
import { planEdit } from './plan-edit.ts'
import { dependenciesOf } from './validate-dependencies.ts'

export interface JobByKeyDeps extends CreateDeps, WriteDeps {}

interface PutOrder {
  caller: Caller
  request: JobRequest & { key: string }
  reading: JobReading | undefined
  ifMatch: Precondition
  ifNoneMatch: '*' | null
}

/** Others may create and delete the job while we look. */
const triesMax = 3

export function jobByKeyRoutes(app: FastifyInstance, deps: JobByKeyDeps): void {
  app.put<{ Params: { key: string }; Body: JobRequest }>(
    '/jobs/by-key/:key',
    writeRoute('jobs', 'write', 'Create or replace the job of a key', {
      description:
        'Fields that the body leaves out get their defaults. If nothing changes, the job keeps its version. A header value of `***` keeps the stored value, as long as the scheme, host and port of `callback_url` stay the same. Other spellings are read as with `POST /jobs`.',
      params: { type: 'object', properties: { key: { type: 'string', ...jobKeyForm } } },
      headers: putHeaders,
      body: JobRequest,
      rules: jobRules(deps),
      response: {
        200: { ...CreatedJob, description: 'It existed already; this is its new definition.' },
        201: { ...CreatedJob, description: 'Created.' },
      },
      options: takeJob(deps.clock, 'replace'),
    }),
    async (request, reply) => {
      const { params, body, caller, reading } = request
      const { key } = params
      if (body.key !== undefined && body.key !== key)
        throw refuseField('/key', `must be ${key}, as in the path`)
      const order = {
        caller,
        request: { ...body, key },
        reading,
        ifMatch: readIfMatch(request),
        ifNoneMatch: readIfNoneMatch(request),
      }
      const put = async (stores: WriteStores) => putJob(deps, order, stores)
      return answerWrite<CreatedJob>(deps, request, reply, put, { executions: executionsOf(body) })
    },
  )
}

async function putJob(
  deps: JobByKeyDeps,
  order: PutOrder,
  stores: WriteStores,
): Promise<WriteAnswer<CreatedJob>> {
  const { caller, request } = order
  for (let tries = 0; tries < triesMax; tries++) {
    const found = await stores.jobs.getByKey(caller.tenantId, request.key)
    const answer =
      found === null
        ? await create(deps, order, stores)
        : await replace(deps, order, { stores, jobId: found.jobId })
    if (answer !== 'changed_meanwhile') return answer
  }
  throw keyTaken(request.key)
}

async function create(deps: JobByKeyDeps, order: PutOrder, stores: WriteStores) {
  const { request, ifMatch } = order
  if (ifMatch !== null) throw refuseCondition('If-Match', `There is no job with the key ${request.key}.`)
  const created = await createJob(deps, { ...order, stores })
  return created === 'key_taken' ? 'changed_meanwhile' : created
}

async function replace(
  { clock, checkTarget, quotas }: JobByKeyDeps,
  { caller, request, reading, ifMatch, ifNoneMatch }: PutOrder,
  { stores, jobId }: { stores: WriteStores; jobId: string },
): Promise<WriteAnswer<CreatedJob> | 'changed_meanwhile'> {
  if (ifNoneMatch === '*') throw refuseCondition('If-None-Match', `${jobId} has the key ${request.key}.`)
  const { tenantId, tier, name: by } = caller
  const { jobs, calendars } = stores
  const dependsOn = dependenciesOf(request.depends_on)
  const named = await calendarsNamed(calendars, tenantId, request.schedule)
  let isStill = true
  const job = await jobs.change(
    { tenantId, jobId, activeJobsMax: tier.activeJobsMax, dependsOn },
    (state) => {
      isStill = state.status !== 'DELETED' && state.key === request.key
      if (!isStill) return null
      checkVersion(ifMatch, state)
      const spendStorage = (bytes: number) => quotas.spendStorage(caller, bytes)
      return planEdit(state, request, { by, tier, checkTarget, spendStorage, calendars: named })
    },
  )
  if (job === 'not_found' || job === 'key_taken' || !isStill) return 'changed_meanwhile'
  if (isActiveJobsRefusal(job)) throw refuseActiveJobs(tier, job)
  if (isGraphRefusal(job)) throw refuseGraph(job, dependsOn)
  return {
    status: 200,
    // An existing job is never IMMEDIATE.
    executions: 0,
    headers: { etag: tagOf(job.version) },
    body: {
      ...toJob(job, { calendars: await calendarsOf(calendars, [job]), now: clock.databaseNow() }),
      ...withReadingWarnings(reading, await warningsOf(stores, job, { isNew: false })),
    },
    wake: ['changes'],
  }
}

function refuseCondition(pointer: string, detail: string): ApiError {
  return new ApiError('VERSION_STALE', detail, [{ pointer, detail: 'does not hold' }])
}

// POST /api/v1/jobs: create. GET /api/v1/jobs/{job_id}: what it is and when it runs. POST …/trigger: run it now.
import {
  CreatedJob,
  Job,
  JobRequest,
  jobDefaults,
  TriggerReply,
  TriggerRequest,
} from '@carillon/contract/job.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { LaneChooser } from '../../domain/lane.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/ids.ts'
import type { Jobs, TriggerOrder, TriggerOutcome } from '../../ports/jobs.ts'
import type { Wakeup } from '../../ports/wakeup.ts'
import { ApiError } from '../api-error.ts'
import { toScheduledTime } from '../execution-shape.ts'
import { toJob, viewOf } from '../job-shape.ts'
import { checkPayload, planJob } from '../new-job.ts'
import { refuseJobOptions, refuseWriteOptions } from '../not-supported.ts'
import { noParameters, problemResponses } from '../openapi.ts'
import { jobNotFound, readId } from '../path-id.ts'

export interface JobDeps {
  clock: Clock
  ids: Ids
  jobs: Jobs
  wakeup: Wakeup
  lanes: LaneChooser
}

const tags = ['jobs']
const security = [{ bearer: [] }]

export function jobRoutes(app: FastifyInstance, deps: JobDeps): void {
  const { clock, ids, jobs, wakeup, lanes } = deps

  app.post<{ Body: JobRequest }>(
    '/jobs',
    {
      preValidation: [refuseWriteOptions, refuseJobOptions],
      schema: {
        tags,
        security,
        summary: 'Create a job',
        description: 'It runs from its next slot on; with type IMMEDIATE once, now.',
        querystring: noParameters,
        body: JobRequest,
        response: { 201: CreatedJob, ...problemResponses },
      },
    },
    async (request, reply): Promise<CreatedJob> => {
      const { tenantId } = request
      const now = clock.databaseNow()
      const job = planJob(request.body, {
        jobId: ids.next(),
        tenantId,
        now,
        enqueue: () => ({ executionId: ids.nextBatch(), lane: lanes.choose(tenantId, clock.monotonicMs()) }),
      })
      await jobs.create(job)
      wakeup.send(job.immediate === null ? 'changes' : 'queue')
      tagVersion(reply, job.version).code(201).header('location', `/api/v1/jobs/${job.jobId}`)
      const created = toJob(viewOf(job), now)
      return job.immediate === null ? created : { ...created, execution_id: job.immediate.executionId }
    },
  )

  app.get<{ Params: { job_id: string } }>(
    '/jobs/:job_id',
    {
      schema: {
        tags,
        security,
        summary: 'A job, and when it runs next',
        response: { 200: Job, ...problemResponses },
      },
    },
    async (request, reply): Promise<Job> => {
      const jobId = readId(request.params.job_id)
      const job = jobId === null ? null : await jobs.get(request.tenantId, jobId)
      if (job === null) throw jobNotFound(request.params.job_id)
      tagVersion(reply, job.version)
      return toJob(job, clock.databaseNow())
    },
  )

  app.post<{ Params: { job_id: string }; Body: TriggerRequest }>(
    '/jobs/:job_id/trigger',
    {
      preValidation: [refuseWriteOptions, takeNoBody],
      schema: {
        tags,
        security,
        summary: 'Run a job now',
        description: 'Never skipped: behind an execution under way it waits, unless overlap is allowed.',
        querystring: noParameters,
        body: TriggerRequest,
        response: { 202: TriggerReply, ...problemResponses },
      },
    },
    async (request, reply): Promise<TriggerReply> => {
      const { tenantId, params, body } = request
      const jobId = readId(params.job_id)
      if (jobId === null) throw jobNotFound(params.job_id)
      const order: TriggerOrder = {
        tenantId,
        jobId,
        executionId: ids.next(),
        lane: lanes.choose(tenantId, clock.monotonicMs()),
      }
      if (body.payload_override !== undefined) {
        order.payloadOverride = body.payload_override
        const job = await jobs.get(tenantId, jobId)
        checkPayload(body.payload_override, '/payload_override', job?.execution.method ?? jobDefaults.method)
      }
      const { enqueuedAt } = requireTriggered(await jobs.trigger(order), jobId)
      wakeup.send('queue')
      wakeup.send('waiting')
      reply.code(202)
      const scheduledTime = toScheduledTime(enqueuedAt)
      return {
        execution_id: order.executionId,
        job_id: jobId,
        status: 'PENDING',
        scheduled_time: scheduledTime,
      }
    },
  )
}

/** No body says what an empty one says. */
async function takeNoBody(request: FastifyRequest): Promise<void> {
  if (request.body === undefined) request.body = {}
}

function requireTriggered(outcome: TriggerOutcome, jobId: string) {
  if (outcome.kind === 'not_found') throw jobNotFound(jobId)
  if (outcome.kind === 'deleted') throw new ApiError('JOB_DELETED', `The job ${jobId} is deleted.`)
  return outcome
}

function tagVersion(reply: FastifyReply, version: number): FastifyReply {
  return reply.header('etag', `"${version}"`)
}

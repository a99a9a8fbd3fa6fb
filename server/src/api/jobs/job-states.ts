// PATCH /api/v1/jobs/{job_id}/pause and /resume, DELETE /api/v1/jobs/{job_id}: whether a job fires.
import { JobState, PauseRequest } from '@carillon/contract/job.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isGraphRefusal } from '../../domain/graphs/graph.ts'
import { isActiveJobsRefusal } from '../../domain/jobs/active-jobs.ts'
import {
  type ChangeRefusal,
  deleteJob,
  type JobWrite,
  type JobState as LockedJob,
  pauseJob,
  resumeJob,
} from '../../domain/jobs/job-change.ts'
import type { ChangeTarget } from '../../ports/jobs.ts'
import type { WakeupTopic } from '../../ports/wakeup.ts'
import type { World } from '../../ports/world.ts'
import { refuseActiveJobs } from '../access/tier-limits.ts'
import { refuseGraph } from '../graphs/graph-refusal.ts'
import { ApiError } from '../http/api-error.ts'
import { checkVersion, ifMatchHeader, readIfMatch, tagOf } from '../http/if-match.ts'
import { takeNoBody } from '../http/json-body.ts'
import { aJob, jobDeleted } from '../http/path-id.ts'
import { noFields } from '../http/route.ts'
import { answerWrite, type WriteDeps, writeRoute } from '../http/write.ts'
import { toJobState } from './job-view.ts'
import { calendarsOf } from './named-calendars.ts'
import { readUntil } from './pause-until.ts'

export interface JobStateDeps extends WriteDeps, Pick<World, 'clock'> {}

interface StateChange {
  decide: (job: LockedJob) => JobWrite | ChangeRefusal | null
  /** Absent: its dependencies stay as they are. */
  dependencies?: Pick<ChangeTarget, 'dependsOn'>
  wake?: readonly WakeupTopic[]
}
type JobParams = { job_id: string }

const tag = 'jobs'

export function jobStateRoutes(app: FastifyInstance, deps: JobStateDeps): void {
  app.patch<{ Params: JobParams; Body: PauseRequest }>(
    '/jobs/:job_id/pause',
    writeRoute(tag, 'operate', 'Pause a job', {
      description:
        'The job fires no slots until it is resumed; executions that have already fired continue, and it can still be triggered. If the job is already paused, the reason and the end of the pause are replaced.',
      headers: ifMatchHeader,
      body: PauseRequest,
      answer: JobState,
      options: { preValidation: takeNoBody },
    }),
    async (request, reply) => {
      const { body, caller } = request
      const until = body.until === undefined ? null : readUntil(body.until, deps.clock.databaseNow())
      const pause = { by: caller.name, reason: body.reason ?? null, until }
      return answerChange(deps, request, reply, { decide: (job) => pauseJob(job, pause) })
    },
  )

  app.patch<{ Params: JobParams }>(
    '/jobs/:job_id/resume',
    writeRoute(tag, 'operate', 'Resume a job', {
      description: 'The job fires from its next slot on. Slots during the pause are skipped.',
      headers: ifMatchHeader,
      body: noFields,
      answer: JobState,
      options: { preValidation: takeNoBody },
    }),
    async (request, reply) => {
      const { name: by } = request.caller
      return answerChange(deps, request, reply, { decide: (job) => resumeJob(job, { by, at: null }) })
    },
  )

  app.delete<{ Params: JobParams; Querystring: { cancel_running?: boolean } }>(
    '/jobs/:job_id',
    writeRoute(tag, 'write', 'Delete a job', {
      description:
        'The job starts no further executions: waiting executions are cancelled, running ones continue to their end. Its history is kept, and the job can still be read by its id. Refused while other jobs depend on it.',
      headers: ifMatchHeader,
      query: {
        cancel_running: { type: 'boolean', description: 'true: running executions are cancelled too.' },
      },
      answer: JobState,
    }),
    async (request, reply) => {
      const { name: by } = request.caller
      const { cancel_running: cancelRunning = false } = request.query
      // Also the runs of graphs that it was to run in.
      const wake: WakeupTopic[] = ['changes', 'waiting', ...(cancelRunning ? (['cancels'] as const) : [])]
      return answerChange(deps, request, reply, {
        decide: (job) => deleteJob(job, { by, cancelRunning }),
        // A deleted job has no dependencies.
        dependencies: { dependsOn: [] },
        wake,
      })
    },
  )
}

function answerChange(
  deps: JobStateDeps,
  request: FastifyRequest<{ Params: JobParams }>,
  reply: FastifyReply,
  { decide, dependencies = {}, wake = ['changes'] }: StateChange,
): Promise<FastifyReply> {
  const { tenantId, caller } = request
  const { activeJobsMax } = caller.tier
  const jobId = aJob.read(request.params.job_id)
  const precondition = readIfMatch(request)
  return answerWrite<JobState>(deps, request as FastifyRequest, reply, async ({ jobs, calendars }) => {
    const job = await jobs.change({ tenantId, jobId, activeJobsMax, ...dependencies }, (state) => {
      checkVersion(precondition, state)
      return requireChangeable(decide(state), state)
    })
    if (job === 'not_found' || job === 'key_taken') throw aJob.notFound(jobId)
    if (isActiveJobsRefusal(job)) throw refuseActiveJobs(caller.tier, job)
    if (isGraphRefusal(job)) throw refuseGraph(job)
    return {
      status: 200,
      headers: { etag: tagOf(job.version) },
      body: toJobState(job, {
        calendars: await calendarsOf(calendars, [job]),
        now: deps.clock.databaseNow(),
      }),
      wake,
      cancelled: job.cancelled ?? [],
    }
  })
}

function requireChangeable(decision: JobWrite | ChangeRefusal | null, job: LockedJob): JobWrite | null {
  if (decision === 'deleted') throw jobDeleted(job.jobId)
  if (decision === 'completed') throw new ApiError('JOB_COMPLETED', whyNoSlot(job))
  return decision
}

/** A job that is shown as ACTIVE is not told to be completed. */
function whyNoSlot({ jobId, isUnderWay }: LockedJob): string {
  if (!isUnderWay) return `The job ${jobId} has no slot left.`
  return `The job ${jobId} runs once and its execution is under way, so it can be neither paused nor resumed; cancel the execution to stop it.`
}

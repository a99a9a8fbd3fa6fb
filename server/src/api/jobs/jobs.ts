// POST /api/v1/jobs: create. GET /api/v1/jobs/{job_id}: its definition, its next run and its statistics. GET
// /api/v1/jobs: the list.
import { CreatedJob, JobDetails, JobList, JobListQuery, JobRequest } from '@carillon/contract/job.ts'
import type { FastifyInstance } from 'fastify'
import { toRfc3339 } from '../../lib/time/epoch.ts'
import type { Calendars } from '../../ports/calendars.ts'
import type { Rollups } from '../../ports/rollups.ts'
import type { StorePorts } from '../../ports/store.ts'
import { paginationOf } from '../http/cursor.ts'
import { tagVersion } from '../http/if-match.ts'
import { aJob } from '../http/path-id.ts'
import { route } from '../http/route.ts'
import { jobStatusWords, readQueryWords } from '../http/words.ts'
import { answerWrite, postRoute, type WriteDeps } from '../http/write.ts'
import { type CreateDeps, createJob, executionsOf, keyTaken } from './create-job.ts'
import { spellingsText, takeJob } from './job-body.ts'
import { byAge, byHealth, listOf } from './job-lists.ts'
import { jobRules } from './job-rules.ts'
import { toJobDetails, toListedJob } from './job-view.ts'
import { calendarsOf } from './named-calendars.ts'

export interface JobDeps extends CreateDeps, WriteDeps, Pick<StorePorts, 'jobs' | 'jobHealth'> {
  rollups: Pick<Rollups, 'stats'>
  calendars: Pick<Calendars, 'resolve'>
}

const tag = 'jobs'

export function jobRoutes(app: FastifyInstance, deps: JobDeps): void {
  const { clock, jobs, jobHealth, rollups, calendars } = deps

  app.post<{ Body: JobRequest }>(
    '/jobs',
    postRoute(tag, 'write', 'Create a job', {
      description: `The job runs from its next slot on; with type IMMEDIATE once, now; with \`depends_on\` after the named jobs. ${spellingsText}`,
      body: JobRequest,
      rules: jobRules(deps),
      created: CreatedJob,
      options: takeJob(clock, 'create'),
    }),
    async (request, reply) =>
      answerWrite<CreatedJob>(
        deps,
        request,
        reply,
        async (stores) => {
          const { caller, body, reading } = request
          const created = await createJob(deps, { caller, request: body, reading, stores })
          if (created === 'key_taken') throw keyTaken(body.key)
          return created
        },
        // A job that runs after others changes their graph too, under a lock of the tenant that no other request should
        // wait for; a job that is counted holds the lock of the count.
        (request.body.depends_on ?? []).length > 0 || request.caller.tier.activeJobsMax !== null
          ? { executions: executionsOf(request.body) }
          : { gather: { jobId: null }, executions: executionsOf(request.body) },
      ),
  )

  app.get<{ Querystring: JobListQuery }>(
    '/jobs',
    route(tag, 'read', 'The jobs, newest or failing first', {
      description:
        'All jobs by cursor, or the first 10,000 by page number. Payloads only with `include=payload`; `GET /jobs/{job_id}` always has them. The status is read in any case; `scheduled` is ACTIVE, and `cancelled` is DELETED. The health of a job follows the end of an execution within some 3 seconds; after more than 2,000 ends in a step, within some 8.',
      querystring: JobListQuery,
      answer: JobList,
      options: { preValidation: readQueryWords(JobListQuery, jobStatusWords) },
    }),
    async ({ tenantId, query }): Promise<JobList> => {
      const [{ page, total, list }, asOf] = await Promise.all([
        listOf(query) === 'jobs' ? byAge(deps, tenantId, query) : byHealth(deps, tenantId, query),
        jobHealth.asOf(),
      ])
      const context = { calendars: await calendarsOf(calendars, page.jobs), now: clock.databaseNow() }
      return {
        jobs: page.jobs.map((job) => toListedJob(job, context)),
        health_as_of: toRfc3339(asOf),
        pagination: paginationOf(list, query, { ...total, next: page.next }),
      }
    },
  )

  app.get<{ Params: { job_id: string } }>(
    '/jobs/:job_id',
    route(tag, 'read', 'A job, with its next run and its statistics', { answer: JobDetails }),
    async ({ tenantId, params }, reply): Promise<JobDetails> => {
      const jobId = aJob.read(params.job_id)
      const [job, stats, health] = await Promise.all([
        jobs.get(tenantId, jobId),
        rollups.stats(tenantId, jobId),
        jobHealth.get(tenantId, jobId),
      ])
      if (job === null || stats === null) throw aJob.notFound(jobId)
      tagVersion(reply, job.version)
      const held = await calendarsOf(calendars, [job])
      return toJobDetails(job, { stats, health }, { calendars: held, now: clock.databaseNow() })
    },
  )
}

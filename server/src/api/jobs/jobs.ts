// POST /api/v1/jobs: create. GET /api/v1/jobs/{job_id}: its definition, its next run and its statistics. GET
// /api/v1/jobs: the list.
import { CreatedJob, JobDetails, JobList, JobListQuery, JobRequest } from '@carillon/contract/job.ts'
import type { FastifyInstance } from 'fastify'
import type { Calendars } from '../../ports/calendars.ts'
import type { Rollups } from '../../ports/rollups.ts'
import type { StorePorts } from '../../ports/store.ts'
import { limitOf, offsetOf, paginationOf, readIdCursor } from '../http/cursor.ts'
import { tagVersion } from '../http/if-match.ts'
import { contentOf } from '../http/page-content.ts'
import { aJob } from '../http/path-id.ts'
import { route } from '../http/route.ts'
import { jobStatusWords, readQueryWords } from '../http/words.ts'
import { answerWrite, postRoute, type WriteDeps } from '../http/write.ts'
import { type CreateDeps, createJob, executionsOf, keyTaken } from './create-job.ts'
import { spellingsText, takeJob } from './job-body.ts'
import { toJobFilter } from './job-filter.ts'
import { jobRules } from './job-rules.ts'
import { toJobDetails, toListedJob } from './job-view.ts'
import { calendarsOf } from './named-calendars.ts'

export interface JobDeps extends CreateDeps, WriteDeps, Pick<StorePorts, 'jobs'> {
  rollups: Pick<Rollups, 'stats'>
  calendars: Pick<Calendars, 'resolve'>
}

const tag = 'jobs'

export function jobRoutes(app: FastifyInstance, deps: JobDeps): void {
  const { clock, jobs, rollups, calendars } = deps

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
    route(tag, 'read', 'The jobs, newest first', {
      description:
        'All jobs by cursor, or the first 10,000 by page number. Payloads only with `include=payload`; `GET /jobs/{job_id}` always has them. The status is read in any case; `scheduled` is ACTIVE, and `cancelled` is DELETED.',
      querystring: JobListQuery,
      answer: JobList,
      options: { preValidation: readQueryWords(JobListQuery, jobStatusWords) },
    }),
    async ({ tenantId, query }): Promise<JobList> => {
      const limit = limitOf(query)
      const offset = offsetOf(query)
      const before = readIdCursor('jobs', query)
      const filter = toJobFilter(query)
      const [page, { total, capped }] = await Promise.all([
        jobs.list({ tenantId, filter, before, offset, limit, ...contentOf(query) }),
        jobs.count(tenantId, filter),
      ])
      const context = { calendars: await calendarsOf(calendars, page.jobs), now: clock.databaseNow() }
      return {
        jobs: page.jobs.map((job) => toListedJob(job, context)),
        pagination: paginationOf('jobs', query, { total, capped, next: page.next }),
      }
    },
  )

  app.get<{ Params: { job_id: string } }>(
    '/jobs/:job_id',
    route(tag, 'read', 'A job, with its next run and its statistics', { answer: JobDetails }),
    async ({ tenantId, params }, reply): Promise<JobDetails> => {
      const jobId = aJob.read(params.job_id)
      const [job, stats] = await Promise.all([jobs.get(tenantId, jobId), rollups.stats(tenantId, jobId)])
      if (job === null || stats === null) throw aJob.notFound(jobId)
      tagVersion(reply, job.version)
      const held = await calendarsOf(calendars, [job])
      return toJobDetails(job, stats, { calendars: held, now: clock.databaseNow() })
    },
  )
}

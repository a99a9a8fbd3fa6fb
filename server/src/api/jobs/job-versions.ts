// GET /api/v1/jobs/{job_id}/versions: the job as it was before each change, and the key that made each version.
import { JobVersionList, JobVersionListQuery } from '@carillon/contract/job-version.ts'
import type { FastifyInstance } from 'fastify'
import { toRfc3339OrNull } from '../../lib/time/epoch.ts'
import type { JobVersions } from '../../ports/job-versions.ts'
import { behindLast, limitOf, paginationOf, readInstantCursor } from '../http/cursor.ts'
import { aJob } from '../http/path-id.ts'
import { route } from '../http/route.ts'
import { toDefinition } from './job-view.ts'

export function jobVersionRoutes(app: FastifyInstance, { jobVersions }: { jobVersions: JobVersions }): void {
  app.get<{ Params: { job_id: string }; Querystring: JobVersionListQuery }>(
    '/jobs/:job_id/versions',
    route('jobs', 'read', 'The versions of a job, the latest first', {
      description:
        'Every change of the definition creates a version; a pause does not. `job_version` of an execution is the version that it ran. Values of headers and of the environment are left out, as everywhere.',
      querystring: JobVersionListQuery,
      answer: JobVersionList,
    }),
    async ({ tenantId, params, query }): Promise<JobVersionList> => {
      const jobId = aJob.read(params.job_id)
      const before = readInstantCursor('versions', query)
      const found = await jobVersions.list({ tenantId, jobId, before, limit: limitOf(query) })
      const page = aJob.found(found, jobId)
      const next = behindLast(page, page.versions, (one) => one.job.version)
      return {
        versions: page.versions.map(({ job, createdAt, createdBy }) => ({
          version: job.version,
          created_at: toRfc3339OrNull(createdAt),
          created_by: createdBy,
          job: toDefinition(job),
        })),
        pagination: paginationOf('versions', query, { total: page.total, next }),
      }
    },
  )
}

// GET /api/v1/jobs/{job_id}/versions: the job as it was before each change, and the key that made each version.
import { JobVersionList, JobVersionListQuery } from '@carillon/contract/job-version.ts'
import type { FastifyInstance } from 'fastify'
import { toRfc3339OrNull } from '../../lib/time/epoch.ts'
import type { JobVersions, MadeVersion } from '../../ports/job-versions.ts'
import { behindLast, limitOf, paginationOf, readInstantCursor } from '../http/cursor.ts'
import { contentOf } from '../http/page-content.ts'
import { aJob } from '../http/path-id.ts'
import { rawField } from '../http/raw-json.ts'
import { route } from '../http/route.ts'
import { readQueryWords } from '../http/words.ts'
import { toDefinition } from './job-view.ts'

export function jobVersionRoutes(app: FastifyInstance, { jobVersions }: { jobVersions: JobVersions }): void {
  app.get<{ Params: { job_id: string }; Querystring: JobVersionListQuery }>(
    '/jobs/:job_id/versions',
    route('jobs', 'read', 'The versions of a job, the latest first', {
      description:
        'Every change of the definition creates a version; a pause does not. `job_version` of an execution is the version that it ran. Values of headers and of the environment are left out, as everywhere; payloads too, unless `include=payload` asks for them. A version that no kept execution has run loses its payload and metadata (`pruned_at`) some minutes after the next one was made, and goes after the history retention of the tenant, at the latest when there are 10,000 later ones.',
      querystring: JobVersionListQuery,
      options: { preValidation: readQueryWords(JobVersionListQuery) },
      answer: JobVersionList,
    }),
    async ({ tenantId, params, query }): Promise<JobVersionList> => {
      const jobId = aJob.read(params.job_id)
      const before = readInstantCursor('versions', query)
      const found = await jobVersions.list({
        tenantId,
        jobId,
        before,
        limit: limitOf(query),
        ...contentOf(query),
      })
      const page = aJob.found(found, jobId)
      const next = behindLast(page, page.versions, (one) => one.job.version)
      return {
        versions: page.versions.map(toVersion),
        pagination: paginationOf('versions', query, { total: page.total, next }),
      }
    },
  )
}

function toVersion(made: MadeVersion): JobVersionList['versions'][number] {
  const { job, payload, createdAt, createdBy, prunedAt } = made
  const definition = toDefinition(job)
  return {
    version: job.version,
    created_at: toRfc3339OrNull(createdAt),
    created_by: createdBy,
    pruned_at: toRfc3339OrNull(prunedAt),
    job: { ...definition, execution: { ...definition.execution, ...rawField('payload', payload) } },
  }
}

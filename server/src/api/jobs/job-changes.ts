// PATCH /api/v1/jobs/{job_id}: change any part of a job. The patched job is validated as a whole, by the rules for a
// new job.
import { ChangedJob, JobPatch, JobRequest } from '@carillon/contract/job.ts'
import type { FastifyInstance } from 'fastify'
import { isGraphRefusal } from '../../domain/graphs/graph.ts'
import { isActiveJobsRefusal } from '../../domain/jobs/active-jobs.ts'
import type { World } from '../../ports/world.ts'
import type { TenantQuotas } from '../access/tenant-quotas.ts'
import { refuseActiveJobs } from '../access/tier-limits.ts'
import { refuseGraph } from '../graphs/graph-refusal.ts'
import type { ApiError } from '../http/api-error.ts'
import { checkVersion, ifMatchRequired, readIfMatch, requireIfMatch, tagOf } from '../http/if-match.ts'
import { invalidRequest, joinRefusals } from '../http/invalid-request.ts'
import { parseJsonBody } from '../http/json-body.ts'
import { aJob, jobDeleted } from '../http/path-id.ts'
import { createValidator } from '../http/validators.ts'
import { answerWrite, type WriteDeps, writeRoute } from '../http/write.ts'
import { keyTaken } from './create-job.ts'
import { takeJob } from './job-body.ts'
import { applyPatch } from './job-patch.ts'
import { patchRules } from './job-rules.ts'
import { toJob } from './job-view.ts'
import { warningsOf } from './job-warnings.ts'
import { calendarsNamed, calendarsOf } from './named-calendars.ts'
import { findEditRefusals, planEdit } from './plan-edit.ts'
import { dependenciesOf } from './validate-dependencies.ts'
import type { CheckTarget } from './validate-execution.ts'

export interface JobChangeDeps extends WriteDeps, Pick<World, 'clock'> {
  checkTarget: CheckTarget
  quotas: TenantQuotas
}

const mergePatch = 'application/merge-patch+json'

/** In a scope of its own: no other call takes a merge patch. */
export async function jobChangeRoutes(app: FastifyInstance, deps: JobChangeDeps): Promise<void> {
  const { clock, checkTarget, quotas } = deps
  app.addContentTypeParser<Buffer>(mergePatch, { parseAs: 'buffer' }, parseJsonBody)

  app.patch<{ Params: { job_id: string }; Body: Record<string, unknown> }>(
    '/jobs/:job_id',
    writeRoute('jobs', 'write', 'Change a job', {
      description:
        'Executions that have already fired run the old version; a new schedule applies from now on. A header value of `***` keeps the stored value, as long as the scheme, host and port of `callback_url` stay the same. The response is the job; its version stays the same if nothing changed. Other spellings are read as with `POST /jobs`.',
      headers: ifMatchRequired,
      consumes: ['application/json', mergePatch],
      body: JobPatch,
      answer: ChangedJob,
      rules: patchRules(deps),
      options: takeJob(clock, 'patch', [requireIfMatch]),
    }),
    async (request, reply) => {
      const { tenantId, caller, body: patch } = request
      const { activeJobsMax } = caller.tier
      const jobId = aJob.read(request.params.job_id)
      const precondition = readIfMatch(request)
      const given = patch['depends_on'] as JobRequest['depends_on'] | null
      const dependencies = given === undefined ? {} : { dependsOn: dependenciesOf(given) }
      return answerWrite<ChangedJob>(deps, request, reply, async (stores) => {
        const { jobs, calendars } = stores
        const named = await calendarsNamed(calendars, tenantId, patch['schedule'] as JobRequest['schedule'])
        let key: string | undefined
        const job = await jobs.change({ tenantId, jobId, activeJobsMax, ...dependencies }, (state) => {
          if (state.status === 'DELETED') throw jobDeleted(jobId)
          checkVersion(precondition, state)
          const { name: by, tier } = caller
          const spendStorage = (bytes: number) => quotas.spendStorage(caller, bytes)
          const context = { by, tier, checkTarget, spendStorage, calendars: named }
          const wanted = requireJob(applyPatch(state, patch), (job, isSound) =>
            findEditRefusals(state, job, context, isSound),
          )
          key = wanted.key
          return planEdit(state, wanted, context)
        })
        if (job === 'not_found') throw aJob.notFound(jobId)
        if (job === 'key_taken') throw keyTaken(key)
        if (isActiveJobsRefusal(job)) throw refuseActiveJobs(caller.tier, job)
        if (isGraphRefusal(job)) throw refuseGraph(job, dependencies.dependsOn)
        return {
          status: 200,
          headers: { etag: tagOf(job.version) },
          body: {
            ...toJob(job, { calendars: await calendarsOf(calendars, [job]), now: clock.databaseNow() }),
            ...(await warningsOf(stores, job, { isNew: false })),
          },
          wake: ['changes'],
        }
      })
    },
  )
}

const findErrors = createValidator(JobRequest)

/** By the same schema as POST. `judge`: the refusals by other rules, for fields that the schema does not refuse. */
function requireJob(
  value: unknown,
  judge: (job: JobRequest, isSound: (pointer: string) => boolean) => readonly ApiError[],
): JobRequest {
  const job = value as JobRequest
  const findings = findErrors(value)
  if (findings === null) return job
  throw joinRefusals([invalidRequest(findings), ...judge(job, (pointer) => !findings.isWrong(pointer))])
}

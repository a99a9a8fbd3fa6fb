// POST /api/v1/jobs/{job_id}/trigger: run it now.
import { TriggerReply, TriggerRequest } from '@carillon/contract/job.ts'
import type { FastifyInstance } from 'fastify'
import type { LaneChooser } from '../../domain/lane.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/ids.ts'
import type { TriggerOrder, TriggerOutcome } from '../../ports/jobs.ts'
import { toScheduledTime } from '../execution-shape.ts'
import { takeNoBody } from '../json-body.ts'
import { problemResponses, security } from '../openapi.ts'
import { jobDeleted, jobNotFound, readJobId } from '../path-id.ts'
import { checkPayload, methodOf } from '../tier-limits.ts'
import { answerWrite, inDryRun, type WriteDeps, writeHeaders, writeQuery } from '../write.ts'

export interface TriggerDeps extends WriteDeps {
  clock: Clock
  ids: Ids
  lanes: LaneChooser
}

export function triggerRoutes(app: FastifyInstance, deps: TriggerDeps): void {
  const { clock, ids, lanes } = deps

  app.post<{ Params: { job_id: string }; Body: TriggerRequest }>(
    '/jobs/:job_id/trigger',
    {
      config: { scope: 'operate' },
      preValidation: takeNoBody,
      schema: {
        tags: ['jobs'],
        security,
        summary: 'Run a job now',
        description:
          'Never skipped: behind an execution under way it waits, unless overlap is allowed. What runs after the job follows in a graph run; a job that itself runs after others runs alone.',
        headers: writeHeaders,
        querystring: writeQuery(),
        body: TriggerRequest,
        response: { 200: inDryRun(TriggerReply), 202: TriggerReply, ...problemResponses },
      },
    },
    async (request, reply) => {
      const { tenantId, caller, body } = request
      const jobId = readJobId(request.params)
      return answerWrite<TriggerReply>(
        deps,
        request,
        reply,
        async ({ jobs }) => {
          const executionId = ids.next()
          const lane = lanes.choose(tenantId, clock.monotonicMs())
          const order: TriggerOrder = { tenantId, jobId, executionId, lane }
          if (body.payload_override !== undefined) {
            order.payloadOverride = body.payload_override
            const method = methodOf((await jobs.get(tenantId, jobId))?.execution)
            checkPayload(body.payload_override, { pointer: '/payload_override', method, tier: caller.tier })
          }
          const { enqueuedAt, runId } = requireTriggered(await jobs.trigger(order), jobId)
          return {
            status: 202,
            body: {
              execution_id: executionId,
              job_id: jobId,
              status: 'PENDING',
              scheduled_time: toScheduledTime(enqueuedAt),
              graph_run_id: runId,
            },
            wake: ['queue', 'waiting'],
          }
        },
        { gather: { jobId } },
      )
    },
  )
}

function requireTriggered(outcome: TriggerOutcome, jobId: string) {
  if (outcome.kind === 'not_found') throw jobNotFound(jobId)
  if (outcome.kind === 'deleted') throw jobDeleted(jobId)
  return outcome
}

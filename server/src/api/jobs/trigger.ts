// POST /api/v1/jobs/{job_id}/trigger and /triggers: run it now, once or many times.
import {
  TriggerManyReply,
  TriggerManyRequest,
  TriggerReply,
  TriggerRequest,
} from '@carillon/contract/trigger.ts'
import type { FastifyInstance } from 'fastify'
import { listTriggers, toTriggerBatches, triggersWaitingMax } from '../../domain/queue/trigger-batches.ts'
import type { TriggerManyOutcome, TriggerOrder, TriggerOutcome } from '../../ports/jobs.ts'
import { queueTopics } from '../../ports/wakeup.ts'
import { checkPayload } from '../access/tier-limits.ts'
import { toScheduledTime } from '../executions/execution-view.ts'
import { ApiError } from '../http/api-error.ts'
import { takeNoBody } from '../http/json-body.ts'
import { aJob, jobDeleted } from '../http/path-id.ts'
import { refuseField } from '../http/problem.ts'
import { answerWrite, postRoute, type WriteDeps } from '../http/write.ts'
import type { CreateDeps } from './create-job.ts'
import { triggerNow } from './trigger-now.ts'

export interface TriggerDeps extends CreateDeps, WriteDeps {}

export function triggerRoutes(app: FastifyInstance, deps: TriggerDeps): void {
  const { clock, ids, lanes, quotas } = deps

  app.post<{ Params: { job_id: string }; Body: TriggerRequest }>(
    '/jobs/:job_id/trigger',
    postRoute('jobs', 'operate', 'Run a job now', {
      description:
        'A trigger is never skipped: it waits for earlier executions to end, unless overlap is allowed. Dependents of the job follow in a graph run; a job that has dependencies itself runs alone.',
      body: TriggerRequest,
      accepted: TriggerReply,
      options: { preValidation: takeNoBody },
    }),
    async (request, reply) => {
      const { tenantId, caller, body } = request
      const jobId = aJob.read(request.params.job_id)
      return answerWrite<TriggerReply>(
        deps,
        request,
        reply,
        async (stores) => {
          const executionId = ids.next()
          const lane = lanes.choose(tenantId, clock.monotonicMs())
          const order: TriggerOrder = { tenantId, jobId, executionId, lane }
          if (body.payload_override !== undefined) {
            order.payloadOverride = body.payload_override
            const execution = (await stores.jobs.get(tenantId, jobId))?.execution
            const context = { pointer: '/payload_override', execution, tier: caller.tier }
            const payload = checkPayload(body.payload_override, context)
            quotas.spendStorage(caller, Buffer.byteLength(payload))
          }
          quotas.admitWaiting(caller, 1)
          const outcome = requireTriggered(await triggerNow(stores, order), jobId)
          return {
            status: 202,
            body: {
              execution_id: executionId,
              job_id: jobId,
              status: 'PENDING',
              scheduled_time: toScheduledTime(outcome.enqueuedAt),
              graph_run_id: outcome.runId,
            },
            // Nobody waits for an execution that is in flight already.
            wake: outcome.claimed === null ? [...queueTopics(lane), 'waiting'] : [],
          }
        },
        { gather: { jobId }, executions: 1 },
      )
    },
  )

  app.post<{ Params: { job_id: string }; Body: TriggerManyRequest }>(
    '/jobs/:job_id/triggers',
    postRoute('jobs', 'operate', 'Run a job many times, now', {
      description:
        'Creates all of the executions, or none. Each is an ordinary trigger. If the job allows overlaps and has no limits and no dependents, a thousand triggers cost little more than one.',
      body: TriggerManyRequest,
      accepted: TriggerManyReply,
    }),
    async (request, reply) => {
      const { tenantId, caller, body } = request
      const jobId = aJob.read(request.params.job_id)
      const { payload_overrides: overrides } = body
      const count = readCount(body)
      return answerWrite<TriggerManyReply>(
        deps,
        request,
        reply,
        async ({ jobs }) => {
          const job = overrides === undefined ? null : await jobs.get(tenantId, jobId)
          const execution = job?.execution
          const payloads =
            overrides?.map((one, at) =>
              checkPayload(one, { pointer: `/payload_overrides/${at}`, execution, tier: caller.tier }),
            ) ?? null
          if (payloads !== null) quotas.spendStorage(caller, Buffer.byteLength(payloads.join('')))
          quotas.admitWaiting(caller, count)
          const batches = toTriggerBatches({ count, payloads }, () => ids.nextBatch())
          const lane = lanes.choose(tenantId, clock.monotonicMs(), count)
          const outcome = await jobs.triggerMany({ tenantId, jobId, lane, batches })
          const { enqueuedAt, runIds } = requireTriggered(outcome, jobId)
          return {
            status: 202,
            body: {
              job_id: jobId,
              status: 'PENDING',
              scheduled_time: toScheduledTime(enqueuedAt),
              execution_ids: listTriggers(batches).map(({ executionId }) => executionId),
              graph_run_ids: runIds,
            },
            wake: [...queueTopics(lane), 'waiting'],
          }
        },
        { gather: { jobId, executions: count }, executions: count },
      )
    },
  )
}

/** How many are asked for: in one of two ways. */
function readCount({ payload_overrides: overrides, count }: TriggerManyRequest): number {
  if (overrides !== undefined && count !== undefined)
    throw refuseField('/count', 'cannot be given with /payload_overrides, which says how many')
  if (overrides === undefined && count === undefined)
    throw refuseField('/payload_overrides', 'or /count must be given')
  return overrides?.length ?? count!
}

function requireTriggered<Outcome extends TriggerOutcome | TriggerManyOutcome>(
  outcome: Outcome,
  jobId: string,
): Extract<Outcome, { kind: 'triggered' }> {
  if (outcome.kind === 'not_found') throw aJob.notFound(jobId)
  if (outcome.kind === 'deleted') throw jobDeleted(jobId)
  if (outcome.kind === 'too_many') {
    const most = triggersWaitingMax.toLocaleString('en')
    const detail = `Job ${jobId} would have more than ${most} executions that have not ended.`
    throw new ApiError('TOO_MANY_WAITING', detail, [], { retryAfterSeconds: 1 })
  }
  return outcome as Extract<Outcome, { kind: 'triggered' }>
}

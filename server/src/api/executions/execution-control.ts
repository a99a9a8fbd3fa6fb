// POST /api/v1/executions/{execution_id}/retry: do it again. POST …/cancel: do not do it.
import { CancelReply, RetryReply, RetryRequest } from '@carillon/contract/execution.ts'
import type { FastifyInstance } from 'fastify'
import type { Execution } from '../../domain/jobs/job.ts'
import type { CancelOutcome, RetryOrder, RetryOutcome } from '../../ports/control.ts'
import type { Executions } from '../../ports/executions.ts'
import type { Jobs } from '../../ports/jobs.ts'
import type { WriteStores } from '../../ports/requests.ts'
import { queueTopics } from '../../ports/wakeup.ts'
import { checkPayload } from '../access/tier-limits.ts'
import { ApiError } from '../http/api-error.ts'
import { takeNoBody } from '../http/json-body.ts'
import { anExecution } from '../http/path-id.ts'
import { noFields } from '../http/route.ts'
import { answerWrite, postRoute, type WriteAnswer, type WriteDeps } from '../http/write.ts'
import type { CreateDeps } from '../jobs/create-job.ts'
import { toScheduledTime } from './execution-view.ts'

export interface ExecutionControlDeps extends CreateDeps, WriteDeps {
  jobs: Pick<Jobs, 'get'>
  executions: Pick<Executions, 'getExecution'>
}

const tag = 'executions'

export function executionControlRoutes(app: FastifyInstance, deps: ExecutionControlDeps): void {
  const { clock, ids, lanes, quotas } = deps

  app.post<{ Params: { execution_id: string }; Body: RetryRequest }>(
    '/executions/:execution_id/retry',
    postRoute(tag, 'operate', 'Run an ended execution again', {
      description:
        'Creates a new execution of the current version of the job. If the old execution failed, the new one has the same idempotency key, else a new key. A dead letter of the old execution is removed.',
      body: RetryRequest,
      accepted: RetryReply,
      options: { preValidation: takeNoBody },
    }),
    async (request, reply) => {
      const { tenantId, caller, body } = request
      const executionId = anExecution.read(request.params.execution_id)
      const payload = body.payload_override
      let payloadBytes = 0
      if (payload !== undefined) {
        const execution = await findCall(deps, tenantId, executionId)
        const context = { pointer: '/payload_override', execution, tier: caller.tier }
        payloadBytes = Buffer.byteLength(checkPayload(payload, context))
      }
      const retry = async ({ control }: WriteStores): Promise<WriteAnswer<RetryReply>> => {
        quotas.spendStorage(caller, payloadBytes)
        quotas.admitWaiting(caller, 1)
        const newExecutionId = ids.next()
        const lane = lanes.choose(tenantId, clock.monotonicMs())
        const order: RetryOrder = { tenantId, executionId, newExecutionId, lane }
        if (payload !== undefined) order.payloadOverride = payload
        const { jobId, slot } = requireRetried(await control.retry(order), executionId)
        return {
          status: 202,
          body: {
            execution_id: newExecutionId,
            retry_of: executionId,
            job_id: jobId,
            status: 'PENDING',
            scheduled_time: toScheduledTime(slot),
          },
          wake: [...queueTopics(lane), 'waiting'],
        }
      }
      return answerWrite(deps, request, reply, retry, { executions: 1 })
    },
  )

  app.post<{ Params: { execution_id: string } }>(
    '/executions/:execution_id/cancel',
    postRoute(tag, 'operate', 'Cancel an execution', {
      description:
        'The execution starts no further attempt. A running attempt is stopped: its call is aborted at once, and if it does not stop, it is ended after 30 s. A repeated cancel gets 202 with CANCELLING until it has stopped, then 200 with CANCELLED.',
      body: noFields,
      response: { 200: CancelReply, 202: CancelReply },
      options: { preValidation: takeNoBody },
    }),
    async (request, reply) => {
      const { tenantId, caller } = request
      const executionId = anExecution.read(request.params.execution_id)
      const message = `Cancelled by ${caller.name}.`
      return answerWrite<CancelReply>(deps, request, reply, async ({ control }) => {
        const outcome = requireCancelled(
          await control.cancel({ tenantId, executionId, message }),
          executionId,
        )
        const body = { execution_id: executionId, job_id: outcome.jobId }
        // If it is over, executions that waited behind it may go; otherwise its worker must be notified.
        if (outcome.kind === 'cancelling')
          return { status: 202, body: { ...body, status: 'CANCELLING' }, wake: ['waiting', 'cancels'] }
        const cancelled = outcome.settled === null ? [] : [outcome.settled]
        return { status: 200, body: { ...body, status: 'CANCELLED' }, wake: ['waiting'], cancelled }
      })
    },
  )
}

async function findCall(
  { jobs, executions }: ExecutionControlDeps,
  tenantId: string,
  executionId: string,
): Promise<Execution | undefined> {
  const execution = anExecution.found(await executions.getExecution(tenantId, executionId), executionId)
  return (await jobs.get(tenantId, execution.jobId))?.execution
}

function requireRetried(outcome: RetryOutcome, executionId: string) {
  if (outcome.kind === 'not_found') throw anExecution.notFound(executionId)
  if (outcome.kind === 'job_deleted') {
    throw new ApiError('JOB_DELETED', `The job of the execution ${executionId} is deleted.`)
  }
  if (outcome.kind === 'not_finished') {
    const { status: executionStatus } = outcome
    const detail = `The execution ${executionId} is ${executionStatus}.`
    throw new ApiError('EXECUTION_NOT_FINISHED', detail, [], { executionStatus })
  }
  return outcome
}

function requireCancelled(outcome: CancelOutcome, executionId: string) {
  if (outcome.kind === 'not_found') throw anExecution.notFound(executionId)
  if (outcome.kind === 'finished') {
    const { status: executionStatus } = outcome
    const detail = `The execution ${executionId} is ${executionStatus} already.`
    throw new ApiError('EXECUTION_FINISHED', detail, [], { executionStatus })
  }
  return outcome
}

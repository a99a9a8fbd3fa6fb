// POST /api/v1/executions/{execution_id}/complete, /heartbeat, /logs: reports of a target about the attempt it was
// called for, with the token of that attempt. An execution may be moving from one table to another when it is looked
// up, so the lookup is repeated a few times before the report is refused.
import {
  CompleteReply,
  CompleteRequest,
  HeartbeatReply,
  HeartbeatRequest,
  type LogPartGiven,
  LogsRequest,
} from '@carillon/contract/worker.ts'
import type { FastifyInstance } from 'fastify'
import type { AttemptOfTenant } from '../../domain/queue/attempt-token.ts'
import { type ExecutionStatus, statusOfOutcome } from '../../domain/queue/execution.ts'
import type { Attempts, HeldAttempt } from '../../ports/attempts.ts'
import type { Executions, ExecutionView } from '../../ports/executions.ts'
import type { Logs } from '../../ports/logs.ts'
import { ApiError } from '../http/api-error.ts'
import { takeNoBody } from '../http/json-body.ts'
import { anExecution } from '../http/path-id.ts'
import { route, tokenSecurity } from '../http/route.ts'
import { readBodyWords } from '../http/words.ts'
import { checkCheckpoint, checkEnd, findSaid, toReport } from './attempt-report.ts'
import { type EndDeps, endAttempts } from './end-attempts.ts'
import { toLogPart } from './log-lines.ts'
import { noteRefused } from './rejected-results.ts'

export interface AttemptReportDeps extends EndDeps {
  attempts: Attempts
  executions: Pick<Executions, 'getExecution'>
  logs: Pick<Logs, 'append'>
}

const tag = 'attempts'
const looksMax = 5
/** The answer with which a target accepts a call; without it, the target may not report the end of the attempt. */
const acceptedStatus = 202
/** Its word came too late. */
const lateCodes: readonly string[] = ['ATTEMPT_OVER', 'EXECUTION_FINISHED', 'RESULT_DIFFERS']

export function attemptWordRoutes(app: FastifyInstance, deps: AttemptReportDeps): void {
  const { clock, attempts, logs } = deps

  app.post<{ Body: CompleteRequest }>(
    '/executions/:execution_id/complete',
    route(tag, null, 'Report the result of an attempt', {
      security: tokenSecurity,
      description:
        'For a target that answered 202 with `X-Carillon-Async: true`. Accepted from the moment of the call, even before the 202 has arrived. Repeat the request until it is answered: the same report gets the same response, a different one 409 RESULT_DIFFERS.',
      body: CompleteRequest,
      answer: CompleteReply,
      options: { preValidation: readBodyWords(CompleteRequest) },
    }),
    async ({ attemptOf, body }): Promise<CompleteReply> => {
      checkEnd(body, '')
      try {
        return { execution_id: attemptOf.executionId, status: await complete(deps, attemptOf, body) }
      } catch (error) {
        if (error instanceof ApiError && lateCodes.includes(error.code)) {
          const differs = error.code === 'RESULT_DIFFERS'
          await noteRefused(deps, [{ ...attemptOf, workerId: null, status: body.status, differs }])
        }
        throw error
      }
    },
  )

  app.post<{ Body: HeartbeatRequest }>(
    '/executions/:execution_id/heartbeat',
    route(tag, null, 'Send a heartbeat and the progress of an attempt', {
      security: tokenSecurity,
      description: 'The response says whether to continue.',
      body: HeartbeatRequest,
      answer: HeartbeatReply,
      options: { preValidation: takeNoBody },
    }),
    async ({ attemptOf, body }): Promise<HeartbeatReply> => {
      checkCheckpoint(body.checkpoint, '/checkpoint')
      for (let looks = 0; looks < looksMax; looks++) {
        const held = await findHeld(attempts, attemptOf)
        if (held === null) {
          await refuseIfOver(deps, attemptOf)
          continue
        }
        const [answer] = await attempts.update([{ ...markOf(held), alive: true, ...body }])
        if (answer === undefined || answer.status === 'gone') continue
        const checkpoint = body.checkpoint === undefined ? held.checkpoint : body.checkpoint
        return {
          execution_id: held.executionId,
          status: answer.status === 'cancelled' ? 'CANCELLING' : 'RUNNING',
          ...(checkpoint === undefined ? {} : { checkpoint }),
        }
      }
      throw attemptOver(attemptOf)
    },
  )

  app.post<{ Body: LogPartGiven }>(
    '/executions/:execution_id/logs',
    route(tag, null, 'Add lines to the log of an attempt', {
      security: tokenSecurity,
      description:
        'Until the attempt is completed. The request may be repeated: an existing line is not written again.',
      body: LogsRequest,
      response: { 204: { type: 'null', description: 'They are kept.' } },
      options: { preValidation: readBodyWords(LogsRequest) },
    }),
    async ({ attemptOf, body }, reply) => {
      const { tenantId, executionId, attempt } = attemptOf
      const of = { tenantId, executionId, attempt }
      const part = toLogPart(body, of, { now: clock.databaseNow(), place: '' })
      for (let looks = 0; looks < looksMax; looks++) {
        if ((await findHeld(attempts, attemptOf)) !== null) {
          await logs.append([part])
          return reply.code(204).send()
        }
        await refuseIfOver(deps, attemptOf)
      }
      throw attemptOver(attemptOf)
    },
  )
}

async function complete(
  deps: AttemptReportDeps,
  attemptOf: AttemptOfTenant,
  body: CompleteRequest,
): Promise<ExecutionStatus> {
  for (let looks = 0; looks < looksMax; looks++) {
    const held = await findHeld(deps.attempts, attemptOf)
    const status = held === null ? await statusSaid(deps, attemptOf, body) : await end(deps, held, body)
    if (status !== null) return status
  }
  throw attemptOver(attemptOf)
}

/** Null: this attempt is not under way, or is just moving. Refused: it is, under a later claim than the token's. */
async function findHeld(
  attempts: Pick<Attempts, 'find'>,
  attemptOf: AttemptOfTenant,
): Promise<HeldAttempt | null> {
  const { tenantId, executionId, attempt, fence } = attemptOf
  const [held] = await attempts.find([executionId])
  if (held?.attempt !== attempt || held.tenantId !== tenantId) return null
  if (held.fence !== fence) throw attemptOver(attemptOf)
  return held
}

function markOf({ executionId, jobId, attempt, fence }: HeldAttempt) {
  return { executionId, jobId, attempt, fence, workerId: null }
}

/** Null: it was moved or ended by somebody else just now. */
async function end(
  deps: AttemptReportDeps,
  held: HeldAttempt,
  body: CompleteRequest,
): Promise<ExecutionStatus | null> {
  const now = deps.clock.databaseNow()
  const times = { now, durationMs: null, startedAt: held.startedAt }
  const word = toReport(body, { ...times, httpStatus: acceptedStatus })
  const { refused, cancelled, ends } = await endAttempts(deps, [{ held, workerId: null, word }])
  if (refused.length > 0) return null
  if (cancelled.length > 0) return 'CANCELLED'
  const { retryAt, outcome } = ends.get(held.executionId)!
  return retryAt === null ? statusOfOutcome(outcome) : 'RETRYING'
}

/** The status of the execution when this was said before; null: nothing is known of the attempt yet. */
async function statusSaid(
  deps: AttemptReportDeps,
  attemptOf: AttemptOfTenant,
  body: CompleteRequest,
): Promise<ExecutionStatus | null> {
  const execution = await findExecution(deps, attemptOf)
  const said = findSaid(execution, { ...body, attempt: attemptOf.attempt })
  if (said?.isSame === false) throw resultDiffers(attemptOf, execution)
  if (said !== null) return execution.status
  refuseEnded(execution, attemptOf)
  return null
}

async function refuseIfOver(deps: AttemptReportDeps, attemptOf: AttemptOfTenant): Promise<void> {
  refuseEnded(await findExecution(deps, attemptOf), attemptOf)
}

async function findExecution(
  { executions }: AttemptReportDeps,
  { tenantId, executionId }: AttemptOfTenant,
): Promise<ExecutionView> {
  return anExecution.found(await executions.getExecution(tenantId, executionId), executionId)
}

const ended: readonly ExecutionStatus[] = ['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED', 'SKIPPED']

/** Returns when the attempt may still be under way. */
function refuseEnded({ status, attempt, attempts }: ExecutionView, attemptOf: AttemptOfTenant): void {
  const { executionId } = attemptOf
  if (ended.includes(status) && attempt === attemptOf.attempt) {
    const detail = `The execution ${executionId} is ${status} already.`
    throw new ApiError('EXECUTION_FINISHED', detail, [], { executionStatus: status })
  }
  const isRecorded = attempts.some((one) => one.attempt === attemptOf.attempt)
  if (isRecorded || attempt > attemptOf.attempt || ended.includes(status)) throw attemptOver(attemptOf)
}

function resultDiffers({ executionId, attempt }: AttemptOfTenant, { status }: ExecutionView): ApiError {
  const detail = `Attempt ${attempt} of the execution ${executionId} has another result or error on record.`
  return new ApiError('RESULT_DIFFERS', detail, [], { executionStatus: status })
}

function attemptOver({ executionId, attempt }: AttemptOfTenant): ApiError {
  return new ApiError('ATTEMPT_OVER', `Attempt ${attempt} of the execution ${executionId} is over.`)
}

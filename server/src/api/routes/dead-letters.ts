// /api/v1/dead-letters: executions that used up their retries. Look at them, redrive them, discard them.
import {
  DeadLetter,
  DeadLetterList,
  DeadLetterListQuery,
  RedriveReply,
  RedriveRequest,
} from '@carillon/contract/dead-letter.ts'
import type { FastifyInstance } from 'fastify'
import type { LaneChooser } from '../../domain/lane.ts'
import type { Clock } from '../../ports/clock.ts'
import type { DeadLetters } from '../../ports/dead-letters.ts'
import type { Ids } from '../../ports/ids.ts'
import type { Wakeup } from '../../ports/wakeup.ts'
import { ApiError } from '../api-error.ts'
import { limitOf, paginationOf, readIdCursor, writeCursor } from '../cursor.ts'
import { toDeadLetter } from '../execution-shape.ts'
import { refuseRedriveOptions, refuseWriteOptions } from '../not-supported.ts'
import { noParameters, problemResponses } from '../openapi.ts'
import { readId } from '../path-id.ts'

export interface DeadLetterDeps {
  clock: Clock
  ids: Ids
  deadLetters: DeadLetters
  wakeup: Wakeup
  lanes: LaneChooser
}

const tags = ['dead letters']
const security = [{ bearer: [] }]

export function deadLetterRoutes(app: FastifyInstance, deps: DeadLetterDeps): void {
  const { clock, ids, deadLetters, wakeup, lanes } = deps

  app.get<{ Querystring: DeadLetterListQuery }>(
    '/dead-letters',
    {
      schema: {
        tags,
        security,
        summary: 'The dead letters, newest execution first',
        querystring: DeadLetterListQuery,
        response: { 200: DeadLetterList, ...problemResponses },
      },
    },
    async ({ tenantId, query }): Promise<DeadLetterList> => {
      const limit = limitOf(query)
      const before = readIdCursor('dead_letters', query)
      const jobId = query.job_id?.toLowerCase() ?? null
      const page = await deadLetters.list({ tenantId, jobId, before, limit })
      const last = page.deadLetters.at(-1)
      const nextCursor =
        page.more && last !== undefined ? writeCursor('dead_letters', last.executionId) : null
      return {
        dead_letters: page.deadLetters.map(toDeadLetter),
        pagination: paginationOf({ limit, total: page.total, nextCursor }),
      }
    },
  )

  app.get<{ Params: { execution_id: string } }>(
    '/dead-letters/:execution_id',
    {
      schema: {
        tags,
        security,
        summary: 'One dead letter',
        response: { 200: DeadLetter, ...problemResponses },
      },
    },
    async ({ tenantId, params }): Promise<DeadLetter> => {
      const executionId = readId(params.execution_id)
      const letter = executionId === null ? null : await deadLetters.get(tenantId, executionId)
      if (letter === null) throw notFound(params.execution_id)
      return toDeadLetter(letter)
    },
  )

  app.delete<{ Params: { execution_id: string } }>(
    '/dead-letters/:execution_id',
    {
      preValidation: refuseWriteOptions,
      schema: {
        tags,
        security,
        summary: 'Discard a dead letter',
        description: 'The execution stays in the history.',
        querystring: noParameters,
        response: { 204: { type: 'null', description: 'It is gone.' }, ...problemResponses },
      },
    },
    async ({ tenantId, params }, reply) => {
      const executionId = readId(params.execution_id)
      const outcome = executionId === null ? 'not_found' : await deadLetters.discard(tenantId, executionId)
      if (outcome === 'not_found') throw notFound(params.execution_id)
      return reply.code(204).send()
    },
  )

  app.post<{ Body: RedriveRequest }>(
    '/dead-letters/redrive',
    {
      preValidation: [refuseWriteOptions, refuseRedriveOptions],
      schema: {
        tags,
        security,
        summary: 'Run dead letters again',
        description: 'Each becomes a new execution with the idempotency key of the one that it repeats.',
        querystring: noParameters,
        body: RedriveRequest,
        response: { 202: RedriveReply, ...problemResponses },
      },
    },
    async ({ tenantId, body }, reply): Promise<RedriveReply> => {
      const given = [...new Set(body.execution_ids.map((id) => id.toLowerCase()))]
      const letters = given.map((executionId) => ({
        executionId,
        newExecutionId: ids.next(),
        lane: lanes.choose(tenantId, clock.monotonicMs()),
      }))
      const redriven = await deadLetters.redrive({ tenantId, letters })
      if (redriven.length > 0) {
        wakeup.send('waiting')
        wakeup.send('queue')
      }
      const found = new Set(redriven.map(({ executionId }) => executionId))
      reply.code(202)
      return {
        redriven: redriven.map(({ executionId, newExecutionId }) => ({
          execution_id: executionId,
          new_execution_id: newExecutionId,
        })),
        not_found: given.filter((id) => !found.has(id)),
      }
    },
  )
}

function notFound(given: string): ApiError {
  return new ApiError('DEAD_LETTER_NOT_FOUND', `There is no dead letter ${given.slice(0, 64)}.`)
}

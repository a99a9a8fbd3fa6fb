// /api/v1/dead-letters: executions that used up their retries. Look at them, correct them, discard them.
import {
  DeadLetter,
  DeadLetterList,
  DeadLetterListQuery,
  DeadLetterPatch,
} from '@carillon/contract/dead-letter.ts'
import type { FastifyInstance } from 'fastify'
import { toRfc3339 } from '../../lib/time/epoch.ts'
import type { DeadLetters } from '../../ports/dead-letters.ts'
import { checkPayload, requireDeadLetters } from '../access/tier-limits.ts'
import { noParameters, problemResponses, security } from '../docs/openapi.ts'
import { ApiError } from '../http/api-error.ts'
import { cursorBehind, limitOf, paginationOf, readIdCursor } from '../http/cursor.ts'
import { readId } from '../http/path-id.ts'
import { answerWrite, emptyInDryRun, type WriteDeps, writeQuery } from '../http/write.ts'
import { toLetterFilter } from '../jobs/job-filter.ts'
import { toDeadLetter } from './execution-view.ts'

export interface DeadLetterDeps extends WriteDeps {
  deadLetters: DeadLetters
}

const tags = ['dead letters']
type LetterParams = { execution_id: string }

export function deadLetterRoutes(app: FastifyInstance, deps: DeadLetterDeps): void {
  const { deadLetters } = deps

  app.get<{ Querystring: DeadLetterListQuery }>(
    '/dead-letters',
    {
      config: { scope: 'read' },
      preHandler: requireDeadLetters,
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
      const page = await deadLetters.list({ tenantId, filter: toLetterFilter(query), before, limit })
      const nextCursor = cursorBehind('dead_letters', page.more, page.deadLetters.at(-1)?.executionId)
      return {
        dead_letters: page.deadLetters.map(toDeadLetter),
        oldest_at: page.oldestAt === null ? null : toRfc3339(page.oldestAt),
        pagination: paginationOf({ limit, total: page.total, nextCursor }),
      }
    },
  )

  app.get<{ Params: LetterParams }>(
    '/dead-letters/:execution_id',
    {
      config: { scope: 'read' },
      preHandler: requireDeadLetters,
      schema: {
        tags,
        security,
        summary: 'One dead letter',
        querystring: noParameters,
        response: { 200: DeadLetter, ...problemResponses },
      },
    },
    async ({ tenantId, params }): Promise<DeadLetter> => {
      const executionId = readLetterId(params)
      const letter = await deadLetters.get(tenantId, executionId)
      if (letter === null) throw notFound(executionId)
      return toDeadLetter(letter)
    },
  )

  app.patch<{ Params: LetterParams; Body: DeadLetterPatch }>(
    '/dead-letters/:execution_id',
    {
      config: { scope: 'operate' },
      preHandler: requireDeadLetters,
      schema: {
        tags,
        security,
        summary: 'Correct the payload of a dead letter',
        description: 'It is what the letter is called with when it is redriven or retried.',
        querystring: writeQuery(),
        body: DeadLetterPatch,
        response: { 200: DeadLetter, ...problemResponses },
      },
    },
    async (request, reply) => {
      const { tenantId, caller, body } = request
      const executionId = readLetterId(request.params)
      return answerWrite<DeadLetter>(deps, request, reply, async (stores) => {
        const letter = await stores.deadLetters.get(tenantId, executionId)
        if (letter === null) throw notFound(executionId)
        const job = await stores.jobs.get(tenantId, letter.jobId)
        const context = { pointer: '/payload', execution: job?.execution, tier: caller.tier }
        checkPayload(body.payload, context)
        const edited = await stores.deadLetters.edit(tenantId, executionId, body.payload)
        if (edited === null) throw notFound(executionId)
        return { status: 200, body: toDeadLetter(edited) }
      })
    },
  )

  app.delete<{ Params: LetterParams }>(
    '/dead-letters/:execution_id',
    {
      config: { scope: 'operate' },
      preHandler: requireDeadLetters,
      schema: {
        tags,
        security,
        summary: 'Discard a dead letter',
        description: 'The execution stays in the history.',
        querystring: writeQuery(),
        response: {
          200: emptyInDryRun,
          204: { type: 'null', description: 'It is gone.' },
          ...problemResponses,
        },
      },
    },
    async (request, reply) => {
      const executionId = readLetterId(request.params)
      return answerWrite<null>(deps, request, reply, async (stores) => {
        const outcome = await stores.deadLetters.discard(request.tenantId, executionId)
        if (outcome === 'not_found') throw notFound(executionId)
        return { status: 204, body: null }
      })
    },
  )
}

function readLetterId({ execution_id: given }: LetterParams): string {
  const executionId = readId(given)
  if (executionId === null) throw notFound(given)
  return executionId
}

function notFound(given: string): ApiError {
  return new ApiError('DEAD_LETTER_NOT_FOUND', `There is no dead letter ${given.slice(0, 64)}.`)
}

// /api/v1/dead-letters: executions that used up their retries. Look at them, correct them, discard them.
import {
  DeadLetter,
  DeadLetterList,
  DeadLetterListQuery,
  DeadLetterPatch,
} from '@carillon/contract/dead-letter.ts'
import type { FastifyInstance } from 'fastify'
import { toRfc3339OrNull } from '../../lib/time/epoch.ts'
import type { StorePorts } from '../../ports/store.ts'
import { checkPayload, requireDeadLetters } from '../access/tier-limits.ts'
import { behindLast, limitOf, paginationOf, readIdCursor } from '../http/cursor.ts'
import { contentOf } from '../http/page-content.ts'
import { named } from '../http/path-id.ts'
import { route } from '../http/route.ts'
import { readQueryWords } from '../http/words.ts'
import { answerWrite, type WriteDeps, writeRoute } from '../http/write.ts'
import { toLetterFilter } from '../jobs/job-filter.ts'
import { toDeadLetter } from './execution-view.ts'

export interface DeadLetterDeps extends WriteDeps, Pick<StorePorts, 'deadLetters'> {}

const tag = 'dead letters'
const aLetter = named('DEAD_LETTER_NOT_FOUND', 'dead letter')
type LetterParams = { execution_id: string }

export function deadLetterRoutes(app: FastifyInstance, deps: DeadLetterDeps): void {
  const { deadLetters } = deps

  app.get<{ Querystring: DeadLetterListQuery }>(
    '/dead-letters',
    route(tag, 'read', 'The dead letters, newest execution first', {
      description:
        'Payloads only with `include=payload`; `GET /dead-letters/{execution_id}` always has them.',
      querystring: DeadLetterListQuery,
      answer: DeadLetterList,
      options: { preValidation: readQueryWords(DeadLetterListQuery), preHandler: requireDeadLetters },
    }),
    async ({ tenantId, query }): Promise<DeadLetterList> => {
      const before = readIdCursor('dead_letters', query)
      const filter = toLetterFilter(query)
      const page = await deadLetters.list({
        ...{ tenantId, filter, before, limit: limitOf(query) },
        ...contentOf(query),
      })
      const next = behindLast(page, page.deadLetters, (one) => one.executionId)
      return {
        dead_letters: page.deadLetters.map(toDeadLetter),
        oldest_at: toRfc3339OrNull(page.oldestAt),
        pagination: paginationOf('dead_letters', query, { total: page.total, next }),
      }
    },
  )

  app.get<{ Params: LetterParams }>(
    '/dead-letters/:execution_id',
    route(tag, 'read', 'One dead letter', {
      answer: DeadLetter,
      options: { preHandler: requireDeadLetters },
    }),
    async ({ tenantId, params }): Promise<DeadLetter> => {
      const executionId = aLetter.read(params.execution_id)
      return toDeadLetter(aLetter.found(await deadLetters.get(tenantId, executionId), executionId))
    },
  )

  app.patch<{ Params: LetterParams; Body: DeadLetterPatch }>(
    '/dead-letters/:execution_id',
    writeRoute(tag, 'operate', 'Correct the payload of a dead letter', {
      description: 'A redrive or retry sends this payload.',
      body: DeadLetterPatch,
      answer: DeadLetter,
      options: { preHandler: requireDeadLetters },
    }),
    async (request, reply) => {
      const { tenantId, caller, body } = request
      const executionId = aLetter.read(request.params.execution_id)
      return answerWrite<DeadLetter>(deps, request, reply, async (stores) => {
        const letter = aLetter.found(await stores.deadLetters.get(tenantId, executionId), executionId)
        const job = await stores.jobs.get(tenantId, letter.jobId)
        const context = { pointer: '/payload', execution: job?.execution, tier: caller.tier }
        checkPayload(body.payload, context)
        const edited = await stores.deadLetters.edit(tenantId, executionId, body.payload)
        return { status: 200, body: toDeadLetter(aLetter.found(edited, executionId)) }
      })
    },
  )

  app.delete<{ Params: LetterParams }>(
    '/dead-letters/:execution_id',
    writeRoute(tag, 'operate', 'Discard a dead letter', {
      description: 'The execution is kept in the history.',
      gone: 'It is gone.',
      options: { preHandler: requireDeadLetters },
    }),
    async (request, reply) => {
      const executionId = aLetter.read(request.params.execution_id)
      return answerWrite<null>(deps, request, reply, async (stores) => {
        const outcome = await stores.deadLetters.discard(request.tenantId, executionId)
        if (outcome === 'not_found') throw aLetter.notFound(executionId)
        return { status: 204, body: null }
      })
    },
  )
}

// POST /api/v1/dead-letters/redrive: run dead letters again, these at once or all that match at a rate.
import { RedriveReply, RedriveRequest, redriveRateDefault } from '@carillon/contract/dead-letter.ts'
import { Operation } from '@carillon/contract/operation.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { LetterFilter, NewOperation } from '../../domain/jobs/operation.ts'
import { totalMax } from '../../ports/executions.ts'
import { leanPage } from '../../ports/pages.ts'
import type { WriteStores } from '../../ports/requests.ts'
import type { Caller } from '../access/auth.ts'
import { requireDeadLetters } from '../access/tier-limits.ts'
import { refuseRequest } from '../http/invalid-request.ts'
import { refuseField } from '../http/problem.ts'
import { readBodyWords } from '../http/words.ts'
import { answerWrite, postRoute, type WriteAnswer, type WriteDeps } from '../http/write.ts'
import type { CreateDeps } from '../jobs/create-job.ts'
import { toLetterFilter } from '../jobs/job-filter.ts'
import { startOperation } from '../jobs/operation-view.ts'

export interface RedriveDeps extends CreateDeps, WriteDeps {}

const reply = {
  anyOf: [RedriveReply, Operation],
  description: 'By ids: the outcome for each id. By filter: the operation.',
}

export function redriveRoutes(app: FastifyInstance, deps: RedriveDeps): void {
  app.post<{ Body: RedriveRequest }>(
    '/dead-letters/redrive',
    postRoute('dead letters', 'operate', 'Run dead letters again', {
      description: 'Each dead letter becomes a new execution with the idempotency key of the old one.',
      body: RedriveRequest,
      accepted: reply,
      options: { preValidation: [readBodyWords(RedriveRequest), checkForm], preHandler: requireDeadLetters },
    }),
    async (request, answer) => {
      const { caller, body } = request
      const { execution_ids: ids, filter: given, rate_per_second: ratePerSecond = redriveRateDefault } = body
      if (ids !== undefined) {
        const redrive = (stores: WriteStores) => redriveThese(deps, { caller, ids, stores })
        return answerWrite(deps, request, answer, redrive, { executions: new Set(ids).size })
      }
      const filter = toLetterFilter(given ?? {}, '/filter/')
      return answerWrite(deps, request, answer, (stores) =>
        redriveAll(deps, { caller, filter, ratePerSecond, stores }),
      )
    },
  )
}

/** Before validation, which could only say that something is missing; its errors are told too. */
async function checkForm(request: FastifyRequest): Promise<void> {
  const { body } = request
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return
  const has = (name: keyof RedriveRequest) => Object.hasOwn(body, name)
  if (has('execution_ids') && has('filter'))
    throw refuseRequest(request, refuseField('/filter', 'cannot be given with execution_ids'))
  if (!has('execution_ids') && !has('filter'))
    throw refuseRequest(request, refuseField('/execution_ids', 'or filter is required'))
  if (has('rate_per_second') && !has('filter'))
    throw refuseRequest(request, refuseField('/rate_per_second', 'is only for a filter'))
}

interface TheseOrder {
  caller: Caller
  ids: readonly string[]
  stores: WriteStores
}

async function redriveThese(
  { clock, ids, lanes, quotas }: RedriveDeps,
  { caller, ids: given, stores }: TheseOrder,
): Promise<WriteAnswer<RedriveReply>> {
  const { tenantId } = caller
  const wanted = [...new Set(given.map((id) => id.toLowerCase()))]
  const letters = wanted.map((executionId) => ({
    executionId,
    newExecutionId: ids.next(),
    lane: lanes.choose(tenantId, clock.monotonicMs()),
  }))
  quotas.admitWaiting(caller, wanted.length)
  const { redriven, jobDeleted } = await stores.deadLetters.redrive({ tenantId, letters })
  const found = new Set([...redriven.map(({ executionId }) => executionId), ...jobDeleted])
  return {
    status: 202,
    body: {
      redriven: redriven.map(({ executionId, newExecutionId }) => ({
        execution_id: executionId,
        new_execution_id: newExecutionId,
      })),
      not_found: wanted.filter((id) => !found.has(id)),
      job_deleted: jobDeleted,
    },
    executions: redriven.length,
    wake: redriven.length === 0 ? [] : ['waiting', 'queue'],
  }
}

interface AllOrder {
  caller: Caller
  filter: LetterFilter
  ratePerSecond: number
  stores: WriteStores
}

async function redriveAll({ clock, ids }: RedriveDeps, { caller, filter, ratePerSecond, stores }: AllOrder) {
  const { tenantId, name: createdBy } = caller
  const { total } = await stores.deadLetters.list({ tenantId, filter, before: null, limit: 1, ...leanPage })
  const operation: NewOperation = {
    operationId: ids.next(),
    tenantId,
    kind: 'redrive',
    filter,
    options: { ratePerSecond },
    createdBy,
    createdAt: clock.databaseNow(),
    total: Math.min(total, totalMax),
    totalCapped: total > totalMax,
  }
  return startOperation(stores.operations, operation)
}

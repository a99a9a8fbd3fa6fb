// GET /api/v1/jobs/{job_id}/executions: the history of a job. GET /api/v1/executions/{execution_id}: one execution
// with its attempts.
import { Execution, ExecutionList, ExecutionListQuery } from '@carillon/contract/execution.ts'
import type { FastifyInstance } from 'fastify'
import { type EpochMs, epochMs } from '../../lib/epoch.ts'
import type { Clock } from '../../ports/clock.ts'
import { type History, totalMax } from '../../ports/history.ts'
import type { Jobs } from '../../ports/jobs.ts'
import { ApiError } from '../api-error.ts'
import { limitOf, paginationOf, readIdCursor, readInstantCursor, writeCursor } from '../cursor.ts'
import { readDateRange } from '../date-range.ts'
import { toExecution, toExecutionItem } from '../execution-shape.ts'
import { scheduleOf } from '../job-shape.ts'
import { problemResponses } from '../openapi.ts'
import { jobNotFound, readId } from '../path-id.ts'
import { countSkipped, listSlots, toSkippedSlot } from '../skipped-slots.ts'

export interface ExecutionDeps {
  clock: Clock
  jobs: Jobs
  history: History
}

/** A query of one job, whose id is known to be one. */
interface JobQuery {
  tenantId: string
  jobId: string
  query: ExecutionListQuery
}

const tags = ['executions']
const security = [{ bearer: [] }]
/** How far back skipped slots are listed when no start is given. */
const skipsMsDefault = 30 * 86_400_000

export function executionRoutes(app: FastifyInstance, deps: ExecutionDeps): void {
  app.get<{ Params: { job_id: string }; Querystring: ExecutionListQuery }>(
    '/jobs/:job_id/executions',
    {
      schema: {
        tags,
        security,
        summary: 'The executions of a job, newest first',
        description:
          'With `status=SKIPPED` the slots that have no execution, with the reason; without dates those of the last 30 days.',
        querystring: ExecutionListQuery,
        response: { 200: ExecutionList, ...problemResponses },
      },
    },
    async ({ tenantId, params, query }): Promise<ExecutionList> => {
      const jobId = readId(params.job_id)
      if (jobId === null) throw jobNotFound(params.job_id)
      const list = query.status === 'SKIPPED' ? listSkipped : listExecutions
      const page = await list(deps, { tenantId, jobId, query })
      if (page === null) throw jobNotFound(jobId)
      return page
    },
  )

  app.get<{ Params: { execution_id: string } }>(
    '/executions/:execution_id',
    {
      schema: {
        tags,
        security,
        summary: 'One execution with its attempts',
        response: { 200: Execution, ...problemResponses },
      },
    },
    async ({ tenantId, params }): Promise<Execution> => {
      const executionId = readId(params.execution_id)
      const found = executionId === null ? null : await deps.history.getExecution(tenantId, executionId)
      if (found === null) {
        const given = params.execution_id.slice(0, 64)
        throw new ApiError('EXECUTION_NOT_FOUND', `There is no execution ${given}.`)
      }
      return toExecution(found)
    },
  )
}

async function listExecutions(
  { history }: ExecutionDeps,
  { tenantId, jobId, query }: JobQuery,
): Promise<ExecutionList | null> {
  const { from, to } = readDateRange(query)
  const limit = limitOf(query)
  const before = readIdCursor('executions', query)
  const status = query.status ?? null
  const page = await history.listExecutions({ tenantId, jobId, status, from, to, before, limit })
  if (page === null) return null
  const last = page.executions.at(-1)
  const nextCursor = page.more && last !== undefined ? writeCursor('executions', last.executionId) : null
  return {
    executions: page.executions.map(toExecutionItem),
    pagination: paginationOf({ limit, total: page.total, nextCursor }),
  }
}

async function listSkipped(
  { clock, jobs, history }: ExecutionDeps,
  { tenantId, jobId, query }: JobQuery,
): Promise<ExecutionList | null> {
  const range = readDateRange(query)
  const limit = limitOf(query)
  const before = readInstantCursor('skips', query)
  const to = range.to === null ? clock.databaseNow() : epochMs(range.to - 1)
  const window = { from: range.from ?? epochMs(to - skipsMsDefault), to }
  const rest = { ...window, to: before === null ? to : (Math.min(to, before - 1) as EpochMs) }
  const key = { tenantId, jobId }
  const [job, all, ranges] = await Promise.all([
    jobs.get(tenantId, jobId),
    history.listSkips({ ...key, ...window, limit: totalMax + 1 }),
    // One slot and more for each slot of the page, and two that only reach over an end of the window.
    history.listSkips({ ...key, ...rest, limit: limit + 3 }),
  ])
  if (job === null || all === null || ranges === null) return null
  const schedule = scheduleOf(job)
  if (schedule === null)
    return { executions: [], pagination: paginationOf({ limit, total: 0, nextCursor: null }) }
  const { slots, more } = listSlots(schedule, ranges, { window: rest, limit })
  const nextCursor = more ? writeCursor('skips', slots.at(-1)!.at) : null
  return {
    executions: slots.map(toSkippedSlot),
    pagination: paginationOf({ limit, total: countSkipped(schedule, all, window), nextCursor }),
  }
}

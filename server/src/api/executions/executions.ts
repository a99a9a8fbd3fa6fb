// GET /api/v1/jobs/{job_id}/executions: the history of a job. GET /api/v1/executions: that of all jobs, searched.
// GET /api/v1/executions/{execution_id}: one execution with its attempts.
import {
  Execution,
  ExecutionList,
  ExecutionListQuery,
  ExecutionSearch,
  ExecutionSearchQuery,
} from '@carillon/contract/execution.ts'
import type { Pagination } from '@carillon/contract/pagination.ts'
import type { FastifyInstance } from 'fastify'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'
import type { Clock } from '../../ports/clock.ts'
import { type ExecutionPage, type ExecutionQuery, type Executions, totalMax } from '../../ports/executions.ts'
import type { GraphRuns } from '../../ports/graph-runs.ts'
import type { Jobs } from '../../ports/jobs.ts'
import type { Secrets } from '../../ports/secrets.ts'
import type { SlotLedger } from '../../ports/slot-ledger.ts'
import { limitOf, paginationOf, readIdCursor, readInstantCursor } from '../http/cursor.ts'
import { readDateRange } from '../http/date-range.ts'
import { aJob, anExecution } from '../http/path-id.ts'
import { refuseField } from '../http/problem.ts'
import { route } from '../http/route.ts'
import { type SealedIds, sealIdsWith } from '../http/sealed-id.ts'
import { executionStatusWords, readQueryWords } from '../http/words.ts'
import { countSkipped, listSlots, SkipSchedules, toSkippedSlot } from '../insights/skipped-slots.ts'
import { toExecution, toExecutionItem, toFoundExecution } from './execution-view.ts'

export interface ExecutionDeps {
  clock: Clock
  executions: Pick<Executions, 'listExecutions' | 'getExecution'>
  slotLedger: Pick<SlotLedger, 'listSkips'>
  jobs: Pick<Jobs, 'get'>
  graphRuns: Pick<GraphRuns, 'parentsOf'>
  secrets: Pick<Secrets, 'tokenKey'>
}

interface SealingDeps extends ExecutionDeps {
  sealedIds: () => Promise<SealedIds>
}

/** A query about a single job, with an id that is known to be valid. */
interface JobQuery {
  tenantId: string
  jobId: string
  query: ExecutionListQuery
}

const tag = 'executions'
/** How far back skipped slots are listed when no start is given. */
const skipsMsDefault = 30 * dayMs
const nothingFound = { total: 0, capped: false, next: null }

export function executionRoutes(app: FastifyInstance, routeDeps: ExecutionDeps): void {
  const deps = { ...routeDeps, sealedIds: sealIdsWith(routeDeps.secrets) }
  const { executions, graphRuns, sealedIds } = deps

  app.get<{ Params: { job_id: string }; Querystring: ExecutionListQuery }>(
    '/jobs/:job_id/executions',
    route(tag, 'read', 'The executions of a job, newest first', {
      description:
        'With `status=SKIPPED`: the slots without an execution, with the reason; without dates, the slots of the last 30 days. A job with dependencies has no slots: its skipped executions are listed.',
      querystring: ExecutionListQuery,
      answer: ExecutionList,
      options: { preValidation: readQueryWords(ExecutionListQuery, executionStatusWords) },
    }),
    async ({ tenantId, params, query }): Promise<ExecutionList> => {
      const jobId = aJob.read(params.job_id)
      const isOfSlots = query.status === 'SKIPPED' && (await hasSlots(deps, { tenantId, jobId }))
      const list = isOfSlots ? listSkipped : listExecutions
      return aJob.found(await list(deps, { tenantId, jobId, query }), jobId)
    },
  )

  app.get<{ Querystring: ExecutionSearchQuery }>(
    '/executions',
    route(tag, 'read', 'Search the executions of all jobs, newest first', {
      description: 'Executions that meet all given conditions. Skipped slots are in the list of each job.',
      querystring: ExecutionSearchQuery,
      answer: ExecutionSearch,
      options: { preValidation: readQueryWords(ExecutionSearchQuery, executionStatusWords) },
    }),
    async ({ tenantId, query }): Promise<ExecutionSearch> => {
      if (query.status === 'SKIPPED') {
        throw refuseField('status', 'cannot be SKIPPED here: ask per job, at /jobs/{job_id}/executions')
      }
      const { job_id: jobId, worker_id: workerId, tag = null, q = null } = query
      const named = { jobId: jobId?.toLowerCase() ?? null, workerId: workerId?.toLowerCase() ?? null }
      const of = { tenantId, ...named, tag, q }
      const ids = await sealedIds()
      // Without a job there is no list that could be missing; with one that is not there, nothing is found.
      const page = await executions.listExecutions({ ...of, ...conditionsOf(query, ids) })
      return {
        executions: page?.executions.map(toFoundExecution) ?? [],
        pagination: sealedPagination(query, page ?? nothingFound, ids),
      }
    },
  )

  app.get<{ Params: { execution_id: string } }>(
    '/executions/:execution_id',
    route(tag, 'read', 'One execution with its attempts', { answer: Execution }),
    async ({ tenantId, params }): Promise<Execution> => {
      const executionId = anExecution.read(params.execution_id)
      const found = anExecution.found(await executions.getExecution(tenantId, executionId), executionId)
      if (found.runId === null) return toExecution(found, [])
      const parents = await graphRuns.parentsOf([executionId], found.runId)
      return toExecution(found, parents.get(executionId) ?? [])
    },
  )
}

/** A job that runs after others has no slots: it is skipped as an execution. */
async function hasSlots(
  { jobs }: ExecutionDeps,
  { tenantId, jobId }: { tenantId: string; jobId: string },
): Promise<boolean> {
  return (await jobs.get(tenantId, jobId))?.dependsOn.length === 0
}

async function listExecutions(
  { executions, sealedIds }: SealingDeps,
  { tenantId, jobId, query }: JobQuery,
): Promise<ExecutionList | null> {
  const ids = await sealedIds()
  const of = { tenantId, jobId, workerId: null, tag: null, q: null }
  const page = await executions.listExecutions({ ...of, ...conditionsOf(query, ids) })
  if (page === null) return null
  return {
    executions: page.executions.map(toExecutionItem),
    pagination: sealedPagination(query, page, ids),
  }
}

function sealedPagination(
  query: ExecutionListQuery,
  page: Pick<ExecutionPage, 'total' | 'capped' | 'next'>,
  ids: SealedIds,
): Pagination {
  const next = page.next === null ? null : ids.seal(page.next)
  return paginationOf('sealed_executions', query, { ...page, next })
}

/** The conditions that both lists accept. */
function conditionsOf(
  query: ExecutionListQuery,
  ids: SealedIds,
): Omit<ExecutionQuery, 'tenantId' | 'jobId' | 'workerId' | 'tag' | 'q'> {
  const sealed = readIdCursor('sealed_executions', query)
  return {
    status: query.status ?? null,
    kind: query.kind ?? null,
    errorType: query.error_type ?? null,
    deadLetter: query.dead_letter ?? null,
    ...readDateRange(query),
    before: sealed === null ? null : ids.open(sealed),
    limit: limitOf(query),
  }
}

async function listSkipped(
  { clock, slotLedger }: ExecutionDeps,
  { tenantId, jobId, query }: JobQuery,
): Promise<ExecutionList | null> {
  for (const name of ['kind', 'error_type', 'dead_letter'] as const) {
    if (query[name] !== undefined) throw refuseField(name, 'cannot be asked of skipped slots')
  }
  const range = readDateRange(query)
  const limit = limitOf(query)
  const before = readInstantCursor('skips', query)
  const to = range.to === null ? clock.databaseNow() : epochMs(range.to - 1)
  const window = { from: range.from ?? epochMs(to - skipsMsDefault), to }
  const rest = { ...window, to: before === null ? to : (Math.min(to, before - 1) as EpochMs) }
  const key = { tenantId, jobId }
  const [all, ranges] = await Promise.all([
    slotLedger.listSkips({ ...key, ...window, limit: totalMax + 1 }),
    // One slot and more for each slot of the page, and two that only reach over an end of the window.
    slotLedger.listSkips({ ...key, ...rest, limit: limit + 3 }),
  ])
  if (all === null || ranges === null) return null
  const schedules = new SkipSchedules(jobId)
  const { slots, more } = listSlots(schedules, ranges, { window: rest, limit })
  const next = more ? slots.at(-1)!.at : null
  return {
    executions: slots.map(toSkippedSlot),
    pagination: paginationOf('skips', query, { total: countSkipped(schedules, all, window), next }),
  }
}

// GET /api/v1/graph-runs: runs of jobs that run after each other, and POST …/cancel and …/resume for a single run.
// GET /api/v1/jobs/{job_id}/graph: which job runs after which.
import {
  GraphRun,
  GraphRunCancelReply,
  GraphRunList,
  GraphRunListQuery,
  GraphRunResumeReply,
  JobGraph,
} from '@carillon/contract/graph-run.ts'
import type { FastifyInstance } from 'fastify'
import type { CancelRunOutcome, GraphRuns, ResumeOutcome, RunView } from '../../ports/graph-runs.ts'
import type { World } from '../../ports/world.ts'
import { ApiError } from '../http/api-error.ts'
import { limitOf, paginationOf, readIdCursor } from '../http/cursor.ts'
import { readDateRange } from '../http/date-range.ts'
import { takeNoBody } from '../http/json-body.ts'
import { aJob, named } from '../http/path-id.ts'
import { noFields, route } from '../http/route.ts'
import { readQueryWords } from '../http/words.ts'
import { answerWrite, postRoute, type WriteDeps } from '../http/write.ts'
import type { CreateDeps } from '../jobs/create-job.ts'
import { toJobGraph, toRun, toRunItem } from './graph-run-view.ts'

export interface GraphRunDeps extends CreateDeps, WriteDeps, Pick<World, 'timers'> {
  graphRuns: Pick<GraphRuns, 'get' | 'isStarting' | 'list' | 'graphOf'>
}

type CancelledRun = Exclude<CancelRunOutcome, { kind: 'finished' | 'not_found' }>
type RunParams = { graph_run_id: string }

const tag = 'graph runs'
const aRun = named('GRAPH_RUN_NOT_FOUND', 'graph run')
/** A run is made a moment after its root was enqueued: a request for it waits meanwhile. */
const startLookMs = 25
const startLooksMax = 80

export function graphRunRoutes(app: FastifyInstance, deps: GraphRunDeps): void {
  const { graphRuns } = deps

  app.get<{ Querystring: GraphRunListQuery }>(
    '/graph-runs',
    route(tag, 'read', 'The runs of graphs, newest first', {
      description:
        'Ordered by scheduled time. Counting stops early: `total` is exact only when one page holds all runs. Runs are kept for the history retention of the tenant.',
      querystring: GraphRunListQuery,
      answer: GraphRunList,
      options: { preValidation: readQueryWords(GraphRunListQuery) },
    }),
    async ({ tenantId, query }): Promise<GraphRunList> => {
      const before = readIdCursor('graph_runs', query)
      const { status = null, job_id: jobId } = query
      const of = { tenantId, status, jobId: jobId?.toLowerCase() ?? null, ...readDateRange(query) }
      const { runs, next } = await graphRuns.list({ ...of, before, limit: limitOf(query) })
      const capped = before !== null || next !== null
      return {
        graph_runs: runs.map(toRunItem),
        pagination: paginationOf('graph_runs', query, { total: runs.length, capped, next }),
      }
    },
  )

  app.get<{ Params: RunParams }>(
    '/graph-runs/:graph_run_id',
    route(tag, 'read', 'One run with all its jobs', { answer: GraphRun }),
    async ({ tenantId, params }): Promise<GraphRun> => {
      const runId = aRun.read(params.graph_run_id)
      return toRun(aRun.found(await getStarted(deps, tenantId, runId), runId))
    },
  )

  app.post<{ Params: RunParams }>(
    '/graph-runs/:graph_run_id/cancel',
    postRoute(tag, 'operate', 'Cancel a run', {
      description:
        'The run starts no further executions. Waiting executions end at once, running ones as soon as they are stopped. A second cancel gets the same response.',
      body: noFields,
      response: { 200: GraphRunCancelReply, 202: GraphRunCancelReply },
      options: { preValidation: takeNoBody },
    }),
    async (request, reply) => {
      const { tenantId, caller } = request
      const runId = aRun.read(request.params.graph_run_id)
      const message = `Cancelled by ${caller.name}.`
      return answerWrite<GraphRunCancelReply>(deps, request, reply, async (stores) => {
        const outcome = requireCancelled(await stores.graphRuns.cancel({ tenantId, runId, message }), runId)
        const { kind } = outcome
        const cancelled = kind === 'cancelled_before' ? [] : outcome.settled
        // If the run is over, executions that wait behind it may go; otherwise the workers must be notified.
        if (kind === 'cancelling')
          return {
            status: 202,
            body: { graph_run_id: runId, status: 'CANCELLING' },
            wake: ['waiting', 'cancels'],
            cancelled,
          }
        const runsOver = kind === 'cancelled' ? (['CANCELLED'] as const) : []
        return {
          status: 200,
          body: { graph_run_id: runId, status: 'CANCELLED' },
          wake: ['waiting'],
          cancelled,
          runsOver,
        }
      })
    },
  )

  app.post<{ Params: RunParams }>(
    '/graph-runs/:graph_run_id/resume',
    postRoute(tag, 'operate', 'Resume a run that did not succeed', {
      description:
        'Jobs that did not succeed, and all their dependents, get new executions of the current versions in the same run. Other succeeded jobs keep their results, and jobs that were skipped because of these results stay skipped.',
      body: noFields,
      accepted: GraphRunResumeReply,
      options: { preValidation: takeNoBody },
    }),
    async (request, reply) => {
      const { tenantId } = request
      const runId = aRun.read(request.params.graph_run_id)
      const { clock, ids, lanes } = deps
      const tools = {
        newExecutionId: () => ids.nextBatch(),
        laneOf: (ofTenant: string) => lanes.choose(ofTenant, clock.monotonicMs()),
      }
      return answerWrite<GraphRunResumeReply>(deps, request, reply, async (stores) => {
        const outcome = await stores.graphRuns.resume({ tenantId, runId, ...tools })
        const { executionIds, over, settled } = requireResumed(outcome, runId)
        return {
          status: 202,
          body: { graph_run_id: runId, status: 'RUNNING', execution_ids: executionIds },
          wake: ['queue', 'waiting'],
          // A node with a paused or deleted job is skipped at once, which may end the run.
          runsOver: over,
          settled,
        }
      })
    },
  )

  app.get<{ Params: { job_id: string } }>(
    '/jobs/:job_id/graph',
    route(tag, 'read', 'The dependencies of the graph of a job', {
      description: 'The current graph; a run keeps the graph that it started with.',
      answer: JobGraph,
    }),
    async ({ tenantId, params }): Promise<JobGraph> => {
      const jobId = aJob.read(params.job_id)
      return toJobGraph(aJob.found(await graphRuns.graphOf(tenantId, jobId), jobId))
    },
  )
}

async function getStarted(
  { graphRuns, timers }: Pick<GraphRunDeps, 'graphRuns' | 'timers'>,
  tenantId: string,
  runId: string,
): Promise<RunView | null> {
  for (let looks = 0; looks < startLooksMax; looks++) {
    const run = await graphRuns.get(tenantId, runId)
    if (run !== null) return run
    if (!(await graphRuns.isStarting(tenantId, runId))) break
    await timers.wait(startLookMs)
  }
  // It may have been made between the two looks.
  return graphRuns.get(tenantId, runId)
}

function requireCancelled(outcome: CancelRunOutcome, runId: string): CancelledRun {
  if (outcome.kind === 'not_found') throw aRun.notFound(runId)
  if (outcome.kind === 'finished') {
    throw new ApiError('GRAPH_RUN_FINISHED', `The graph run ${runId} is ${outcome.status} already.`)
  }
  return outcome
}

function requireResumed(outcome: ResumeOutcome, runId: string): Extract<ResumeOutcome, { kind: 'resumed' }> {
  const of = `The graph run ${runId}`
  if (outcome.kind === 'resumed') return outcome
  if (outcome.kind === 'not_found') throw aRun.notFound(runId)
  if (outcome.kind === 'not_finished')
    throw new ApiError('GRAPH_RUN_NOT_FINISHED', `${of} is ${outcome.status}.`)
  if (outcome.kind === 'nothing') throw new ApiError('NOTHING_TO_RESUME', `${of} has no job to run again.`)
  if (outcome.kind === 'too_often')
    throw new ApiError('RESUMED_TOO_OFTEN', `${of} was resumed the maximum number of times.`)
  const detail = `${of} cannot be resumed: for its root, the job ${outcome.jobId}, ${inTheWay(outcome)}.`
  throw new ApiError('GRAPH_RUN_OVERLAP', detail)
}

function inTheWay({ runId, executionId }: Extract<ResumeOutcome, { kind: 'overlap' }>): string {
  if (runId !== null) return `the graph run ${runId} is in progress`
  return executionId === null ? 'late slots are still to run' : `the execution ${executionId} is in progress`
}

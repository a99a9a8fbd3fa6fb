// POST /api/v1/jobs/{job_id}/backfill: run the slots of a past range, regardless of their earlier outcome.
import { BackfillRequest, Operation } from '@carillon/contract/operation.ts'
import type { FastifyInstance } from 'fastify'
import type { JobView } from '../../domain/jobs/job.ts'
import { type BackfillFilter, backfillSlotsMax, type NewOperation } from '../../domain/jobs/operation.ts'
import { isAfterCompletion } from '../../domain/schedule/after-completion.ts'
import { compileStored } from '../../domain/schedule/compile-schedule.ts'
import { countRuns } from '../../domain/schedule/count-runs.ts'
import { calendarNames, emptyCalendars } from '../../domain/schedule/exclusions.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import type { Calendars } from '../../ports/calendars.ts'
import type { GraphRuns } from '../../ports/graph-runs.ts'
import type { World } from '../../ports/world.ts'
import { ApiError } from '../http/api-error.ts'
import { requireInstant } from '../http/instant.ts'
import { aJob, jobDeleted } from '../http/path-id.ts'
import { refuseField } from '../http/problem.ts'
import { Refusals } from '../http/refusals.ts'
import { readBodyWords } from '../http/words.ts'
import { answerWrite, postRoute, type WriteDeps } from '../http/write.ts'
import { startOperation } from './operation-view.ts'
import { rootsOf } from './validate-dependencies.ts'

export interface BackfillDeps extends WriteDeps, Pick<World, 'clock' | 'ids'> {}

/** Roots named in an answer. */
const rootsNamedMax = 10

/** Both included. */
type Range = Pick<BackfillFilter, 'from' | 'to'>

export function backfillRoutes(app: FastifyInstance, deps: BackfillDeps): void {
  const { clock, ids } = deps

  app.post<{ Params: { job_id: string }; Body: BackfillRequest }>(
    '/jobs/:job_id/backfill',
    postRoute('jobs', 'operate', 'Run the slots of a past range', {
      description:
        'Creates an execution of kind backfill for each slot that the current schedule has in the range and does not exclude, even if the slot ran before. An operation creates them one after the other. They wait for executions that have not ended; new slots wait for them or are skipped, as the overlap policy says.',
      body: BackfillRequest,
      accepted: Operation,
      options: { preValidation: readBodyWords(BackfillRequest) },
    }),
    async (request, reply) => {
      const { tenantId, caller, body } = request
      const jobId = aJob.read(request.params.job_id)
      const now = clock.databaseNow()
      const range = readRange(body, now)
      const { order = 'asc', max_concurrent: maxConcurrent = 1 } = body
      return answerWrite<Operation>(deps, request, reply, async (stores) => {
        const { jobs, calendars, operations } = stores
        const job = requireUndeleted(await jobs.get(tenantId, jobId), jobId)
        if (job.dependsOn.length > 0) throw await refuseDependent(stores.graphRuns, job)
        requireGrid(job)
        const total = requireSome(await countSlots(calendars, job, range))
        const { schedule, anchorAt } = job
        const operation: NewOperation = {
          operationId: ids.next(),
          tenantId,
          kind: 'backfill',
          filter: { jobId, ...range },
          options: { backfill: { order, maxConcurrent, schedule, anchorAt } },
          createdBy: caller.name,
          createdAt: now,
          total,
          totalCapped: false,
        }
        return startOperation(operations, operation)
      })
    },
  )
}

function readRange(body: BackfillRequest, now: EpochMs): Range {
  const refusals = new Refusals()
  const first = refusals.attempt(() => requireInstant(body.from, '/from'))
  const last = refusals.attempt(() => requireInstant(body.to, '/to'))
  refusals.throwAny()
  const from = epochMs(Math.ceil(first!))
  const to = epochMs(Math.floor(last!))
  if (to > now) throw refuseField('/to', 'must not lie in the future')
  if (from > to) throw refuseField('/to', 'lies before from')
  return { from, to }
}

function requireUndeleted(job: JobView | null, jobId: string): JobView {
  if (job === null) throw aJob.notFound(jobId)
  if (job.status === 'DELETED') throw jobDeleted(jobId)
  return job
}

/** Requires a job with slots that follow from its schedule alone, regardless of the time of the request. */
function requireGrid({ jobId, schedule }: JobView): void {
  if (schedule.type === 'IMMEDIATE')
    throw new ApiError('BACKFILL_NOT_POSSIBLE', `The job ${jobId} ran once, when it was created.`)
  if (isAfterCompletion(schedule)) {
    const detail = `The interval of the job ${jobId} counts from the end of its last execution.`
    throw new ApiError('BACKFILL_NOT_POSSIBLE', detail)
  }
}

/** It runs again when that runs again which it runs after. */
async function refuseDependent(
  graphRuns: Pick<GraphRuns, 'graphOf'>,
  { tenantId, jobId }: JobView,
): Promise<ApiError> {
  const graph = await graphRuns.graphOf(tenantId, jobId)
  const roots = graph === null ? [] : rootsOf(graph, jobId)
  const named = roots.slice(0, rootsNamedMax).map((root) => `${root.name} (${root.jobId})`)
  const more = roots.length > rootsNamedMax ? ` and ${roots.length - rootsNamedMax} more` : ''
  const detail = `The job ${jobId} runs after others and has no slots of its own. Backfill where its runs start: ${named.join(', ')}${more}.`
  return new ApiError('BACKFILL_NOT_POSSIBLE', detail)
}

/** Slots that the exclusions, as they are now, do not skip. */
async function countSlots(
  stores: Pick<Calendars, 'resolve'>,
  { jobId, tenantId, schedule, anchorAt }: JobView,
  { from, to }: Range,
): Promise<number> {
  const names = calendarNames(schedule) ?? []
  const found = names.length > 0 ? await stores.resolve(tenantId, names) : {}
  const calendars = { ...emptyCalendars([schedule]), ...found }
  const compiled = compileStored({ schedule, anchorAt, jobId }, calendars)
  // One that cannot be read any more yields nothing, here as when it fires.
  return compiled === null ? 0 : countRuns(compiled, { from, to: epochMs(to + 1) })
}

function requireSome(slots: number): number {
  if (slots === 0) throw refuseField('/from', 'begins a range in which the schedule runs no slot')
  if (slots > backfillSlotsMax) {
    const [found, most] = [slots, backfillSlotsMax].map((count) => count.toLocaleString('en-US'))
    const detail = `begins a range of ${found} slots; a backfill runs at most ${most}`
    throw refuseField('/from', detail, 'BACKFILL_TOO_LARGE')
  }
  return slots
}

// GET /api/v1/jobs/{job_id}/slots: the slot ledger, with the status of every slot of a job.
import { type SlotItem, SlotList, SlotListQuery } from '@carillon/contract/slot.ts'
import type { FastifyInstance } from 'fastify'
import type { SlotWindow } from '../../domain/scheduling/unrecorded-slots.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Jobs } from '../../ports/jobs.ts'
import type { SlotOrder } from '../../ports/slot-ledger.ts'
import { toScheduledTime } from '../executions/execution-view.ts'
import { limitOf, paginationOf, readInstantCursor } from '../http/cursor.ts'
import { readSpan } from '../http/date-range.ts'
import { aJob } from '../http/path-id.ts'
import { refuseField } from '../http/problem.ts'
import { route } from '../http/route.ts'
import { readQueryWords } from '../http/words.ts'
import { JobLedger, type LedgerDeps, type LedgerSlot } from './job-ledger.ts'

export interface JobSlotDeps extends LedgerDeps {
  clock: Clock
  jobs: Pick<Jobs, 'get'>
}

const daysMax = 366

export function jobSlotRoutes(app: FastifyInstance, deps: JobSlotDeps): void {
  app.get<{ Params: { job_id: string }; Querystring: SlotListQuery }>(
    '/jobs/:job_id/slots',
    route('executions', 'read', 'The outcome of every slot of a job', {
      description:
        'Each slot is listed once: with its execution, SKIPPED with a reason, PENDING while it is not decided, or SCHEDULED if it is in the future. Triggers, retries, redrives and backfills are not slots.',
      querystring: SlotListQuery,
      options: { preValidation: readQueryWords(SlotListQuery) },
      answer: SlotList,
    }),
    async ({ tenantId, params, query }): Promise<SlotList> => {
      const jobId = aJob.read(params.job_id)
      const now = deps.clock.databaseNow()
      const window = readWindow(query, now)
      const limit = limitOf(query)
      const order = query.order ?? 'asc'
      const cursors = order === 'asc' ? 'slots' : 'latest_slots'
      const after = readInstantCursor(cursors, query)
      const job = aJob.found(await deps.jobs.get(tenantId, jobId), jobId)
      const ledger = await JobLedger.open(deps, job, now)
      const page = await ledger.list({ window: restOf(window, order, after), limit, order })
      const total = await ledger.count(window, page.facts)
      return {
        slots: page.slots.map(toItem),
        pagination: paginationOf(cursors, query, { ...total, next: page.next }),
      }
    },
  )
}

function readWindow({ from, to }: SlotListQuery, now: EpochMs): { from: EpochMs; to: EpochMs } {
  const last = to === undefined ? now : readSpan(to, 'to').last
  const first = from === undefined ? epochMs(last - dayMs) : readSpan(from, 'from').first
  if (last < first) throw refuseField('to', 'lies before from')
  if (last - first > daysMax * dayMs) throw refuseField('from', `must be at most ${daysMax} days before to`)
  return { from: first, to: last }
}

/** The part of the window behind the last slot of the page before. */
function restOf(window: SlotWindow, order: SlotOrder, after: number | null): SlotWindow {
  if (after === null) return window
  return order === 'asc'
    ? { ...window, from: epochMs(Math.max(window.from, after + 1)) }
    : { ...window, to: epochMs(Math.min(window.to, after - 1)) }
}

function toItem({ slot, status, reason, executionId }: LedgerSlot): SlotItem {
  return {
    scheduled_time: toScheduledTime(slot),
    status,
    ...(reason === null ? {} : { reason }),
    ...(executionId === null ? {} : { execution_id: executionId }),
  }
}

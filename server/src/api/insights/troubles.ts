// GET /api/v1/failures and /late: failures in groups, and executions that were not on time.
import { type Failure, FailureList, FailureQuery } from '@carillon/contract/failure.ts'
import { type LateItem, LateList, LateQuery } from '@carillon/contract/late.ts'
import type { FastifyInstance } from 'fastify'
import { epochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import { minuteMs } from '../../lib/time/units.ts'
import type { FailureGroup, LateSlot } from '../../ports/activity.ts'
import type { StorePorts } from '../../ports/store.ts'
import type { World } from '../../ports/world.ts'
import { route } from '../http/route.ts'

export interface TroubleDeps extends Pick<World, 'clock'>, Pick<StorePorts, 'activity'> {}

const tag = 'dashboards'
const minutesDefault = 60
const failuresDefault = 20
const lateDefault = 50

export function troubleRoutes(app: FastifyInstance, { clock, activity }: TroubleDeps): void {
  const since = (minutes: number) => epochMs(clock.databaseNow() - minutes * minuteMs)

  app.get<{ Querystring: FailureQuery }>(
    '/failures',
    route(tag, 'read', 'Failures by job and kind of error', {
      description:
        'Attempts that failed, timed out or were lost, of jobs that are not deleted, a few seconds later. Attempts whose executions succeeded in the end count, too: `job_failing` says whether the job itself fails. They are kept for 14 days, with at most the 1,000 most frequent groups of a tenant in ten minutes.',
      querystring: FailureQuery,
      answer: FailureList,
    }),
    async ({ tenantId, query }): Promise<FailureList> => {
      const { minutes = minutesDefault, limit = failuresDefault } = query
      const failures = await activity.failures({ tenantId, from: since(minutes), limit })
      return { failures: failures.map(toFailure) }
    },
  )

  app.get<{ Querystring: LateQuery }>(
    '/late',
    route(tag, 'read', 'Slots that started late, were skipped, or still wait', {
      description:
        'A late start is listed once its attempt has ended. Waiting executions are searched at the head of the queue only.',
      querystring: LateQuery,
      answer: LateList,
    }),
    async ({ tenantId, query }): Promise<LateList> => {
      const { minutes = minutesDefault, limit = lateDefault } = query
      const late = await activity.late({ tenantId, from: since(minutes), limit })
      return { late: late.map(toLate) }
    },
  )
}

function toFailure(group: FailureGroup): Failure {
  return {
    job_id: group.jobId,
    job_name: group.jobName,
    error_type: group.errorType,
    message: group.message,
    http_status: group.httpStatus,
    count: group.count,
    first_seen_at: toRfc3339(group.firstAt),
    last_seen_at: toRfc3339(group.lastAt),
    last_execution_id: group.lastExecutionId,
    job_failing: group.isJobFailing,
  }
}

function toLate(slot: LateSlot): LateItem {
  return {
    job_id: slot.jobId,
    job_name: slot.jobName,
    scheduled_time: toRfc3339(slot.slot),
    kind: slot.kind,
    late_ms: slot.lateMs,
    reason: slot.reason,
    slot_count: slot.slotCount,
    execution_id: slot.executionId,
  }
}

// GET /api/v1/activity: the recorded activity of each minute, hour or day.
import {
  type ActivityItem,
  ActivityList,
  ActivityQuery,
  activityHoursMax,
} from '@carillon/contract/activity.ts'
import type { FastifyInstance } from 'fastify'
import { type EpochMs, epochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import { hourMs } from '../../lib/time/units.ts'
import type { ActivityBucket, ActivityPage, ActivityStep } from '../../ports/activity.ts'
import type { StorePorts } from '../../ports/store.ts'
import type { World } from '../../ports/world.ts'
import { readSpan } from '../http/date-range.ts'
import { aJob } from '../http/path-id.ts'
import { refuseField } from '../http/problem.ts'
import { route } from '../http/route.ts'
import { readQueryWords } from '../http/words.ts'

export interface ActivityDeps extends Pick<World, 'clock'>, Pick<StorePorts, 'activity'> {}

const stepMs: Readonly<Record<ActivityStep, number>> = { minute: 60_000, hour: hourMs, day: 24 * hourMs }
const hoursDefault: Readonly<Record<ActivityStep, number>> = { minute: 1, hour: 168, day: 8_760 }

export function activityRoutes(app: FastifyInstance, { clock, activity }: ActivityDeps): void {
  app.get<{ Querystring: ActivityQuery }>(
    '/activity',
    route('dashboards', 'read', 'Recorded executions in each minute, hour or day', {
      description:
        'Minutes are kept for 2 days, hours for 60 days, days for 400 days. A response covers at most 24 hours by minute, 60 days by hour, 400 days by day.',
      querystring: ActivityQuery,
      answer: ActivityList,
      options: { preValidation: readQueryWords(ActivityQuery) },
    }),
    async ({ tenantId, query }): Promise<ActivityList> => {
      const { step, job_id: jobId } = query
      const span = readActivitySpan(query, clock.databaseNow())
      if (jobId === undefined) return toList(await activity.ofTenant({ tenantId, step, ...span }))
      if (step === 'minute') throw refuseField('step', 'must be hour or day for one job')
      const page = await activity.ofJob({ tenantId, jobId: jobId.toLowerCase(), step, ...span })
      return toList(aJob.found(page, jobId))
    },
  )
}

function readActivitySpan(query: ActivityQuery, now: EpochMs): { from: EpochMs; to: EpochMs } {
  const { step } = query
  const to = query.to === undefined ? now : readSpan(query.to, 'to').first
  const given =
    query.from === undefined ? to - hoursDefault[step] * hourMs : readSpan(query.from, 'from').first
  if (given >= to) throw refuseField('from', 'must lie before `to`')
  if (to - given > activityHoursMax[step] * hourMs) {
    throw refuseField('from', `lies more than ${activityHoursMax[step]} hours before \`to\``)
  }
  return { from: epochMs(Math.floor(given / stepMs[step]) * stepMs[step]), to }
}

function toList({ asOf, buckets }: ActivityPage): ActivityList {
  return { as_of: toRfc3339(asOf), activity: buckets.map(toItem) }
}

function toItem(bucket: ActivityBucket): ActivityItem {
  return {
    at: toRfc3339(bucket.at),
    succeeded: bucket.succeeded,
    failed: bucket.failed,
    timed_out: bucket.timedOut,
    cancelled: bucket.cancelled,
    skipped: bucket.skipped,
    retries: bucket.retries,
    dead_letters: bucket.deadLetters,
    duration_ms_sum: bucket.durationMsSum,
    duration_ms_max: bucket.durationMsMax,
    started: bucket.started,
    within_1s: bucket.within1s,
    within_5s: bucket.within5s,
    late_ms_max: bucket.lateMsMax,
  }
}

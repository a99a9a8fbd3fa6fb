// GET /api/v1/sla: whether everything is on time, from existing counts and from bounded queries.
import { Sla, SlaQuery } from '@carillon/contract/sla.ts'
import type { FastifyInstance } from 'fastify'
import { type EpochMs, epochMs, toRfc3339, toRfc3339OrNull } from '../../lib/time/epoch.ts'
import { hourMs, minuteMs } from '../../lib/time/units.ts'
import type { ActivityBucket, ActivityPage, ActivityStep } from '../../ports/activity.ts'
import type { StorePorts } from '../../ports/store.ts'
import type { WorkerCounts } from '../../ports/workers.ts'
import type { World } from '../../ports/world.ts'
import { route } from '../http/route.ts'
import { readQueryWords } from '../http/words.ts'

export interface SlaDeps extends Pick<World, 'clock'>, Pick<StorePorts, 'activity' | 'workers'> {}

/** The length of each window, and the step of the counts that it is added up from. */
const windows: Readonly<Record<Sla['window'], { ms: number; step: ActivityStep }>> = {
  '1h': { ms: hourMs, step: 'minute' },
  '24h': { ms: 24 * hourMs, step: 'minute' },
  '7d': { ms: 7 * 24 * hourMs, step: 'hour' },
  '30d': { ms: 30 * 24 * hourMs, step: 'hour' },
}

export function slaRoutes(app: FastifyInstance, { clock, activity, workers }: SlaDeps): void {
  app.get<{ Querystring: SlaQuery }>(
    '/sla',
    route('dashboards', 'read', 'Whether everything is on time', {
      description:
        'Starts, throughput and rates cover the tenant. Queue, workers and history cover the whole installation for operators, and the own part for tenants.',
      querystring: SlaQuery,
      answer: Sla,
      options: { preValidation: readQueryWords(SlaQuery) },
    }),
    async ({ tenantId, caller, query }): Promise<Sla> => {
      const { window = '24h' } = query
      const { ms, step } = windows[window]
      const now = clock.databaseNow()
      const of = { tenantId: caller.operator ? null : tenantId }
      const span = { tenantId, to: epochMs(now + hourMs) }
      // One after the other: a person waits for it, and others need the connections.
      const past = await activity.ofTenant({ ...span, step, from: epochMs(now - ms) })
      const latest = await activity.ofTenant({ ...span, step: 'minute', from: epochMs(now - 3 * minuteMs) })
      const queue = await activity.queue(of)
      const history = await activity.historySize(of)
      const sum = addUp(past.buckets)
      const ended = endedIn(sum)
      return {
        window,
        as_of: toRfc3339(past.asOf),
        starts: {
          count: sum.started,
          within_1s: shareOf(sum.within1s, sum.started),
          within_5s: shareOf(sum.within5s, sum.started),
          late_ms_max: sum.lateMsMax,
        },
        throughput: throughputOf(latest, sum.peak),
        queue: {
          depth: queue.depth,
          depth_capped: queue.capped,
          oldest_seconds: queue.oldestAt === null ? null : Math.max(0, now - queue.oldestAt) / 1_000,
        },
        rates: {
          success: shareOf(sum.succeeded, ended),
          retry: shareOf(sum.retries, sum.attempts),
          dead_letter: shareOf(sum.deadLetters, ended),
          timeout: shareOf(sum.timedOut, ended),
        },
        workers: countWorkers(await workers.count(of)),
        history: [
          {
            tier: 'hot',
            bytes: history.bytes,
            attempts_estimate: history.attempts,
            attempts_per_day: history.written.attempts,
            bytes_per_day: history.written.bytes,
            oldest_at: toRfc3339OrNull(history.oldestAt),
          },
        ],
      }
    },
  )
}

function addUp(buckets: readonly ActivityBucket[]) {
  const sumOf = (name: Exclude<keyof ActivityBucket, 'peak'>) =>
    buckets.reduce((sum, one) => sum + one[name], 0)
  return {
    succeeded: sumOf('succeeded'),
    failed: sumOf('failed'),
    timedOut: sumOf('timedOut'),
    attempts: sumOf('attempts'),
    retries: sumOf('retries'),
    deadLetters: sumOf('deadLetters'),
    started: sumOf('started'),
    within1s: sumOf('within1s'),
    within5s: sumOf('within5s'),
    lateMsMax: Math.max(0, ...buckets.map((one) => one.lateMsMax)),
    peak: buckets.map((one) => one.peak).reduce(higher, null),
  }
}

type Peak = ActivityBucket['peak']

/** The first of equal peaks; a peak of nothing is none. */
function higher(most: Peak, one: Peak): Peak {
  return one !== null && one.count > (most?.count ?? 0) ? one : most
}

function endedIn({ succeeded, failed, timedOut }: ReturnType<typeof addUp>): number {
  return succeeded + failed + timedOut
}

function shareOf(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole
}

/** Of the minute that is not over and the one before: as long as is counted of them. */
function throughputOf({ asOf, buckets }: ActivityPage, peak: Peak): Sla['throughput'] {
  const from = epochMs(Math.floor(asOf / minuteMs) * minuteMs - minuteMs)
  const ended = endedIn(addUp(buckets.filter(({ at }) => at >= from)))
  return {
    now_per_second: perSecond(ended, asOf - from),
    peak_per_second: perSecond(peak?.count ?? 0, minuteMs),
    peak_at: peak === null ? null : toRfc3339(peak.at as EpochMs),
  }
}

function perSecond(count: number, ms: number): number {
  return Math.round((count / ms) * 1_000 * 1_000) / 1_000
}

function countWorkers(counts: WorkerCounts): Sla['workers'] {
  const { active, draining, silent, deadLastHour, capacity, running } = counts
  return {
    count: active + draining,
    active,
    draining,
    dead_last_hour: silent + deadLastHour,
    capacity,
    running,
    utilisation: shareOf(running, capacity),
  }
}

// Past and future executions in a span of time. For all jobs: two requests. With a filter: two for each of its first
// jobs.
import type { ActivityList } from '@carillon/contract/activity.ts'
import type { ForecastReply } from '@carillon/contract/forecast.ts'
import type { Job, JobList } from '@carillon/contract/job.ts'
import type { SchedulePreviewReply } from '@carillon/contract/schedule.ts'
import { useQueries } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { api } from '../../api/client.ts'
import { useGet } from '../../api/hooks.ts'
import { serverNow } from '../../lib/now.ts'
import { hourMs, minuteMs } from '../../lib/units.ts'
import { plainSchedule } from '../job-editor/schedule-form.ts'
import { aheadOf, type Span } from './calendar-grid.ts'

/** Jobs of a filter that are looked at. */
export const lanesMax = 15
const slotsMax = 100
const forecastHoursMax = 168
const keptHours = 1_440

export interface Runs {
  past: ActivityList['activity']
  ahead: { atMs: number; count: number; isAbout?: boolean }[]
}

export interface Lane extends Runs {
  job_id: string
  name: string
}

export interface CalendarRuns {
  all: Runs
  /** Null: nothing is filtered, and only sums are known. */
  lanes: Lane[] | null
  /** Jobs that match and are not among the lanes. */
  unseen: number
  /** The unknown parts of this span, in words. */
  missing: string | null
  isLoading: boolean
  error: unknown
}

export function useRuns(span: Span, filter: Readonly<Record<string, string>>): CalendarRuns {
  const isFiltered = Object.keys(filter).length > 0
  const tenant = useTenantRuns(span, !isFiltered)
  const lanes = useLanes(span, filter, isFiltered)
  return isFiltered ? lanes : tenant
}

function useTenantRuns(span: Span, enabled: boolean): CalendarRuns {
  const [nowMs] = useState(serverNow)
  const query = pastQuery(span, nowMs)
  const activity = useGet<ActivityList>('/activity', {
    query: query ?? {},
    enabled: enabled && query !== null,
    keep: true,
    everyMs: 60_000,
  })
  const hours = Math.min(forecastHoursMax, Math.ceil((span.toMs - nowMs) / hourMs))
  const forecast = useGet<ForecastReply>('/forecast', {
    query: { hours },
    enabled: enabled && hours > 0,
    keep: true,
    everyMs: 60_000,
  })
  const all = useMemo((): Runs => {
    const { data } = forecast
    const fromMs = data === undefined ? 0 : Date.parse(data.from)
    return {
      past: query === null ? [] : (activity.data?.activity ?? []),
      ahead: (data?.counts ?? []).flatMap((count, index) =>
        count === 0
          ? []
          : [{ atMs: Math.max(nowMs, fromMs + index * (data?.step_seconds ?? 0) * 1_000), count }],
      ),
    }
  }, [activity.data, forecast.data, query, nowMs, forecast])
  const endMs = nowMs + forecastHoursMax * hourMs
  const missing = [
    ...(span.toMs > endMs
      ? ['Of all jobs only the next 7 days are foreseen; filter by a tag to look further.']
      : []),
    ...(forecast.data?.complete === false ? ['Not all jobs were looked at for the runs to come.'] : []),
    ...(query === null && span.fromMs < nowMs ? [tooOld] : []),
  ]
  return {
    all,
    lanes: null,
    unseen: 0,
    missing: missing.join(' ') || null,
    isLoading: (query !== null && activity.isPending) || (hours > 0 && forecast.isPending),
    error: activity.error ?? forecast.error,
  }
}

const tooOld = 'Past runs are counted by the hour for 60 days only; this is longer ago.'

function useLanes(span: Span, filter: Readonly<Record<string, string>>, enabled: boolean): CalendarRuns {
  const [nowMs] = useState(serverNow)
  const found = useGet<JobList>('/jobs', { query: { ...filter, limit: lanesMax }, enabled, keep: true })
  const jobs = enabled ? (found.data?.jobs ?? []) : []
  const query = pastQuery(span, nowMs)
  const fromMs = Math.max(nowMs, span.fromMs)
  const pasts = useQueries({
    queries: jobs.map((job) => {
      const own = { ...query, job_id: job.job_id }
      return {
        queryKey: ['/activity', own],
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          api.get<ActivityList>('/activity', { query: own, signal }),
        enabled: query !== null,
        staleTime: 60_000,
      }
    }),
  })
  const previews = useQueries({
    queries: jobs.map((job) => {
      const body = previewBody(job, fromMs)
      return {
        queryKey: ['/schedules/preview', 'calendar', body],
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          api.post<SchedulePreviewReply>('/schedules/preview', body, { signal }),
        enabled: fires(job) && span.toMs > nowMs,
        staleTime: 60_000,
      }
    }),
  })
  const lanes = jobs.map((job, index): Lane => {
    const slots = (previews[index]?.data?.next ?? [])
      .filter(({ notes }) => !notes.some(({ code }) => code === 'EXCLUDED'))
      .map(({ at }) => Date.parse(at))
    const known = previews[index]?.data?.next.length ?? 0
    const limit = known < slotsMax ? slotsMax + 1 : Math.max(2, slots.length)
    return {
      job_id: job.job_id,
      name: job.name,
      past: pasts[index]?.data?.activity ?? [],
      ahead: fires(job) ? aheadOf(slots, limit, span.toMs) : [],
    }
  })
  const total = found.data?.pagination.total ?? 0
  return {
    all: { past: lanes.flatMap(({ past }) => past), ahead: lanes.flatMap(({ ahead }) => ahead) },
    lanes,
    unseen: Math.max(0, total - jobs.length),
    missing: query === null && span.fromMs < nowMs ? tooOld : null,
    isLoading: found.isPending || pasts.some(({ isLoading }) => isLoading),
    error: found.error ?? pasts.find(({ error }) => error !== null)?.error ?? null,
  }
}

function fires(job: Job): boolean {
  const { schedule, status, depends_on } = job
  return status === 'ACTIVE' && schedule !== null && schedule.type !== 'IMMEDIATE' && depends_on.length === 0
}

function previewBody(job: Job, fromMs: number) {
  return {
    schedule: job.schedule === null ? '@daily' : plainSchedule(job.schedule),
    job_id: job.job_id,
    count: slotsMax,
    from: new Date(Math.floor(fromMs / minuteMs) * minuteMs).toISOString(),
  }
}

/** Null: none of the span is past, or all of it is older than the retention. */
function pastQuery(span: Span, nowMs: number): { step: 'hour'; from: string; to: string } | null {
  const oldestMs = nowMs - (keptHours - 1) * hourMs
  const fromMs = Math.max(oldestMs, span.fromMs)
  const toMs = Math.min(nowMs, span.toMs)
  if (fromMs >= toMs) return null
  return {
    step: 'hour',
    from: new Date(fromMs).toISOString(),
    to: new Date(Math.ceil(toMs / hourMs) * hourMs).toISOString(),
  }
}

// Trouble first: four figures, then the failing jobs, then the running executions, and the charts.
import type { ActivityList } from '@carillon/contract/activity.ts'
import type { DeadLetterList } from '@carillon/contract/dead-letter.ts'
import type { DeadLetterClusterList } from '@carillon/contract/dead-letter-cluster.ts'
import type { ForecastReply } from '@carillon/contract/forecast.ts'
import type { JobList } from '@carillon/contract/job.ts'
import type { LateList } from '@carillon/contract/late.ts'
import { useMemo } from 'react'
import { ApiProblem } from '../../api/client.ts'
import { useGet } from '../../api/hooks.ts'
import { Empty, ErrorBox, Loading, Page } from '../../components/page.tsx'
import { ResultsAsOf, useAreResultsBehind } from '../../components/results-as-of.tsx'
import { exampleJob } from '../../lib/example-job.ts'
import { formatTime } from '../../lib/format.ts'
import { useNow } from '../../lib/now.ts'
import { timeMode } from '../../lib/preferences.ts'
import { useStore } from '../../lib/store.ts'
import { minuteMs } from '../../lib/units.ts'
import { useHealthRefresh, useLiveRefresh } from '../../live/hooks.ts'
import { ActivityCard } from './activity-card.tsx'
import { AllWell, BrokenJobs, RecoveredJobs } from './broken-jobs.tsx'
import { ForecastCard } from './forecast-card.tsx'
import { type Counted, isQuiet, tilesOf } from './health.ts'
import { LateCard } from './late-card.tsx'
import { RunningCard } from './running-card.tsx'
import { Tiles } from './tiles.tsx'
import { useLast, useStaleSince } from './use-stale.ts'
import './now.css'

const failingQuery = { health: 'FAILING', limit: 20 }
const flakyQuery = { health: 'FLAKY', limit: 10 }

export function NowScreen() {
  const minute = Math.floor(useNow() / minuteMs)
  // The same question for a minute long, so that an answer is used more than once.
  const query = useMemo(
    () => ({
      step: 'minute',
      from: new Date((minute - 59) * minuteMs).toISOString(),
      to: new Date((minute + 1) * minuteMs).toISOString(),
    }),
    [minute],
  )
  const activity = useGet<ActivityList>('/activity', { query, keep: true, everyMs: 15_000 })
  const failing = useGet<JobList>('/jobs', { query: failingQuery, everyMs: 15_000 })
  const flaky = useGet<JobList>('/jobs', { query: flakyQuery, everyMs: 15_000 })
  const letters = useGet<DeadLetterList>('/dead-letters', { query: { limit: 1 }, everyMs: 15_000 })
  const clusters = useGet<DeadLetterClusterList>('/dead-letters/clusters', {
    query: { limit: 200 },
    enabled: (letters.data?.pagination.total ?? 0) > 0,
    everyMs: 15_000,
  })
  const late = useGet<LateList>('/late', { query: { minutes: 60, limit: 50 }, everyMs: 15_000 })
  const forecast = useGet<ForecastReply>('/forecast', { query: { hours: 24 }, everyMs: 60_000 })
  useLiveRefresh(['jobs'], ['/forecast', '/late'], 10_000)
  useHealthRefresh(['/jobs', '/dead-letters'], 10_000)

  // A tier may hide dead letters.
  const hasLetters = !(letters.error instanceof ApiProblem && letters.error.status === 403)
  const staleSince = useStaleSince([activity, failing, late, ...(hasLetters ? [letters] : [])])
  const buckets = useLast(activity.data)?.activity
  const error =
    activity.error ?? failing.error ?? late.error ?? forecast.error ?? (hasLetters ? letters.error : null)
  const lateSlots = late.data?.late.reduce((sum, one) => sum + one.slot_count, 0)
  const tiles = tilesOf({
    failing: countOf(failing.data),
    deadLetters: hasLetters ? countOf(letters.data) : null,
    late: lateSlots,
    activity: buckets,
  })
  const lettersByJob = useMemo(() => sumByJob(clusters.data), [clusters.data])
  const isLive = staleSince === null
  const asOf = failing.data?.health_as_of
  const areBehind = useAreResultsBehind(asOf)
  const failingTotal = failing.data?.pagination.total ?? 0
  const flakyTotal = flaky.data?.pagination.total ?? 0
  return (
    <Page title="Now" lead={staleSince === null ? undefined : <StaleLine since={staleSince} />}>
      {error !== null && <ErrorBox error={error} />}
      {failing.data === undefined && error === null && <Loading />}
      <div className={isLive ? 'now' : 'now now-stale'}>
        {isLive && <ResultsAsOf asOf={asOf} />}
        <Tiles tiles={tiles} />
        {isLive && buckets !== undefined && isQuiet(buckets) && forecast.data?.jobs_seen === 0 && (
          <FirstJob />
        )}
        {failing.data !== undefined && failingTotal > 0 && (
          <BrokenJobs jobs={failing.data.jobs} total={failingTotal} letters={lettersByJob} />
        )}
        {isLive && failing.data !== undefined && failingTotal === 0 && !areBehind && (
          <AllWell>No job is failing.</AllWell>
        )}
        {flaky.data !== undefined && flakyTotal > 0 && (
          <RecoveredJobs jobs={flaky.data.jobs} total={flakyTotal} />
        )}
        <div className="grid-2 now-grid">
          <RunningCard isLive={isLive} />
          {late.data !== undefined && <LateCard late={late.data.late} isLive={isLive} />}
        </div>
        {buckets !== undefined && <ActivityCard buckets={buckets} />}
        {forecast.data !== undefined && <ForecastCard forecast={forecast.data} />}
      </div>
    </Page>
  )
}

function StaleLine({ since }: { since: number }) {
  const mode = useStore(timeMode)
  const now = useNow()
  return (
    <span className="stale-line" role="status">
      The server does not answer. Everything below is as of{' '}
      {formatTime(since, mode === 'UTC' ? 'UTC' : 'local', now)}.
    </span>
  )
}

function countOf(list: Pick<JobList, 'pagination'> | undefined): Counted | undefined {
  return list && { total: list.pagination.total, capped: list.pagination.total_capped }
}

function sumByJob(clusters: DeadLetterClusterList | undefined): Map<string, number> {
  const sums = new Map<string, number>()
  for (const { job_id: jobId, count } of clusters?.clusters ?? [])
    sums.set(jobId, (sums.get(jobId) ?? 0) + count)
  return sums
}

function FirstJob() {
  return (
    <Empty title="There is no job yet." code={exampleJob()}>
      This makes one that calls the echo of this server every 10 seconds; it shows here within a second. Or
      press g, then j, and make one by hand.
    </Empty>
  )
}

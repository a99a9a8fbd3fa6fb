// How it goes right now, in one sentence first.
import type { ActivityList } from '@carillon/contract/activity.ts'
import type { FailureList } from '@carillon/contract/failure.ts'
import type { ForecastReply } from '@carillon/contract/forecast.ts'
import type { LateList } from '@carillon/contract/late.ts'
import { useMemo } from 'react'
import { useGet } from '../../api/hooks.ts'
import { Empty, ErrorBox, Loading, Page } from '../../components/page.tsx'
import { exampleJob } from '../../lib/example-job.ts'
import { useNow } from '../../lib/now.ts'
import { minuteMs } from '../../lib/units.ts'
import { useLiveRefresh } from '../../live/hooks.ts'
import { ActivityCard } from './activity-card.tsx'
import { FailuresCard } from './failures-card.tsx'
import { ForecastCard } from './forecast-card.tsx'
import { healthOf } from './health.ts'
import { LateCard } from './late-card.tsx'
import { RunningCard } from './running-card.tsx'
import './now.css'

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
  const failures = useGet<FailureList>('/failures', {
    query: { minutes: 60, limit: 20 },
    everyMs: 15_000,
  })
  const late = useGet<LateList>('/late', { query: { minutes: 60, limit: 50 }, everyMs: 15_000 })
  const forecast = useGet<ForecastReply>('/forecast', { query: { hours: 24 }, everyMs: 60_000 })
  useLiveRefresh(['jobs'], ['/forecast', '/late'], 10_000)
  const buckets = activity.data?.activity ?? []
  const error = activity.error ?? failures.error ?? late.error ?? forecast.error
  const isReady = activity.data !== undefined && failures.data !== undefined && late.data !== undefined
  const failing = new Set((failures.data?.failures ?? []).map(({ job_id }) => job_id)).size
  const lateSlots = (late.data?.late ?? []).reduce((sum, one) => sum + one.slot_count, 0)
  const health = isReady ? healthOf(buckets, failing, lateSlots) : null
  return (
    <Page
      title="Now"
      lead={
        health === null ? undefined : (
          <span className={`health health-${health.tone}`}>{health.sentence}</span>
        )
      }
    >
      {error !== null && <ErrorBox error={error} />}
      {!isReady && error === null && <Loading />}
      {health?.tone === 'quiet' && forecast.data?.jobs_seen === 0 && <FirstJob />}
      {activity.data !== undefined && <ActivityCard buckets={buckets} />}
      {forecast.data !== undefined && <ForecastCard forecast={forecast.data} />}
      <div className="grid-2 now-grid">
        {failures.data !== undefined && <FailuresCard failures={failures.data.failures} />}
        <div className="now-column">
          <RunningCard />
          {late.data !== undefined && <LateCard late={late.data.late} />}
        </div>
      </div>
    </Page>
  )
}

function FirstJob() {
  return (
    <Empty title="There is no job yet." code={exampleJob()}>
      This makes one that calls the echo of this server every 10 seconds; it shows here within a second. Or
      press g, then j, and make one by hand.
    </Empty>
  )
}

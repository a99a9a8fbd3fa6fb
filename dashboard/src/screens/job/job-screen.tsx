// One job: how it is doing, every slot of it, its versions and its settings.
import type { JobDetails } from '@carillon/contract/job.ts'
import { useParams } from '@tanstack/react-router'
import { useRef } from 'react'
import { useGet, useInvalidate } from '../../api/hooks.ts'
import { useOperation } from '../../components/bulk.tsx'
import { OtherTenant } from '../../components/other-tenant.tsx'
import { Facts, Page, Waiting } from '../../components/page.tsx'
import { InstantInText } from '../../components/sentence.tsx'
import { Status } from '../../components/status.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { Duration, Time } from '../../components/time.tsx'
import { useFilters } from '../../lib/filters.ts'
import { formatCount, formatShare } from '../../lib/format.ts'
import { useLive } from '../../live/hooks.ts'
import { Countdown, ScheduleText } from '../jobs/schedule-cell.tsx'
import { Tags } from '../jobs/tags.tsx'
import { JobActions } from './job-actions.tsx'
import { JobFacts } from './job-facts.tsx'
import { JobOverview, WhyLine } from './job-overview.tsx'
import { SlotLedger } from './slot-ledger.tsx'
import { Versions } from './versions.tsx'
import './job.css'

export function JobScreen() {
  const { jobId = '' } = useParams({ strict: false })
  const found = useGet<JobDetails>(`/jobs/${encodeURIComponent(jobId)}`)
  useJobRefresh(jobId)
  if (found.data === undefined) {
    return (
      <Page title="Job">
        <Waiting found={found} canRetry />
        <OtherTenant path={`/jobs/${encodeURIComponent(jobId)}`} error={found.error} noun="job" />
      </Page>
    )
  }
  return <JobPage key={jobId} job={found.data} />
}

function JobPage({ job }: { job: JobDetails }) {
  const [filters, change] = useFilters()
  const [progress, start] = useOperation(`/jobs/${job.job_id}`)
  const tabs = [
    { id: 'overview', name: 'Overview', panel: () => <JobOverview job={job} /> },
    job.depends_on.length === 0 && {
      id: 'slots',
      name: 'Slots',
      panel: () => <SlotLedger jobId={job.job_id} />,
    },
    { id: 'versions', name: 'Versions', panel: () => <Versions jobId={job.job_id} /> },
    { id: 'settings', name: 'Settings', panel: () => <JobFacts job={job} /> },
  ]
  return (
    <Page title={job.name} lead={<Lead job={job} />} actions={<JobActions job={job} onOperation={start} />}>
      {job.description !== null && <p className="job-description">{job.description}</p>}
      <WhyLine jobId={job.job_id} />
      {progress}
      <Facts facts={statFacts(job)} />
      <Tabs
        label="About this job"
        tabs={tabs}
        selected={filters['tab'] ?? 'overview'}
        onSelect={(tab) => change({ tab: tab === 'overview' ? undefined : tab })}
      />
    </Page>
  )
}

function Lead({ job }: { job: JobDetails }) {
  return (
    <span className="job-lead">
      <Status status={job.status} />
      <ScheduleText job={job} />
      {job.key !== null && <code>{job.key}</code>}
      <Tags tags={job.tags} />
    </span>
  )
}

function statFacts({ status, pause, schedule, stats }: JobDetails) {
  const paused = pause !== null && (
    <>
      <Time at={pause.since} /> by {pause.by}
      {pause.reason !== null && `: ${pause.reason}`}
      {pause.until !== null && (
        <>
          , until <InstantInText at={pause.until} />
        </>
      )}
    </>
  )
  return {
    Paused: status === 'PAUSED' ? paused : undefined,
    'Next run': <Countdown at={schedule?.next_run_at ?? null} />,
    'Last run': <Time at={schedule?.last_run_at} missing="none yet" />,
    Runs: formatCount(stats.total_runs),
    Succeeded: formatShare(stats.success_rate),
    'Avg. duration': <Duration ms={stats.avg_duration_ms} />,
    'Last status': stats.last_status === null ? 'none yet' : <Status status={stats.last_status} />,
  }
}

const refreshMs = 3_000

/** Asks again when something of this job happened, and not oftener than every few seconds. */
function useJobRefresh(jobId: string): void {
  const invalidate = useInvalidate()
  const lastMs = useRef(0)
  const refresh = (items: readonly { job_id: string }[]) => {
    if (document.hidden || Date.now() - lastMs.current < refreshMs) return
    if (!items.some(({ job_id }) => job_id === jobId)) return
    lastMs.current = Date.now()
    void invalidate(`/jobs/${jobId}`)
  }
  useLive('executions', ({ items }) => refresh(items))
  useLive('jobs', ({ items }) => {
    lastMs.current = 0
    refresh(items)
  })
}

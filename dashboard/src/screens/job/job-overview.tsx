// How the job is doing: why it runs or not, its year, its durations, its next slots, its executions, its dependencies.
import type { ActivityList } from '@carillon/contract/activity.ts'
import type { ExecutionItem, SkippedSlot } from '@carillon/contract/execution.ts'
import type { JobGraph } from '@carillon/contract/graph-run.ts'
import type { JobDetails } from '@carillon/contract/job.ts'
import type { SchedulePreviewRequest } from '@carillon/contract/schedule.ts'
import type { WhyReply } from '@carillon/contract/slot.ts'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useGet } from '../../api/hooks.ts'
import { Chart } from '../../components/chart.tsx'
import { ExecutionLink, JobLink } from '../../components/links.tsx'
import { Card, Empty, ErrorBox, PlainTable, Waiting } from '../../components/page.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { Status } from '../../components/status.tsx'
import { Duration, Time } from '../../components/time.tsx'
import { formatDuration, sourceOf } from '../../lib/format.ts'
import { NextRuns, Warnings } from '../job-editor/next-runs.tsx'
import { plainSchedule } from '../job-editor/schedule-form.ts'
import { usePreview } from '../job-editor/use-preview.ts'
import { Heatmap } from './heatmap.tsx'

export function JobOverview({ job }: { job: JobDetails }) {
  return (
    <>
      <Heatmap jobId={job.job_id} />
      <div className="job-grid">
        <NextRunsCard job={job} />
        <RecentExecutions jobId={job.job_id} />
        <DurationTrend jobId={job.job_id} />
        <Dependencies job={job} />
      </div>
    </>
  )
}

export function WhyLine({ jobId }: { jobId: string }) {
  const found = useGet<WhyReply>(`/jobs/${jobId}/why`, { everyMs: 15_000, keep: true })
  if (found.data === undefined) return null
  return (
    <p className="job-why">
      <Sentence text={found.data.answer} />{' '}
      {found.data.execution_id !== undefined && (
        <ExecutionLink id={found.data.execution_id}>View</ExecutionLink>
      )}
    </p>
  )
}

function NextRunsCard({ job }: { job: JobDetails }) {
  const isAsked = job.schedule !== null && job.depends_on.length === 0 && job.status !== 'DELETED'
  const request = !isAsked || job.schedule === null ? null : previewRequest(job, job.schedule)
  const found = usePreview(request)
  const said = {
    ACTIVE: null,
    PAUSED: 'The job is paused: these runs will be skipped unless it is resumed.',
    COMPLETED: 'The job is completed: it will not run again.',
    DELETED: 'The job is deleted: it will not run again.',
  }[job.status]
  return (
    <Card title="Next runs">
      {job.depends_on.length > 0 && (
        <p>No schedule of its own: this job runs after the jobs it depends on.</p>
      )}
      {job.depends_on.length === 0 && said !== null && <p>{said}</p>}
      <Waiting found={{ ...found, isPending: request !== null && found.isPending }} />
      {request !== null && found.data !== undefined && (
        <>
          <p>
            <Sentence text={found.data.description} />
          </p>
          <NextRuns preview={found.data} request={request} />
          <Warnings warnings={found.data.warnings} />
        </>
      )}
    </Card>
  )
}

function previewRequest(
  job: JobDetails,
  schedule: NonNullable<JobDetails['schedule']>,
): SchedulePreviewRequest {
  return {
    schedule: plainSchedule(schedule),
    job_id: job.job_id,
    count: 15,
    ...(job.jitter_seconds > 0 && { jitter_seconds: job.jitter_seconds }),
  }
}

const recentMax = 10

function RecentExecutions({ jobId }: { jobId: string }) {
  const found = useGet<{ executions: (ExecutionItem | SkippedSlot)[] }>(`/jobs/${jobId}/executions`, {
    query: { limit: recentMax },
  })
  const executions = (found.data?.executions ?? []).filter((one) => one.execution_id !== null)
  return (
    <Card
      title="Recent executions"
      aside={
        <Link to="/executions" search={{ job_id: jobId } as never}>
          View all
        </Link>
      }
    >
      <Waiting found={found} />
      {found.data !== undefined && executions.length === 0 && (
        <Empty title="No runs yet.">Choose "Run now" to start one.</Empty>
      )}
      {executions.length > 0 && (
        <PlainTable heads={['Due', 'Status', 'Source', 'Took']}>
          {executions.map((one) => (
            <tr key={one.execution_id}>
              <td>
                <ExecutionLink id={one.execution_id}>
                  <Time at={one.scheduled_time} />
                </ExecutionLink>
              </td>
              <td>
                <Status status={one.status} />
              </td>
              <td>{sourceOf(one.kind)}</td>
              <td>
                <Duration ms={one.duration_ms} />
              </td>
            </tr>
          ))}
        </PlainTable>
      )}
    </Card>
  )
}

function DurationTrend({ jobId }: { jobId: string }) {
  const found = useGet<ActivityList>('/activity', {
    query: { step: 'hour', job_id: jobId },
    everyMs: 60_000,
  })
  const trend = useMemo(() => trendOf(found.data?.activity ?? []), [found.data])
  const last = trend.average.length - 1
  return (
    <Card title="Duration by hour, last 7 days">
      <Waiting found={found} />
      {found.data !== undefined && trend.times.length === 0 && (
        <Empty title="Nothing ended in the last 7 days." />
      )}
      {trend.times.length === 1 && (
        <p>
          In the one hour in which it ran: {formatDuration(trend.average[0])} on average,{' '}
          {formatDuration(trend.longest[0])} at most.
        </p>
      )}
      {trend.times.length > 1 && (
        <Chart
          kind="lines"
          unit=""
          label={`Duration by hour: in the latest hour ${formatDuration(trend.average[last])} on average, ${formatDuration(trend.longest[last])} at most.`}
          times={trend.times}
          series={[
            { label: 'longest', colour: '--timed-out', values: trend.longest },
            { label: 'average', colour: '--running', values: trend.average },
          ]}
          format={formatDuration}
        />
      )}
    </Card>
  )
}

function trendOf(activity: ActivityList['activity']): {
  times: number[]
  average: number[]
  longest: number[]
} {
  const ended = activity.filter((one) => one.succeeded + one.failed + one.timed_out > 0)
  return {
    times: ended.map(({ at }) => Date.parse(at) / 1_000),
    average: ended.map((one) => one.duration_ms_sum / (one.succeeded + one.failed + one.timed_out)),
    longest: ended.map((one) => one.duration_ms_max),
  }
}

const shownMax = 50

function Dependencies({ job }: { job: JobDetails }) {
  const found = useGet<JobGraph>(`/jobs/${job.job_id}/graph`)
  const nodes = found.data?.nodes ?? []
  const byId = new Map(nodes.map((node) => [node.job_id, node]))
  const parents = job.depends_on.map(({ job_id, on }) => ({ job_id, on, node: byId.get(job_id) }))
  const children = nodes.flatMap((node) => {
    const link = node.depends_on.find(({ job_id }) => job_id === job.job_id)
    return link === undefined ? [] : [{ job_id: node.job_id, on: link.on, node }]
  })
  return (
    <Card
      title="Dependencies"
      aside={
        nodes.length > 1 && (
          <Link to="/graphs" search={{ job_id: job.job_id } as never}>
            Graph runs
          </Link>
        )
      }
    >
      {found.error !== null && <ErrorBox error={found.error} />}
      {found.data !== undefined && parents.length + children.length === 0 && (
        <p className="dim">No dependencies, and no dependents.</p>
      )}
      <JobLinks title="Runs after" links={parents} />
      <JobLinks title="Then run" links={children} />
    </Card>
  )
}

interface LinkedJob {
  job_id: string
  on: string
  node: { job_name: string; status: string } | undefined
}

const rules: Readonly<Record<string, string>> = {
  success: 'when it succeeded',
  failure: 'when it failed',
  completion: 'when it ended',
}

function JobLinks({ title, links }: { title: string; links: readonly LinkedJob[] }) {
  if (links.length === 0) return null
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <ul className="job-links">
        {links.slice(0, shownMax).map(({ job_id, on, node }) => (
          <li key={job_id}>
            <JobLink id={job_id}>{node?.job_name ?? job_id}</JobLink>{' '}
            {node !== undefined && <Status status={node.status} />}{' '}
            <span className="dim">{rules[on] ?? on}</span>
          </li>
        ))}
      </ul>
      {links.length > shownMax && <p className="dim">and {links.length - shownMax} more</p>}
    </section>
  )
}

// One execution: why it is where it is, its attempts, its request and response, and its log as it grows.
import type { Execution } from '@carillon/contract/execution.ts'
import type { JobDetails } from '@carillon/contract/job.ts'
import { useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useGet } from '../../api/hooks.ts'
import { CopyButton } from '../../components/button.tsx'
import { JsonBlock } from '../../components/code-block.tsx'
import { ExecutionLink, GraphRunLink, JobLink } from '../../components/links.tsx'
import { OtherTenant } from '../../components/other-tenant.tsx'
import { Card, Facts, Page, Waiting } from '../../components/page.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { Status } from '../../components/status.tsx'
import { Time } from '../../components/time.tsx'
import { shortId, sourceOf } from '../../lib/format.ts'
import { useNow } from '../../lib/now.ts'
import { useStore } from '../../lib/store.ts'
import { useLive, useWatch } from '../../live/hooks.ts'
import { liveStatus } from '../../live/live.ts'
import { endedStatuses } from '../../live/told-execution.ts'
import { RequestCard, ResponseCard } from './exchange.tsx'
import { ExecutionActions } from './execution-actions.tsx'
import { LogCard } from './log-card.tsx'
import { WaterfallCard } from './waterfall-chart.tsx'
import { whyLine } from './why-line.ts'
import './execution.css'

const askAgainMs = 2_000

export function ExecutionScreen() {
  const { executionId = '' } = useParams({ strict: false })
  const path = `/executions/${encodeURIComponent(executionId)}`
  const client = useQueryClient()
  const isLive = useStore(liveStatus).state === 'live'
  const kept = client.getQueryData<Execution>([path, {}])
  const mayChange = kept === undefined || !endedStatuses.includes(kept.status)
  const found = useGet<Execution>(path, { ...(!isLive && mayChange && { everyMs: askAgainMs }) })
  useWatch(executionId)
  useLive('execution', (execution) => {
    if (execution.execution_id === executionId) client.setQueryData([path, {}], execution)
  })
  const job = useGet<JobDetails>(`/jobs/${found.data?.job_id ?? ''}`, { enabled: found.data !== undefined })
  const execution = found.data
  if (execution === undefined) {
    return (
      <Page title="Execution">
        <Waiting found={found} canRetry />
        <OtherTenant path={path} error={found.error} noun="execution" />
      </Page>
    )
  }
  const isEnded = endedStatuses.includes(execution.status)
  const name = job.data?.name ?? 'Execution'
  const heading = (
    <span className="execution-heading">
      <JobLink id={execution.job_id}>{name}</JobLink> <Status status={execution.status} />
    </span>
  )
  return (
    <Page
      title={`${name} ${shortId(executionId)}`}
      heading={heading}
      lead={<WhyLine execution={execution} />}
      actions={<ExecutionActions execution={execution} />}
    >
      <Summary execution={execution} />
      {execution.progress?.fraction != null && !isEnded && (
        <progress
          className="execution-progress"
          max={1}
          value={execution.progress.fraction}
          aria-label="Progress"
        />
      )}
      <WaterfallCard execution={execution} />
      <div className="grid-2">
        <RequestCard execution={execution} job={job.data} />
        <ResponseCard key={executionId} execution={execution} />
      </div>
      <LogCard key={executionId} executionId={executionId} isEnded={isEnded} />
      <Card title="Raw">
        <details>
          <summary className="dim">As the API shows it</summary>
          <JsonBlock value={execution} label="The execution as JSON" />
        </details>
      </Card>
    </Page>
  )
}

function WhyLine({ execution }: { execution: Execution }) {
  const now = useNow()
  const isPending = execution.status === 'PENDING'
  const why = useGet<{ answer: string; status: string }>(`/jobs/${execution.job_id}/why`, {
    enabled: isPending,
    everyMs: 5_000,
  })
  const more = isPending && why.data?.status === 'PENDING' ? ` ${why.data.answer}` : ''
  return (
    <span className="execution-why" data-testid="why">
      <Sentence text={whyLine(execution, now) + more} />
    </span>
  )
}

function Summary({ execution }: { execution: Execution }) {
  const { execution_id, graph_run_id, retry_of, job_version, kind } = execution
  return (
    <Facts
      facts={{
        Due: <Time at={execution.scheduled_time} />,
        Began: <Time at={execution.started_at} missing="not yet" />,
        Ended: <Time at={execution.finished_at} missing="not yet" />,
        Source: sourceOf(kind),
        'Job version': job_version,
        Repeats: retry_of && <ExecutionLink id={retry_of}>{shortId(retry_of)}</ExecutionLink>,
        'Graph run': graph_run_id && <GraphRunLink id={graph_run_id}>{shortId(graph_run_id)}</GraphRunLink>,
        Id: (
          <span className="id">
            <code>{execution_id}</code> <CopyButton text={execution_id} />
          </span>
        ),
      }}
    />
  )
}

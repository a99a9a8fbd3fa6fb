// Running executions, the longest first, with their reported progress.
import type { Execution, ExecutionSearch } from '@carillon/contract/execution.ts'
import { Link } from '@tanstack/react-router'
import { useGet } from '../../api/hooks.ts'
import { ExecutionLink } from '../../components/links.tsx'
import { Card, ErrorBox } from '../../components/page.tsx'
import { RunNow } from '../../components/run-now.tsx'
import { Elapsed } from '../../components/time.tsx'
import { formatCount } from '../../lib/format.ts'
import { useNow } from '../../lib/now.ts'
import { useLiveSometimes } from '../../live/hooks.ts'

const shownMax = 6
/** An execution that has run for less has hardly reported any progress. */
const askProgressAfterMs = 5_000

/** `isLive`: the server answers, so that nothing to show means that nothing runs. */
export function RunningCard({ isLive }: { isLive: boolean }) {
  const found = useGet<ExecutionSearch>('/executions', {
    query: { status: 'RUNNING', limit: 50 },
    everyMs: 10_000,
  })
  useLiveSometimes(['executions'], () => void found.refetch(), 3_000)
  const running = (found.data?.executions ?? []).toSorted((a, b) =>
    (a.started_at ?? a.enqueued_at).localeCompare(b.started_at ?? b.enqueued_at),
  )
  const total = found.data?.pagination
  return (
    <Card
      title="Running"
      aside={
        total !== undefined &&
        total.total > 0 && (
          <Link to="/executions" search={{ status: 'RUNNING' } as never}>
            all {formatCount(total.total, total.total_capped)}
          </Link>
        )
      }
    >
      {isLive && found.error !== null && <ErrorBox error={found.error} />}
      {isLive && running.length === 0 && found.data !== undefined && found.error === null && (
        <p className="dim">Nothing running.</p>
      )}
      <ul className="item-list">
        {running.slice(0, shownMax).map((execution) => (
          <li key={execution.execution_id}>
            <div className="item-main">
              <span className="item-title">
                <ExecutionLink id={execution.execution_id}>{execution.job_name}</ExecutionLink>
                <Elapsed since={execution.started_at ?? execution.enqueued_at} />
              </span>
              <RunProgress
                executionId={execution.execution_id}
                since={execution.started_at ?? execution.enqueued_at}
              />
            </div>
            <RunNow jobId={execution.job_id} jobName={execution.job_name} small />
          </li>
        ))}
      </ul>
    </Card>
  )
}

// A list does not say how far an execution is; of the few that are shown each is asked.
function RunProgress({ executionId, since }: { executionId: string; since: string }) {
  const isLong = useNow() - Date.parse(since) > askProgressAfterMs
  const { data } = useGet<Execution>(`/executions/${executionId}`, { everyMs: 5_000, enabled: isLong })
  const progress = data?.progress ?? null
  if (progress === null) return <progress className="run-progress" aria-label="Progress is not known" />
  return (
    <span className="run-progress-line">
      <progress
        className="run-progress"
        aria-label="Progress"
        {...(progress.fraction !== null && { value: progress.fraction })}
        max={1}
      />
      <span className="dim">
        {progress.fraction !== null && `${Math.round(progress.fraction * 100)} %`} {progress.message}
      </span>
    </span>
  )
}

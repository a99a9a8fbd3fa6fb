// Executions that began late, were missed, or are due and wait.
import type { LateItem } from '@carillon/contract/late.ts'
import { ExecutionLink, JobLink } from '../../components/links.tsx'
import { Card } from '../../components/page.tsx'
import { RunNow } from '../../components/run-now.tsx'
import { Status } from '../../components/status.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount, formatDuration } from '../../lib/format.ts'

const shownMax = 8

export function LateCard({ late, isLive }: { late: readonly LateItem[]; isLive: boolean }) {
  return (
    <Card title="Late or missed" id="late" aside={<span className="dim">last hour</span>}>
      {late.length === 0 ? (
        isLive && <p className="dim">All on time.</p>
      ) : (
        <ul className="item-list">
          {late.slice(0, shownMax).map((one) => (
            <li key={`${one.job_id} ${one.scheduled_time} ${one.kind}`}>
              <div className="item-main">
                <span className="item-title">
                  <JobLink id={one.job_id}>{one.job_name}</JobLink>
                  <Status status={one.kind} />
                </span>
                <span className="dim">
                  due <Time at={one.scheduled_time} />
                  {one.late_ms !== null && one.kind !== 'skipped' && `, ${formatDuration(one.late_ms)} late`}
                  {one.reason !== null && `: ${one.reason}`}
                  {one.slot_count > 1 && `, ${formatCount(one.slot_count)} slots in a row`}
                  {one.execution_id !== null && (
                    <>
                      {' · '}
                      <ExecutionLink id={one.execution_id}>execution</ExecutionLink>
                    </>
                  )}
                </span>
              </div>
              <RunNow jobId={one.job_id} jobName={one.job_name} small />
            </li>
          ))}
        </ul>
      )}
      {late.length > shownMax && <p className="dim">and {late.length - shownMax} more</p>}
    </Card>
  )
}

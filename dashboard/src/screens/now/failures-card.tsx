// Failed attempts of the last hour by job and error, most first.
import type { Failure } from '@carillon/contract/failure.ts'
import { Link } from '@tanstack/react-router'
import { ExecutionLink, JobLink } from '../../components/links.tsx'
import { Card, Empty } from '../../components/page.tsx'
import { RunNow } from '../../components/run-now.tsx'
import { Time } from '../../components/time.tsx'
import { plural } from '../../lib/format.ts'

export function FailuresCard({ failures }: { failures: readonly Failure[] }) {
  return (
    <Card title="Failing, by error" aside={<span className="dim">last hour</span>}>
      {failures.length === 0 ? (
        <Empty title="Nothing failed in the last hour." />
      ) : (
        <ul className="item-list">
          {failures.map((failure) => (
            <li key={`${failure.job_id} ${failure.error_type} ${failure.message}`}>
              <div className="item-main">
                <span className="item-title">
                  <JobLink id={failure.job_id}>{failure.job_name}</JobLink>
                  <span className="count-failed">{plural(failure.count, 'failed attempt')}</span>
                </span>
                <span className="item-text">{failure.message || failure.error_type}</span>
                <span className="dim">
                  {failure.error_type} · since <Time at={failure.first_seen_at} /> · last{' '}
                  <ExecutionLink id={failure.last_execution_id}>
                    <Time at={failure.last_seen_at} />
                  </ExecutionLink>{' '}
                  ·{' '}
                  <Link to="/executions" search={{ job_id: failure.job_id, range: '1h' } as never}>
                    executions
                  </Link>
                </span>
              </div>
              <RunNow jobId={failure.job_id} jobName={failure.job_name} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

// How a job went last: the result, how long ago, and for a failure the error in a few words.
import type { ListedJob } from '@carillon/contract/job.ts'
import { ExecutionLink } from '../../components/links.tsx'
import { Status } from '../../components/status.tsx'
import { Time } from '../../components/time.tsx'
import { errorWords } from '../../lib/last-result.ts'

export function LastResult({ job }: { job: ListedJob }) {
  const { last_execution: last, consecutive_failures: failures, health } = job
  if (last === null) return <span className="dim">no result yet</span>
  const often = failures > 1 ? `${failures} times` : ''
  const error = errorWords(last)
  return (
    <span className="last-result" title={last.error?.message}>
      <ExecutionLink id={last.execution_id} className="last-result-link">
        <Status status={last.status} />
      </ExecutionLink>{' '}
      {error + often !== '' && (
        <span className="last-result-error">
          {often}
          {error !== '' && ` · ${error}`}
        </span>
      )}
      <span className="dim">
        {last.status !== 'SUCCEEDED' && ' · '}
        <Time at={last.finished_at} />
        {health === 'FLAKY' && ' · flaky'}
      </span>
    </span>
  )
}

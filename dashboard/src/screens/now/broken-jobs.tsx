// The failing jobs, the latest to break first, each with its error and the actions that may help.
import type { ListedJob } from '@carillon/contract/job.ts'
import type { Operation } from '@carillon/contract/operation.ts'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { useMay } from '../../api/session.ts'
import { useOperation } from '../../components/bulk.tsx'
import { Button } from '../../components/button.tsx'
import { ExecutionLink, JobLink } from '../../components/links.tsx'
import { Status } from '../../components/status.tsx'
import { formatCount } from '../../lib/format.ts'
import { errorWords, failureWords } from '../../lib/last-result.ts'
import { RedriveDialog } from '../dead-letters/redrive-dialog.tsx'
import { canPause } from '../jobs/can-pause.ts'
import { PauseDialog } from '../jobs/job-dialogs.tsx'
import { Since } from './since.tsx'

const shownMax = 8

interface BrokenJobsProps {
  jobs: readonly ListedJob[]
  total: number
  /** Dead letters by job. */
  letters: ReadonlyMap<string, number>
}

export function BrokenJobs({ jobs, total, letters }: BrokenJobsProps) {
  const [asked, setAsked] = useState<{ action: 'pause' | 'redrive'; job: ListedJob } | null>(null)
  const [progress, start] = useOperation('/dead-letters', '/jobs')
  const shown = jobs.slice(0, shownMax)
  const close = () => setAsked(null)
  return (
    <section className="broken" aria-label="Needs attention">
      <h2>Needs attention</h2>
      {progress}
      <ul className="broken-list">
        {shown.map((job) => (
          <BrokenJob
            key={job.job_id}
            job={job}
            letters={letters.get(job.job_id) ?? 0}
            onAsk={(action) => setAsked({ action, job })}
          />
        ))}
      </ul>
      {total > shown.length && (
        <p>
          <Link to="/jobs" search={{ health: 'FAILING' } as never}>
            and {formatCount(total - shown.length)} more
          </Link>
        </p>
      )}
      {asked?.action === 'pause' && <PauseDialog job={asked.job} onClose={close} />}
      {asked?.action === 'redrive' && (
        <RedriveDialog
          query={{ job_id: asked.job.job_id }}
          jobName={asked.job.name}
          onClose={close}
          onStarted={(operation: Operation) => start(operation)}
        />
      )}
    </section>
  )
}

interface BrokenJobProps {
  job: ListedJob
  letters: number
  onAsk(action: 'pause' | 'redrive'): void
}

function BrokenJob({ job, letters, onAsk }: BrokenJobProps) {
  const mayOperate = useMay('operate')
  const { last_execution: last, consecutive_failures: failures, failing_since: since } = job
  if (last === null || since === null) return null
  const message = last.error?.message ?? ''
  return (
    <li className="broken-job">
      <p className="broken-head">
        <JobLink id={job.job_id} className="broken-name">
          {job.name}
        </JobLink>
        {job.status === 'PAUSED' && <Status status="PAUSED" />}
      </p>
      <p className="broken-error">
        <Status status={last.status} label={failureWords(failures) || errorText(last.status)} /> since{' '}
        <Since at={since} />
      </p>
      {message !== '' && <p className="broken-message">{messageOf(errorWords(last), message)}</p>}
      <div className="broken-actions">
        <ExecutionLink id={last.execution_id} className="button">
          Open
        </ExecutionLink>
        {mayOperate && canPause(job) && job.status !== 'PAUSED' && (
          <Button aria-label={`Pause ${job.name}`} onClick={() => onAsk('pause')}>
            Pause
          </Button>
        )}
        {mayOperate && letters > 0 && (
          <Button
            aria-label={`Redrive ${formatCount(letters)} dead letters of ${job.name}`}
            onClick={() => onAsk('redrive')}
          >
            Redrive {formatCount(letters)}
          </Button>
        )}
      </div>
    </li>
  )
}

function errorText(status: string): string {
  return status === 'TIMED_OUT' ? 'timed out' : 'failed'
}

/** An HTTP status stands in most messages already. */
function messageOf(short: string, message: string): string {
  const status = /^HTTP (\d+)$/.exec(short)?.[1]
  return short === '' || (status !== undefined && message.includes(status)) ? message : `${short}: ${message}`
}

/** Jobs that succeeded in the end, but not at the first attempt; folded away. */
export function RecoveredJobs({ jobs, total }: { jobs: readonly ListedJob[]; total: number }) {
  return (
    <details className="recovered">
      <summary>Recovered by itself ({formatCount(total)})</summary>
      <ul>
        {jobs.map((job) => (
          <li key={job.job_id}>
            <JobLink id={job.job_id}>{job.name}</JobLink>{' '}
            {job.recovered_at !== null && (
              <span className="dim">
                succeeded after a failed attempt, last at <Since at={job.recovered_at} />
              </span>
            )}
          </li>
        ))}
      </ul>
      {total > jobs.length && (
        <Link to="/jobs" search={{ health: 'FLAKY' } as never}>
          View all
        </Link>
      )}
    </details>
  )
}

/** Nothing is wrong: one line, no card. */
export function AllWell({ children }: { children: ReactNode }) {
  return (
    <p className="all-well">
      <Status status="SUCCEEDED" label="" /> {children}
    </p>
  )
}

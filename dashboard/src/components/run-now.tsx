// Runs a job now, after a question that shows the request.
import type { TriggerReply } from '@carillon/contract/trigger.ts'
import { useMay } from '../api/session.ts'
import { ConfirmAction } from './confirm-action.tsx'
import { useOpenExecution } from './links.tsx'

interface RunNowProps {
  jobId: string
  jobName: string
  /** Only the sign, where there is little room. */
  small?: boolean
}

export function RunNow({ jobId, jobName, small = false }: RunNowProps) {
  const open = useOpenExecution()
  if (!useMay('operate')) return null
  return (
    <ConfirmAction<TriggerReply>
      label={small ? null : 'Run now'}
      {...(small && { kind: 'quiet' })}
      name={`Run now: ${jobName}`}
      icon="play"
      title={`Run ${jobName} now`}
      verb="Run now"
      apiRequest={{ method: 'POST', path: `/jobs/${jobId}/trigger`, body: {}, cli: `jobs trigger ${jobId}` }}
      done="Run started."
      invalidates={['/executions', '/jobs']}
      onDone={open}
    >
      <p>Starts one execution with the payload of the job. Its schedule stays as it is.</p>
    </ConfirmAction>
  )
}

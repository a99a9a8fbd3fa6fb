// Runs a job now, after a question that shows the request.
import type { TriggerReply } from '@carillon/contract/job.ts'
import { useNavigate } from '@tanstack/react-router'
import { api } from '../api/client.ts'
import { useMay } from '../api/session.ts'
import { ConfirmAction } from './confirm-action.tsx'

export function RunNow({ jobId, jobName }: { jobId: string; jobName: string }) {
  const navigate = useNavigate()
  if (!useMay('operate')) return null
  return (
    <ConfirmAction
      label="Run now"
      name={`Run ${jobName} now`}
      icon="play"
      title={`Run ${jobName} now`}
      verb="Run it"
      twin={{ method: 'POST', path: `/jobs/${jobId}/trigger`, body: {}, cli: `jobs trigger ${jobId}` }}
      run={() => api.post<TriggerReply>(`/jobs/${jobId}/trigger`)}
      done="It is on its way."
      invalidates={['/executions', '/jobs']}
      onDone={({ execution_id }) =>
        void navigate({ to: '/executions/$executionId', params: { executionId: execution_id } })
      }
    >
      <p>One execution with the payload of the job, beside its schedule.</p>
    </ConfirmAction>
  )
}

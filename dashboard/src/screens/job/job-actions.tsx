// Actions on the job: run it now, pause, resume, edit, duplicate, run its past slots, delete.
import type { JobDetails, JobState } from '@carillon/contract/job.ts'
import type { Operation } from '@carillon/contract/operation.ts'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useMay } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-action.tsx'
import { Check, SelectField, TextField } from '../../components/field.tsx'
import { Menu } from '../../components/menu.tsx'
import { useKey } from '../../lib/keys.ts'
import { serverNow } from '../../lib/now.ts'
import { dayMs } from '../../lib/units.ts'
import { canPause } from '../jobs/can-pause.ts'
import { withSeconds } from '../jobs/date-time.ts'
import { PauseDialog, ResumeDialog, RunNowDialog } from '../jobs/job-dialogs.tsx'

type Asked = 'run' | 'pause' | 'resume' | 'backfill' | 'delete'

interface JobActionsProps {
  job: JobDetails
  onOperation(operation: Operation): void
}

export function JobActions({ job, onOperation }: JobActionsProps) {
  const [asked, setAsked] = useState<Asked | null>(null)
  const mayOperate = useMay('operate')
  const mayWrite = useMay('write')
  const navigate = useNavigate()
  const isDeleted = job.status === 'DELETED'
  const close = () => setAsked(null)
  const edit = () => void navigate({ to: '/jobs/$jobId/edit', params: { jobId: job.job_id } })
  const duplicate = () => void navigate({ to: '/jobs/new', search: { from: job.job_id } as never })
  useKey('e', 'Edit this job', () => mayWrite && !isDeleted && edit())
  useKey('t', 'Run this job now', () => mayOperate && !isDeleted && setAsked('run'))
  const canBackfill =
    mayOperate && !isDeleted && job.depends_on.length === 0 && job.schedule?.after_completion !== true
  const more = [
    mayWrite && { name: 'Duplicate', run: duplicate },
    canBackfill && { name: 'Backfill …', run: () => setAsked('backfill') },
    mayWrite && !isDeleted && { name: 'Delete …', danger: true, run: () => setAsked('delete') },
  ]
  return (
    <>
      {mayOperate && !isDeleted && (
        <>
          <Button kind="primary" icon="play" onClick={() => setAsked('run')}>
            Run now
          </Button>
          {job.status === 'ACTIVE' && canPause(job) && (
            <Button icon="pause" onClick={() => setAsked('pause')}>
              Pause
            </Button>
          )}
          {job.status === 'PAUSED' && (
            <Button icon="play" onClick={() => setAsked('resume')}>
              Resume
            </Button>
          )}
        </>
      )}
      {mayWrite && !isDeleted && (
        <Button icon="edit" onClick={edit}>
          Edit
        </Button>
      )}
      <Menu label="More" items={more} />
      {asked === 'run' && <RunNowDialog job={job} payload={job.execution.payload} onClose={close} />}
      {asked === 'pause' && <PauseDialog job={job} onClose={close} />}
      {asked === 'resume' && <ResumeDialog job={job} onClose={close} />}
      {asked === 'backfill' && <BackfillDialog job={job} onClose={close} onOperation={onOperation} />}
      {asked === 'delete' && <DeleteDialog job={job} onClose={close} />}
    </>
  )
}

function DeleteDialog({ job, onClose }: { job: JobDetails; onClose(): void }) {
  const [typed, setTyped] = useState('')
  const [cancelsRunning, setCancelsRunning] = useState(false)
  const navigate = useNavigate()
  const path = `/jobs/${job.job_id}${cancelsRunning ? '?cancel_running=true' : ''}`
  return (
    <ConfirmDialog<JobState>
      title={`Delete ${job.name}`}
      verb="Delete job"
      danger
      disabled={typed.trim() !== job.name.trim()}
      apiRequest={{
        method: 'DELETE',
        path,
        cli: `jobs delete ${job.job_id}${cancelsRunning ? ' --cancel-running' : ''} --yes`,
      }}
      done={`${job.name} is deleted.`}
      invalidates={['/jobs']}
      onDone={() => void navigate({ to: '/jobs' })}
      onClose={onClose}
    >
      <p>
        Nothing of it starts any more, and waiting executions are cancelled. Its history stays. This cannot be
        undone.
      </p>
      <Check isOn={cancelsRunning} onChange={setCancelsRunning}>
        Cancel running executions, too
      </Check>
      <TextField label={`Type ${job.name} to confirm`} value={typed} onText={setTyped} />
    </ConfirmDialog>
  )
}

const orders = [
  { value: 'asc', name: 'oldest slot first' },
  { value: 'desc', name: 'latest slot first' },
]

function BackfillDialog({ job, onClose, onOperation }: JobActionsProps & { onClose(): void }) {
  const [from, setFrom] = useState(() => utcText(serverNow() - dayMs))
  const [to, setTo] = useState(() => utcText(serverNow()))
  const [order, setOrder] = useState('asc')
  const [concurrent, setConcurrent] = useState('1')
  const path = `/jobs/${job.job_id}/backfill`
  const count = Number(concurrent)
  const isCount = Number.isInteger(count) && count >= 1 && count <= 100
  const body = {
    from: `${withSeconds(from)}Z`,
    to: `${withSeconds(to)}Z`,
    ...(order !== 'asc' && { order }),
    ...(count !== 1 && { max_concurrent: count }),
  }
  return (
    <ConfirmDialog<Operation>
      title={`Backfill ${job.name}`}
      verb="Run slots"
      apiRequest={{ method: 'POST', path, body }}
      disabled={!isCount || from === '' || to === '' || from > to}
      done="The backfill is under way."
      onDone={onOperation}
      onClose={onClose}
    >
      <p>Each slot of the present schedule in this range runs once more, whether it ran then or not.</p>
      <div className="field-row">
        <TextField label="From (UTC)" type="datetime-local" step={1} value={from} onText={setFrom} />
        <TextField label="To (UTC)" type="datetime-local" step={1} value={to} onText={setTo} />
        <SelectField label="Order" value={order} options={orders} onText={setOrder} />
        <TextField
          label="At once (1 to 100)"
          type="number"
          min={1}
          max={100}
          value={concurrent}
          error={isCount ? null : ''}
          onText={setConcurrent}
        />
      </div>
    </ConfirmDialog>
  )
}

function utcText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19)
}

// Actions on all jobs that match the filter: first how many there are, then the question, then progress.
import type { Operation } from '@carillon/contract/operation.ts'
import { useState } from 'react'
import { useMay } from '../../api/session.ts'
import { Counted, useDryRun, useOperation } from '../../components/bulk.tsx'
import { ConfirmDialog } from '../../components/confirm-action.tsx'
import { TextField } from '../../components/field.tsx'
import { Menu } from '../../components/menu.tsx'
import { quote } from '../../lib/api-request.ts'
import { formatCount } from '../../lib/format.ts'
import { usePauseFields } from './job-dialogs.tsx'

type Action = 'pause' | 'resume' | 'trigger' | 'delete'
type Filter = Readonly<Record<string, string>>

const actions: Record<Action, { title: string; verb: string; what: string }> = {
  pause: { title: 'Pause all that match', verb: 'Pause jobs', what: 'Their schedules stop until resumed.' },
  resume: {
    title: 'Resume all that match',
    verb: 'Resume jobs',
    what: 'Their schedules start again now.',
  },
  trigger: {
    title: 'Run all that match now',
    verb: 'Run now',
    what: 'Each job starts one execution now, with its own payload.',
  },
  delete: {
    title: 'Delete all that match',
    verb: 'Delete jobs',
    what: 'They never run again. Their history stays. This cannot be undone.',
  },
}

export function BulkJobs({ filter }: { filter: Filter }) {
  const [asked, setAsked] = useState<Action | null>(null)
  const [progress, start] = useOperation('/jobs')
  const mayOperate = useMay('operate')
  const mayWrite = useMay('write')
  if (filter['status'] === 'DELETED') return null
  const allowed = (Object.keys(actions) as Action[]).filter((action) => action !== 'delete' || mayWrite)
  return (
    <>
      {mayOperate && (
        <Menu
          label={Object.keys(filter).length === 0 ? 'All jobs' : 'All that match'}
          items={allowed.map((action) => ({
            name: `${actions[action].title} …`,
            danger: action === 'delete',
            run: () => setAsked(action),
          }))}
        />
      )}
      {asked !== null && (
        <BulkDialog action={asked} filter={filter} onClose={() => setAsked(null)} onStarted={start} />
      )}
      {progress}
    </>
  )
}

interface BulkDialogProps {
  action: Action
  filter: Filter
  onClose(): void
  onStarted(operation: Operation): void
}

function BulkDialog({ action, filter, onClose, onStarted }: BulkDialogProps) {
  const counted = useDryRun<Operation>('/jobs/bulk', { action, filter })
  const { body: pauseBody, fields } = usePauseFields()
  const [typed, setTyped] = useState('')
  const body = { action, filter, ...(action === 'pause' && pauseBody) }
  const { title, verb, what } = actions[action]
  const { total = 0, total_capped } = counted.reply?.progress ?? {}
  const isDangerous = action === 'delete'
  return (
    <ConfirmDialog<Operation>
      title={title}
      verb={total === 0 ? verb : `${verb} (${formatCount(total, total_capped)})`}
      apiRequest={{
        method: 'POST',
        path: '/jobs/bulk',
        body,
        cli: `jobs ${action} ${cliFilter(filter)} --yes`,
      }}
      danger={isDangerous}
      disabled={total === 0 || (isDangerous && typed.trim() !== 'delete')}
      done="It is under way."
      onDone={onStarted}
      onClose={onClose}
    >
      <Counted counted={counted} noun="job">
        {what}
      </Counted>
      {action === 'pause' && fields}
      {isDangerous && <TextField label='Type "delete" to confirm' value={typed} onText={setTyped} />}
    </ConfirmDialog>
  )
}

function cliFilter(filter: Filter): string {
  const names: Readonly<Record<string, string>> = { q: 'search' }
  const conditions = Object.entries(filter).map(
    ([name, value]) => `--filter ${quote(`${names[name] ?? name}=${value}`)}`,
  )
  return conditions.length === 0 ? '--all' : conditions.join(' ')
}

// Actions on all jobs that match the filter: first how many there are, then the question, then progress.
import type { Operation } from '@carillon/contract/operation.ts'
import { useEffect, useState } from 'react'
import { api } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { ConfirmDialog } from '../../components/confirm-action.tsx'
import { TextField } from '../../components/field.tsx'
import { Menu } from '../../components/menu.tsx'
import { OperationProgress } from '../../components/operation-progress.tsx'
import { ErrorBox, Loading } from '../../components/page.tsx'
import { formatCount, plural } from '../../lib/format.ts'
import { quote } from '../../lib/twin.ts'
import { usePauseFields } from './job-dialogs.tsx'

type Action = 'pause' | 'resume' | 'trigger' | 'delete'
type Filter = Readonly<Record<string, string>>

const actions: Record<Action, { title: string; verb: string; what: string }> = {
  pause: { title: 'Pause all that match', verb: 'Pause them', what: 'None of their slots fires.' },
  resume: {
    title: 'Resume all that match',
    verb: 'Resume them',
    what: 'Their slots fire again from now on.',
  },
  trigger: {
    title: 'Run all that match now',
    verb: 'Run them now',
    what: 'Each starts one execution at once, with its own payload.',
  },
  delete: {
    title: 'Delete all that match',
    verb: 'Delete them',
    what: 'Nothing of them starts any more. Their history stays. This cannot be undone.',
  },
}

export function BulkJobs({ filter }: { filter: Filter }) {
  const [asked, setAsked] = useState<Action | null>(null)
  const [operationId, setOperationId] = useState<string | null>(null)
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
        <BulkDialog
          action={asked}
          filter={filter}
          onClose={() => setAsked(null)}
          onStarted={(operation) => setOperationId(operation.operation_id)}
        />
      )}
      {operationId !== null && (
        <OperationProgress
          operationId={operationId}
          invalidates={['/jobs']}
          onDismiss={() => setOperationId(null)}
        />
      )}
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
  const counted = useCount(action, filter)
  const { body: pauseBody, fields } = usePauseFields()
  const [typed, setTyped] = useState('')
  const body = { action, filter, ...(action === 'pause' && pauseBody) }
  const { title, verb, what } = actions[action]
  const progress = counted.progress
  const count = progress?.total ?? 0
  const isDangerous = action === 'delete'
  return (
    <ConfirmDialog
      title={title}
      verb={count === 0 ? verb : `${verb} (${formatCount(count, progress?.total_capped)})`}
      twin={{ method: 'POST', path: '/jobs/bulk', body, cli: `jobs ${action} ${cliFilter(filter)} --yes` }}
      danger={isDangerous}
      disabled={count === 0 || (isDangerous && typed.trim() !== 'delete')}
      run={() => api.post<Operation>('/jobs/bulk', body)}
      done="It is under way."
      onDone={onStarted}
      onClose={onClose}
    >
      {counted.error !== null && <ErrorBox error={counted.error} />}
      {progress === null && counted.error === null && <Loading label="Counting" />}
      {progress !== null && (
        <p>
          <strong>{progress.total_capped ? `At least ${plural(count, 'job')}` : plural(count, 'job')}</strong>{' '}
          {count === 1 ? 'matches' : 'match'} now. {what}
        </p>
      )}
      {action === 'pause' && fields}
      {isDangerous && <TextField label='To be sure, write "delete"' value={typed} onText={setTyped} />}
    </ConfirmDialog>
  )
}

function useCount(action: Action, filter: Filter) {
  const [progress, setProgress] = useState<Operation['progress'] | null>(null)
  const [error, setError] = useState<unknown>(null)
  const filterText = JSON.stringify(filter)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text stands for the filter
  useEffect(() => {
    const abort = new AbortController()
    api
      .post<Operation>('/jobs/bulk', { action, filter }, { query: { dry_run: true }, signal: abort.signal })
      .then((operation) => setProgress(operation.progress))
      .catch((caught: unknown) => {
        if (!abort.signal.aborted) setError(caught)
      })
    return () => abort.abort()
  }, [action, filterText])
  return { progress, error }
}

function cliFilter(filter: Filter): string {
  const names: Readonly<Record<string, string>> = { q: 'search' }
  const conditions = Object.entries(filter).map(
    ([name, value]) => `--filter ${quote(`${names[name] ?? name}=${value}`)}`,
  )
  return conditions.length === 0 ? '--all' : conditions.join(' ')
}

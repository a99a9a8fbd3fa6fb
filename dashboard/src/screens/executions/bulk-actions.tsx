// Actions on all executions that match the filter: first how many there are, then the question, then progress.
import type { Operation } from '@carillon/contract/operation.ts'
import { useEffect, useState } from 'react'
import { api } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { ConfirmDialog } from '../../components/confirm-action.tsx'
import { Menu } from '../../components/menu.tsx'
import { OperationProgress } from '../../components/operation-progress.tsx'
import { ErrorBox, Loading } from '../../components/page.tsx'
import { formatCount, plural } from '../../lib/format.ts'
import type { Twin } from '../../lib/twin.ts'
import { cancelFilterOf, redriveFilterOf } from './execution-filters.ts'

interface Bulk {
  title: string
  verb: string
  noun: string
  path: string
  body: Record<string, unknown>
  danger: boolean
  cli?: string
}

export function BulkActions({ query }: { query: Readonly<Record<string, string>> }) {
  const [asked, setAsked] = useState<Bulk | null>(null)
  const [operationId, setOperationId] = useState<string | null>(null)
  const may = useMay('operate')
  const actions = may ? bulksOf(query) : []
  return (
    <>
      {actions.length > 0 && (
        <Menu
          label="All that match"
          items={actions.map((bulk) => ({
            name: `${bulk.title} …`,
            danger: bulk.danger,
            run: () => setAsked(bulk),
          }))}
        />
      )}
      {asked !== null && (
        <BulkDialog
          bulk={asked}
          onClose={() => setAsked(null)}
          onStarted={(operation) => setOperationId(operation.operation_id)}
        />
      )}
      {operationId !== null && (
        <OperationProgress
          operationId={operationId}
          invalidates={['/executions', '/dead-letters']}
          onDismiss={() => setOperationId(null)}
        />
      )}
    </>
  )
}

function bulksOf(query: Readonly<Record<string, string>>): Bulk[] {
  const cancel = cancelFilterOf(query)
  const redrive = redriveFilterOf(query)
  const bulks: Bulk[] = []
  if (cancel !== null) {
    bulks.push({
      title: 'Cancel all that match and have not ended',
      verb: 'Cancel them',
      noun: 'execution',
      path: '/executions/cancel',
      body: { filter: cancel },
      danger: true,
    })
  }
  if (redrive !== null) {
    bulks.push({
      title: 'Redrive all dead letters that match',
      verb: 'Redrive them',
      noun: 'dead letter',
      path: '/dead-letters/redrive',
      body: { filter: redrive, rate_per_second: 50 },
      danger: false,
      cli: `dead-letters redrive ${Object.keys(redrive).length === 0 ? '--all ' : ''}${Object.entries(redrive)
        .map(([name, value]) => `--filter ${name === 'job_id' ? 'job' : 'error'}=${value}`)
        .concat('--rate 50')
        .join(' ')}`,
    })
  }
  return bulks
}

function BulkDialog(props: { bulk: Bulk; onClose(): void; onStarted(operation: Operation): void }) {
  const { bulk, onClose, onStarted } = props
  const [counted, setCounted] = useState<Operation['progress'] | null>(null)
  const [error, setError] = useState<unknown>(null)
  useEffect(() => {
    const abort = new AbortController()
    api
      .post<Operation>(bulk.path, bulk.body, { query: { dry_run: true }, signal: abort.signal })
      .then(({ progress }) => setCounted(progress))
      .catch((caught: unknown) => {
        if (!abort.signal.aborted) setError(caught)
      })
    return () => abort.abort()
  }, [bulk])
  const twin: Twin = {
    method: 'POST',
    path: bulk.path,
    body: bulk.body,
    ...(bulk.cli !== undefined && { cli: bulk.cli }),
  }
  const count = counted?.total ?? 0
  return (
    <ConfirmDialog
      title={bulk.title}
      verb={count === 0 ? bulk.verb : `${bulk.verb} (${formatCount(count, counted?.total_capped)})`}
      twin={twin}
      danger={bulk.danger}
      disabled={count === 0}
      run={() => api.post<Operation>(bulk.path, bulk.body)}
      done="It is under way."
      onDone={onStarted}
      onClose={onClose}
    >
      {error !== null && <ErrorBox error={error} />}
      {counted === null && error === null && <Loading label="Counting" />}
      {counted !== null && (
        <p>
          <strong>
            {counted.total_capped ? `At least ${plural(count, bulk.noun)}` : plural(count, bulk.noun)}
          </strong>{' '}
          {count === 1 ? 'matches' : 'match'} now. What matches when the work begins is what counts.
        </p>
      )}
    </ConfirmDialog>
  )
}

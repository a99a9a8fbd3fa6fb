// A redrive of all letters that match, at most so many a second: first how many they are, then the question.
import type { Operation } from '@carillon/contract/operation.ts'
import { useEffect, useState } from 'react'
import { api } from '../../api/client.ts'
import { ConfirmDialog } from '../../components/confirm-action.tsx'
import { TextField } from '../../components/field.tsx'
import { ErrorBox, Loading } from '../../components/page.tsx'
import { formatCount, formatDuration, plural, words } from '../../lib/format.ts'
import { readRate, redriveCommandOf, redriveSeconds } from './letter-filters.ts'

interface RedriveDialogProps {
  query: Readonly<Record<string, string>>
  onClose(): void
  onStarted(operation: Operation): void
}

const path = '/dead-letters/redrive'

export function RedriveDialog({ query, onClose, onStarted }: RedriveDialogProps) {
  const [rateText, setRateText] = useState('50')
  const [counted, setCounted] = useState<Operation['progress'] | null>(null)
  const [error, setError] = useState<unknown>(null)
  useEffect(() => {
    const abort = new AbortController()
    api
      .post<Operation>(path, { filter: query }, { query: { dry_run: true }, signal: abort.signal })
      .then(({ progress }) => setCounted(progress))
      .catch((caught: unknown) => {
        if (!abort.signal.aborted) setError(caught)
      })
    return () => abort.abort()
  }, [query])
  const rate = readRate(rateText)
  const body = { filter: query, rate_per_second: rate ?? 50 }
  const cli = redriveCommandOf(query, rate ?? 50)
  const count = counted?.total ?? 0
  const conditions = Object.entries(query).map(([name, value]) => `${words(name)} ${value}`)
  return (
    <ConfirmDialog
      title={conditions.length === 0 ? 'Redrive all dead letters' : 'Redrive all that match'}
      verb={count === 0 ? 'Redrive' : `Redrive ${formatCount(count, counted?.total_capped)}`}
      twin={{ method: 'POST', path, body, ...(cli !== undefined && { cli }) }}
      disabled={count === 0 || rate === null}
      run={() => api.post<Operation>(path, body)}
      done="The redrive is under way."
      onDone={onStarted}
      onClose={onClose}
      invalidates={['/dead-letters']}
    >
      {error !== null && <ErrorBox error={error} />}
      {counted === null && error === null && <Loading label="Counting" />}
      {counted !== null && (
        <p>
          <strong>
            {counted.total_capped ? 'At least ' : ''}
            {plural(count, 'dead letter')}
          </strong>{' '}
          {count === 1 ? 'matches' : 'match'} now{conditions.length > 0 && ` (${conditions.join(', ')})`}. The
          newest go first; each becomes a new execution, and its letter is gone.
        </p>
      )}
      <TextField
        label="How many a second"
        className="rate"
        kind="number"
        isSpoken
        error={rate === null ? 'A whole number from 1 to 1,000.' : null}
        hint={`It takes about ${formatDuration(redriveSeconds(count, rate ?? 1) * 1_000)}. It can be ended on the way.`}
        value={rateText}
        onText={setRateText}
      />
    </ConfirmDialog>
  )
}

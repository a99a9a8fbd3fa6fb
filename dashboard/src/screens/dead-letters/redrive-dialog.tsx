// A redrive of all letters that match, at most so many a second: first how many they are, then the question.
import type { Operation } from '@carillon/contract/operation.ts'
import { useState } from 'react'
import { Counted, useDryRun } from '../../components/bulk.tsx'
import { ConfirmDialog } from '../../components/confirm-action.tsx'
import { TextField } from '../../components/field.tsx'
import { formatCount, formatDuration, words } from '../../lib/format.ts'
import { readRate, redriveCommandOf, redriveSeconds } from './letter-filters.ts'

interface RedriveDialogProps {
  query: Readonly<Record<string, string>>
  /** The name of the job, if the query is about a single job. */
  jobName?: string
  onClose(): void
  onStarted(operation: Operation): void
}

const path = '/dead-letters/redrive'

export function RedriveDialog({ query, jobName, onClose, onStarted }: RedriveDialogProps) {
  const [rateText, setRateText] = useState('50')
  const counted = useDryRun<Operation>(path, { filter: query })
  const rate = readRate(rateText)
  const body = { filter: query, rate_per_second: rate ?? 50 }
  const cli = redriveCommandOf(query, rate ?? 50)
  const { total = 0, total_capped } = counted.reply?.progress ?? {}
  const conditions = Object.entries(query).map(([name, value]) => `${words(name)} ${value}`)
  return (
    <ConfirmDialog<Operation>
      title={titleOf(conditions.length, jobName)}
      verb={total === 0 ? 'Redrive' : `Redrive ${formatCount(total, total_capped)}`}
      apiRequest={{ method: 'POST', path, body, ...(cli !== undefined && { cli }) }}
      disabled={total === 0 || rate === null}
      done="Redrive started."
      onDone={onStarted}
      onClose={onClose}
      invalidates={['/dead-letters']}
    >
      <Counted
        counted={counted}
        noun="dead letter"
        where={conditions.length === 0 || jobName !== undefined ? '' : ` (${conditions.join(', ')})`}
      >
        The newest go first; each becomes a new execution, and its letter is gone.
      </Counted>
      <TextField
        label="Rate (per second)"
        className="rate"
        kind="number"
        isSpoken
        error={rate === null ? 'A whole number from 1 to 1,000.' : null}
        hint={`It takes about ${formatDuration(redriveSeconds(total, rate ?? 1) * 1_000)}. You can stop it at any time.`}
        value={rateText}
        onText={setRateText}
      />
    </ConfirmDialog>
  )
}

function titleOf(conditionsCount: number, jobName: string | undefined): string {
  if (jobName !== undefined) return `Redrive the dead letters of ${jobName}`
  return conditionsCount === 0 ? 'Redrive all dead letters' : 'Redrive all that match'
}

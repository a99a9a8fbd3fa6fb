// Actions on all executions that match the filter: first how many there are, then the question, then progress.
import type { Operation } from '@carillon/contract/operation.ts'
import { useState } from 'react'
import { useMay } from '../../api/session.ts'
import { Counted, useDryRun, useOperation } from '../../components/bulk.tsx'
import { ConfirmDialog } from '../../components/confirm-action.tsx'
import { Menu } from '../../components/menu.tsx'
import { formatCount } from '../../lib/format.ts'
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
  const [progress, start] = useOperation('/executions', '/dead-letters')
  const may = useMay('operate')
  const actions = may ? bulksOf(query) : []
  return (
    <>
      <Menu
        label="All that match"
        items={actions.map((bulk) => ({
          name: `${bulk.title} …`,
          danger: bulk.danger,
          run: () => setAsked(bulk),
        }))}
      />
      {asked !== null && <BulkDialog bulk={asked} onClose={() => setAsked(null)} onStarted={start} />}
      {progress}
    </>
  )
}

function bulksOf(query: Readonly<Record<string, string>>): Bulk[] {
  const cancel = cancelFilterOf(query)
  const redrive = redriveFilterOf(query)
  const bulks: (Bulk | false)[] = [
    cancel !== null && {
      title: 'Cancel all that match and have not ended',
      verb: 'Cancel executions',
      noun: 'execution',
      path: '/executions/cancel',
      body: { filter: cancel },
      danger: true,
    },
    redrive !== null && {
      title: 'Redrive all dead letters that match',
      verb: 'Redrive',
      noun: 'dead letter',
      path: '/dead-letters/redrive',
      body: { filter: redrive, rate_per_second: 50 },
      danger: false,
      cli: `dead-letters redrive ${Object.keys(redrive).length === 0 ? '--all ' : ''}${Object.entries(redrive)
        .map(([name, value]) => `--filter ${name === 'job_id' ? 'job' : 'error'}=${value}`)
        .concat('--rate 50')
        .join(' ')}`,
    },
  ]
  return bulks.filter((bulk) => bulk !== false)
}

interface BulkDialogProps {
  bulk: Bulk
  onClose(): void
  onStarted(operation: Operation): void
}

function BulkDialog({ bulk, onClose, onStarted }: BulkDialogProps) {
  const { title, verb, noun, danger, ...request } = bulk
  const counted = useDryRun<Operation>(bulk.path, bulk.body)
  const { total = 0, total_capped } = counted.reply?.progress ?? {}
  return (
    <ConfirmDialog<Operation>
      title={title}
      verb={total === 0 ? verb : `${verb} (${formatCount(total, total_capped)})`}
      apiRequest={{ method: 'POST', ...request }}
      danger={danger}
      disabled={total === 0}
      done="It is under way."
      onDone={onStarted}
      onClose={onClose}
    >
      <Counted counted={counted} noun={noun}>
        The filter is applied when the work begins: the number may differ by then.
      </Counted>
    </ConfirmDialog>
  )
}

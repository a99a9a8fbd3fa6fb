// Every slot of the job and its status; why, in a sentence, for each.
import type { SlotItem, WhyReply } from '@carillon/contract/slot.ts'
import { useCallback, useId, useMemo, useState } from 'react'
import { useGet, useList } from '../../api/hooks.ts'
import { Button } from '../../components/button.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Select } from '../../components/field.tsx'
import { ExecutionLink } from '../../components/links.tsx'
import { Empty, Waiting } from '../../components/page.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { Status } from '../../components/status.tsx'
import { Time } from '../../components/time.tsx'
import { useFilters } from '../../lib/filters.ts'
import { words } from '../../lib/format.ts'
import { withInstants } from '../../lib/instants.ts'
import { serverNow } from '../../lib/now.ts'
import { timeMode } from '../../lib/preferences.ts'
import { useStore } from '../../lib/store.ts'
import { hourMs } from '../../lib/units.ts'

const ranges: Readonly<Record<string, { name: string; fromMs: number; toMs: number }>> = {
  '1h': { name: 'last hour', fromMs: -hourMs, toMs: 0 },
  '24h': { name: 'last 24 hours', fromMs: -24 * hourMs, toMs: 0 },
  '7d': { name: 'last 7 days', fromMs: -168 * hourMs, toMs: 0 },
  '30d': { name: 'last 30 days', fromMs: -720 * hourMs, toMs: 0 },
  next: { name: 'next 24 hours', fromMs: 0, toMs: 24 * hourMs },
}

export function SlotLedger({ jobId }: { jobId: string }) {
  const [filters, change] = useFilters()
  const name = filters['slots'] ?? '24h'
  const query = useMemo(() => {
    const { fromMs, toMs } = ranges[name] ?? ranges['24h']!
    const now = serverNow()
    const window = { from: new Date(now + fromMs).toISOString(), to: new Date(now + toMs).toISOString() }
    // Nearest to now first, in the past as in the future.
    return { ...window, order: toMs > 0 ? 'asc' : 'desc' }
  }, [name])
  const list = useList<SlotItem>(`/jobs/${jobId}/slots`, 'slots', { query })
  const [asked, setAsked] = useState<string | null>(null)
  const textOf = useInstantText()
  const columns = useMemo(() => columnsOf(textOf, setAsked), [textOf])
  const selectId = useId()
  return (
    <>
      <p className="inline-field">
        <label htmlFor={selectId}>Slots in the</label>
        <Select
          id={selectId}
          value={name}
          options={Object.entries(ranges).map(([value, range]) => ({ value, name: range.name }))}
          onText={(slots) => change({ slots })}
        />
      </p>
      <DataTable
        label="Slots"
        rows={list.items}
        columns={columns}
        rowKey={(slot) => slot.scheduled_time}
        list={list}
        empty={<Empty title="No runs were due in this period.">Choose a longer period.</Empty>}
      />
      {asked !== null && <WhyDialog jobId={jobId} at={asked} onClose={() => setAsked(null)} />}
    </>
  )
}

function columnsOf(textOf: (at: string) => string, ask: (at: string) => void): Column<SlotItem>[] {
  return [
    {
      header: 'Slot',
      width: 'minmax(8rem, 1fr)',
      cell: (slot) =>
        slot.execution_id === undefined ? (
          <Time at={slot.scheduled_time} />
        ) : (
          <ExecutionLink id={slot.execution_id} isRow>
            <Time at={slot.scheduled_time} />
          </ExecutionLink>
        ),
    },
    {
      header: 'Outcome',
      width: 'minmax(9rem, 2fr)',
      cell: (slot) => (
        <Status
          status={slot.status}
          label={slot.reason === undefined ? words(slot.status) : `${words(slot.status)}: ${slot.reason}`}
        />
      ),
    },
    {
      header: '',
      name: 'Why',
      width: '4.5rem',
      align: 'end',
      cell: (slot) => (
        <Button
          kind="quiet"
          aria-label={`Why, at ${textOf(slot.scheduled_time)}`}
          onClick={() => ask(slot.scheduled_time)}
        >
          Why?
        </Button>
      ),
    },
  ]
}

/** An instant as the person reads it, for titles and labels. */
function useInstantText(): (at: string) => string {
  const mode = useStore(timeMode)
  return useCallback((at) => withInstants(at, mode, serverNow()), [mode])
}

function WhyDialog({ jobId, at, onClose }: { jobId: string; at: string; onClose(): void }) {
  const found = useGet<WhyReply>(`/jobs/${jobId}/why`, { query: { at } })
  const textOf = useInstantText()
  return (
    <Dialog title={`Why, at ${textOf(at)}`} onClose={onClose}>
      <Waiting found={found} />
      {found.data !== undefined && (
        <p>
          <Sentence text={found.data.answer} />
        </p>
      )}
    </Dialog>
  )
}

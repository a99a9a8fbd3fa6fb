// Executions of all jobs, newest first, by filters that are in the address.
import { ERROR_TYPES, EXECUTION_KINDS, EXECUTION_STATUSES } from '@carillon/contract/constants.ts'
import { useEffect, useMemo, useState } from 'react'
import { useList } from '../../api/hooks.ts'
import { Button } from '../../components/button.tsx'
import { type Column, DataTable, DimText, TwoLines, wideColumn } from '../../components/data-table.tsx'
import { FilterBar, FilterSelect, FilterText, StatusChips } from '../../components/filter-bar.tsx'
import { ExecutionLink } from '../../components/links.tsx'
import { Empty, Page } from '../../components/page.tsx'
import { Status } from '../../components/status.tsx'
import { Time } from '../../components/time.tsx'
import { exampleJob } from '../../lib/example-job.ts'
import { useQueryOf } from '../../lib/filters.ts'
import { formatCount, sourceOf, words } from '../../lib/format.ts'
import { foundText } from '../../lib/found-text.ts'
import { useKey } from '../../lib/keys.ts'
import { useLive } from '../../live/hooks.ts'
import { withEvent } from '../../live/told-execution.ts'
import { BulkActions } from './bulk-actions.tsx'
import { DurationBar } from './duration-bar.tsx'
import { filterNames } from './execution-filters.ts'
import { freshMax, noLiveRows, type Row, takeLiveRows } from './live-rows.ts'
import { JobFilter, TimeRange, WorkerFilter } from './more-filters.tsx'
import './executions.css'

const statuses = EXECUTION_STATUSES.filter((status) => status !== 'SKIPPED')

export function ExecutionsScreen() {
  const query = useQueryOf(filterNames)
  const list = useList<Row>('/executions', 'executions', { query })
  const { rows, fresh, refresh } = useLiveRows(list, query)
  const longestMs = rows.reduce((most, row) => Math.max(most, row.duration_ms ?? 0), 0)
  const columns = useMemo(() => columnsOf(longestMs), [longestMs])
  return (
    <Page
      title="Executions"
      lead={
        <Found total={foundText({ ...list, loaded: list.items.length })} fresh={fresh} onShow={refresh} />
      }
      actions={<BulkActions query={query} />}
    >
      <FilterBar names={filterNames}>
        <FilterText name="q" label="Job, key, tag or error" isSearch />
        <FilterText name="tag" label="Tag" />
        <FilterSelect
          name="kind"
          label="Source"
          options={EXECUTION_KINDS.map((value) => ({ value, name: sourceOf(value) }))}
        />
        <FilterSelect name="error_type" label="Error" options={ERROR_TYPES.map(optionOf)} />
        <FilterSelect
          name="dead_letter"
          label="Dead letter"
          options={[
            { value: 'true', name: 'became one' },
            { value: 'false', name: 'did not' },
          ]}
        />
        <TimeRange />
        <JobFilter />
        <WorkerFilter />
        <StatusChips statuses={statuses} />
      </FilterBar>
      <DataTable
        label="Executions"
        rows={rows}
        columns={columns}
        rowKey={(row) => row.execution_id}
        list={list}
        empty={<NoExecutions isFiltered={Object.keys(query).length > 0} />}
      />
    </Page>
  )
}

// The new ones stand where there is room for them always: a list does not move when the first one comes.
function Found({ total, fresh, onShow }: { total: string; fresh: number; onShow(): void }) {
  return (
    <span className="found">
      {total}
      {fresh > 0 && <Button onClick={onShow}>{formatCount(fresh, fresh >= freshMax)} new</Button>}
    </span>
  )
}

function optionOf(value: string): { value: string; name: string } {
  return { value, name: words(value) }
}

function useLiveRows(list: ReturnType<typeof useList<Row>>, query: Record<string, string>) {
  const [live, setLive] = useState(noLiveRows)
  const { items, refetch } = list
  const ids = useMemo(() => new Set(items.map((row) => row.execution_id)), [items])
  const newest = items[0]?.execution_id ?? null
  // A list that was read again includes the rows that were held back.
  // biome-ignore lint/correctness/useExhaustiveDependencies: with every new list
  useEffect(() => setLive(noLiveRows), [items])
  useLive('executions', ({ items: told }) => {
    if (!list.isLoading) setLive((before) => takeLiveRows(before, told, { ids, newest, query }))
  })
  const refresh = () => {
    window.scrollTo({ top: 0 })
    void refetch()
  }
  useLive('reset', () => void refetch())
  useKey('r', 'Show the new ones', refresh)
  const rows = useMemo(
    () => items.map((row) => withEvent(row, live.changed.get(row.execution_id))),
    [items, live.changed],
  )
  return { rows, fresh: live.fresh.size, refresh }
}

function columnsOf(longestMs: number): Column<Row>[] {
  return [
    { header: 'Job', width: 'minmax(9rem, 2fr)', cell: (row) => <JobCell row={row} /> },
    { header: 'Status', width: '9rem', cell: (row) => <Status status={row.status} /> },
    wideColumn('Due', '9.5rem', (row) => <Time at={row.scheduled_time} />),
    wideColumn('Source', '7rem', (row) => sourceOf(row.kind)),
    wideColumn('Attempt', '4.5rem', (row) => row.attempt_number, 'end'),
    wideColumn('Duration', '11rem', (row) => <DurationBar row={row} longestMs={longestMs} />),
    wideColumn('Error', 'minmax(8rem, 2fr)', (row) => <DimText text={row.error?.message} />),
  ]
}

function JobCell({ row }: { row: Row }) {
  const due = (
    <span className="dim">
      <Time at={row.scheduled_time} />
    </span>
  )
  return (
    <TwoLines below={due}>
      <ExecutionLink id={row.execution_id} isRow>
        {row.job_name}
      </ExecutionLink>
    </TwoLines>
  )
}

function NoExecutions({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return <Empty title="No execution matches.">Clear a filter, or choose a longer period.</Empty>
  return (
    <Empty title="Nothing has run yet." code={exampleJob()}>
      A job that calls the echo of this server every 10 seconds:
    </Empty>
  )
}

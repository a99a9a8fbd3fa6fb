// Runs of graphs, newest first, each with how far it is; the filters are in the address.
import type { GraphRunList } from '@carillon/contract/graph-run.ts'
import { useEffect, useMemo, useState } from 'react'
import { useList } from '../../api/hooks.ts'
import { type Column, DataTable, TwoLines, wideColumn } from '../../components/data-table.tsx'
import { FilterBar, StatusChips } from '../../components/filter-bar.tsx'
import { GraphRunLink } from '../../components/links.tsx'
import { Empty, Page } from '../../components/page.tsx'
import { Status } from '../../components/status.tsx'
import { Time } from '../../components/time.tsx'
import { exampleJob } from '../../lib/example-job.ts'
import { useQueryOf } from '../../lib/filters.ts'
import { words } from '../../lib/format.ts'
import { useLive, useLiveRefresh } from '../../live/hooks.ts'
import { JobFilter, TimeRange } from '../executions/more-filters.tsx'
import { NodeProgress, RunTook } from './node-progress.tsx'
import { type RunNews, withNews } from './progress.ts'

type RunRow = GraphRunList['graph_runs'][number]

const statuses = ['RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLING', 'CANCELLED']
const liveRowsMax = 100
const filterNames = ['status', 'job_id', 'range', 'start_date', 'end_date']

export function GraphsScreen() {
  const query = useQueryOf(filterNames)
  const list = useList<RunRow>('/graph-runs', 'graph_runs', { query })
  const rows = useLiveRuns(list.items)
  // A long list changes in place only; it is read again when a person asks.
  useLiveRefresh(['graph_runs'], list.items.length <= liveRowsMax ? ['/graph-runs'] : [])
  return (
    <Page title="Graphs" lead="Runs of jobs that depend on each other, newest first.">
      <FilterBar names={filterNames}>
        <StatusChips statuses={statuses} />
        <TimeRange />
        <JobFilter />
      </FilterBar>
      <DataTable
        label="Graph runs"
        rows={rows}
        columns={columns}
        rowKey={(row) => row.graph_run_id}
        list={list}
        empty={<NoRuns isFiltered={Object.keys(query).length > 0} />}
      />
    </Page>
  )
}

function useLiveRuns(items: readonly RunRow[]): readonly RunRow[] {
  const [told, setTold] = useState<ReadonlyMap<string, RunNews>>(new Map())
  // biome-ignore lint/correctness/useExhaustiveDependencies: a list that was read again includes the events so far
  useEffect(() => setTold(new Map()), [items])
  useLive('graph_runs', ({ items: news }) =>
    setTold((before) => {
      const shown = new Set(items.map(({ graph_run_id }) => graph_run_id))
      const seen = news.filter(({ graph_run_id }) => shown.has(graph_run_id))
      return seen.length === 0
        ? before
        : new Map([...before, ...seen.map((run) => [run.graph_run_id, run] as const)])
    }),
  )
  return useMemo(() => items.map((row) => withNews(row, told.get(row.graph_run_id))), [items, told])
}

const columns: Column<RunRow>[] = [
  { header: 'Starts with', width: 'minmax(9rem, 2fr)', cell: (row) => <RootsCell row={row} /> },
  { header: 'Status', width: '7.5rem', cell: (row) => <Status status={row.status} /> },
  wideColumn('Nodes', 'minmax(9rem, 1.4fr)', (row) => <NodeProgress counts={row.nodes_by_status} />),
  wideColumn('Due', '9.5rem', (row) => <Time at={row.scheduled_time} />),
  wideColumn('Kind', '6rem', (row) => words(row.kind)),
  wideColumn('Took', '7rem', (run) => <RunTook run={run} />, 'end'),
  wideColumn(
    'Resumed',
    '6rem',
    ({ resumes }) => (resumes === 0 ? <span className="dim">never</span> : `${resumes} ×`),
    'end',
  ),
]

function RootsCell({ row }: { row: RunRow }) {
  const name = row.roots.map(({ job_name }) => job_name).join(', ') || row.graph_run_id
  return (
    <TwoLines below={<NodeProgress counts={row.nodes_by_status} />}>
      <GraphRunLink id={row.graph_run_id} isRow title={name}>
        {name}
      </GraphRunLink>
    </TwoLines>
  )
}

const example = {
  name: 'load',
  depends_on: [{ job_id: 'ID OF THE FIRST JOB' }],
  execution: { callback_url: 'ECHO' },
}

function NoRuns({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No run matches.">Clear a filter, or choose a longer period.</Empty>
  return (
    <Empty title="No graph has run yet." code={exampleJob(example)}>
      A job with <code>depends_on</code> instead of a schedule runs when the other has succeeded. Both
      together are a graph, and each time the first one fires a run of it begins.
    </Empty>
  )
}

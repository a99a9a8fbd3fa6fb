// The graph in words: one row for each node, in execution order, with the nodes it runs after.
import { useMemo } from 'react'
import { type Column, DataTable, DimText, wideColumn } from '../../components/data-table.tsx'
import { ExecutionLink, JobLink } from '../../components/links.tsx'
import { Empty } from '../../components/page.tsx'
import { Status } from '../../components/status.tsx'
import { Duration, Time } from '../../components/time.tsx'
import { useFilters } from '../../lib/filters.ts'
import type { RunNode } from './run-nodes.ts'

interface NodeTableProps {
  nodes: readonly RunNode[]
  again: ReadonlySet<string>
  isOver: boolean
}

export function NodeTable({ nodes, again, isOver }: NodeTableProps) {
  const [filters] = useFilters()
  const columns = useMemo(() => columnsOf(nodes, isOver ? again : null), [nodes, again, isOver])
  return (
    <DataTable
      label="Nodes of the run"
      rows={nodes}
      columns={columns}
      rowKey={({ job_id }) => job_id}
      isMarked={({ job_id }) => job_id === filters['node']}
      empty={<Empty title="The run has no nodes." />}
    />
  )
}

function columnsOf(
  nodes: readonly RunNode[],
  again: ReadonlySet<string> | null,
): (Column<RunNode> | false)[] {
  const nameOf = new Map(nodes.map(({ job_id, job_name }) => [job_id, job_name]))
  const parentsOf = ({ depends_on }: RunNode) =>
    depends_on.map(({ job_id, on }) => `${nameOf.get(job_id) ?? job_id} (${on})`).join(', ')
  return [
    {
      header: 'Job',
      width: 'minmax(9rem, 2fr)',
      cell: (node) =>
        node.execution_id === null ? (
          <JobLink id={node.job_id} isRow>
            {node.job_name}
          </JobLink>
        ) : (
          <ExecutionLink id={node.execution_id} isRow>
            {node.job_name}
          </ExecutionLink>
        ),
    },
    { header: 'Status', width: '9rem', cell: (node) => <Status status={node.status} /> },
    wideColumn('Runs after', 'minmax(8rem, 2fr)', (node) => (
      <span title={parentsOf(node)}>{parentsOf(node) || <span className="dim">nothing</span>}</span>
    )),
    wideColumn('Started', '9rem', (node) => <Time at={node.started_at} />),
    wideColumn('Took', '6rem', (node) => <Duration ms={node.duration_ms} />, 'end'),
    wideColumn('Why', 'minmax(8rem, 2fr)', (node) => (
      <DimText text={node.error?.message ?? node.skip_message ?? node.skip_reason ?? ''} />
    )),
    again !== null &&
      again.size > 0 &&
      wideColumn('On resume', '7rem', ({ job_id }) =>
        again.has(job_id) ? 'runs again' : <span className="dim">stays</span>,
      ),
  ]
}

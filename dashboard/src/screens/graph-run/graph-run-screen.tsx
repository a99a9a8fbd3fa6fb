// One run of a graph: the graph with its current status, the same as a table, and the actions on it.
import type { GraphRun } from '@carillon/contract/graph-run.ts'
import { Link, useParams } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useGet, useInvalidate } from '../../api/hooks.ts'
import { Button } from '../../components/button.tsx'
import { OtherTenant } from '../../components/other-tenant.tsx'
import { Facts, Page, Waiting } from '../../components/page.tsx'
import { Status } from '../../components/status.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { Time } from '../../components/time.tsx'
import { useFilters } from '../../lib/filters.ts'
import { formatDuration, plural, words } from '../../lib/format.ts'
import { useLive } from '../../live/hooks.ts'
import type { ToldExecution } from '../../live/told-execution.ts'
import { NodeProgress, RunTook } from '../graphs/node-progress.tsx'
import { GraphView, type ViewNode } from './graph-view.tsx'
import { JobsGraph } from './jobs-graph.tsx'
import { NodePanel } from './node-panel.tsx'
import { NodeTable } from './node-table.tsx'
import { RunActions } from './run-actions.tsx'
import { activeStatuses, type RunNode, resumableOf, withTold } from './run-nodes.ts'
import './graph-run.css'

const followMax = 20
/** How soon a run is read again; a large one is more to read. */
const refreshMsMin = 1_500
const refreshMsPerNode = 5
const unendedMs = 10_000

export function GraphRunScreen() {
  const { graphRunId = '' } = useParams({ strict: false }) as { graphRunId?: string }
  const { found, nodes } = useRun(graphRunId)
  if (found.data === undefined) {
    return (
      <Page title="Graph run">
        <Waiting found={found} />
        <OtherTenant
          path={`/graph-runs/${encodeURIComponent(graphRunId)}`}
          error={found.error}
          noun="graph run"
        />
      </Page>
    )
  }
  return <Run run={found.data} nodes={nodes} />
}

function Run({ run, nodes }: { run: GraphRun; nodes: readonly RunNode[] }) {
  const [filters, change] = useFilters()
  const name = run.roots.map(({ job_name }) => job_name).join(', ') || 'Graph run'
  const isOver = run.finished_at !== null
  const select = (id: string | null) => change({ node: id ?? undefined })
  const selected = nodes.find(({ job_id }) => job_id === filters['node']) ?? null
  const again = useMemo(() => resumableOf(nodes), [nodes])
  const tabs = [
    {
      id: 'graph',
      name: 'Graph',
      panel: () => (
        <RunGraph isOver={isOver} nodes={nodes} again={again} selected={selected} onSelect={select} />
      ),
    },
    {
      id: 'table',
      name: 'Table',
      panel: () => <NodeTable nodes={nodes} again={again} isOver={isOver} />,
    },
    {
      id: 'jobs',
      name: 'Current definition',
      panel: () => <JobsGraph jobId={run.roots[0]?.job_id ?? nodes[0]?.job_id ?? ''} />,
    },
  ]
  return (
    <Page
      title={`${name}, graph run`}
      heading={name}
      lead={
        <>
          <Link to="/graphs">Graph runs</Link> / <Status status={run.status} /> · {words(run.kind)} ·{' '}
          <Time at={run.scheduled_time} />
        </>
      }
      actions={<RunActions run={run} nodes={nodes} again={again} />}
    >
      <Facts
        facts={{
          Nodes: <NodeProgress counts={countsOf(nodes)} withWords />,
          Started: <Time at={run.created_at} />,
          Ended: isOver ? <Time at={run.finished_at} /> : undefined,
          Took: <RunTook run={run} />,
          Resumed: run.resumes === 0 ? undefined : run.resumes === 1 ? 'once' : `${run.resumes} times`,
          Cancelled: run.cancel_message,
        }}
      />
      <Tabs
        label="Views of the run"
        tabs={tabs}
        selected={filters['view']}
        onSelect={(view) => change({ view: view === 'graph' ? undefined : view })}
      />
    </Page>
  )
}

interface RunGraphProps {
  isOver: boolean
  nodes: readonly RunNode[]
  again: ReadonlySet<string>
  selected: RunNode | null
  onSelect(id: string | null): void
}

function RunGraph({ isOver, nodes, again, selected, onSelect }: RunGraphProps) {
  const [isFollowing, setFollowing] = useState(true)
  const [isMarking, setMarking] = useState(false)
  const drawn = useMemo(() => nodes.map(viewNodeOf), [nodes])
  const active = nodes.filter(({ status }) => activeStatuses.includes(status)).map(({ job_id }) => job_id)
  return (
    <div className={selected === null ? 'graph-and-node' : 'graph-and-node with-node'}>
      <div className="graph-side">
        <GraphView
          label={`Graph of ${plural(nodes.length, 'node')}`}
          nodes={drawn}
          selected={selected?.job_id ?? null}
          onSelect={onSelect}
          marked={isMarking ? again : null}
          followed={isFollowing && !isOver ? active.slice(0, followMax) : []}
          onMoved={() => setFollowing(false)}
        />
        <div className="graph-foot">
          {!isOver && (
            <Button aria-pressed={isFollowing} onClick={() => setFollowing(!isFollowing)}>
              Follow running jobs
            </Button>
          )}
          {isOver && again.size > 0 && (
            <Button aria-pressed={isMarking} onClick={() => setMarking(!isMarking)}>
              Show jobs that would run again
            </Button>
          )}
          <GraphLegend nodes={nodes} />
        </div>
      </div>
      {selected !== null && (
        <NodePanel
          node={selected}
          nodes={nodes}
          again={again}
          isOver={isOver}
          onSelect={onSelect}
          onClose={() => onSelect(null)}
        />
      )}
    </div>
  )
}

function GraphLegend({ nodes }: { nodes: readonly RunNode[] }) {
  const rules = new Set<string>(nodes.flatMap(({ depends_on }) => depends_on.map(({ on }) => on)))
  return (
    <p className="graph-legend dim">
      {['success', 'failure', 'completion']
        .filter((rule) => rules.has(rule))
        .map((rule) => (
          <span key={rule}>
            <svg width="28" height="8" aria-hidden="true">
              <path d="M0 4H28" className={`graph-edge on-${rule}`} />
            </svg>{' '}
            on {rule}
          </span>
        ))}
      <span>Drag to move; Ctrl and the wheel, or two fingers, to zoom.</span>
    </p>
  )
}

function viewNodeOf(node: RunNode): ViewNode {
  const { job_id, job_name, status, role, skip_reason, duration_ms, depends_on, attempt_number } = node
  const parts = [words(status)]
  if (skip_reason !== null) parts.push(skip_reason)
  if (duration_ms !== null && status !== 'SKIPPED') parts.push(formatDuration(duration_ms))
  if (attempt_number > 1) parts.push(`attempt ${attempt_number}`)
  return {
    id: job_id,
    name: job_name,
    status,
    detail: parts.join(' · '),
    parents: depends_on.map((dependency) => ({ id: dependency.job_id, on: dependency.on })),
    isOutside: role === 'outside',
  }
}

function countsOf(nodes: readonly RunNode[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, role } of nodes) if (role !== 'outside') counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** The run as it was read, updated by events of the stream; read again at most every moment. */
function useRun(runId: string) {
  const path = `/graph-runs/${encodeURIComponent(runId)}`
  const [everyMs, setEveryMs] = useState(unendedMs)
  const found = useGet<GraphRun>(path, everyMs === 0 ? {} : { everyMs })
  const isUnended = found.data?.finished_at === null
  useEffect(() => setEveryMs(isUnended || found.data === undefined ? unendedMs : 0), [isUnended, found.data])
  const [told, setTold] = useState<ReadonlyMap<string, ToldExecution>>(new Map())
  // biome-ignore lint/correctness/useExhaustiveDependencies: a run that was read again includes the events so far
  useEffect(() => setTold(new Map()), [found.data])
  const ids = useMemo(() => new Set(found.data?.nodes.map(({ execution_id }) => execution_id)), [found.data])
  useLive('executions', ({ items }) => {
    const news = items.filter(({ execution_id }) => ids.has(execution_id))
    if (news.length === 0) return
    setTold((before) => new Map([...before, ...news.map((item) => [item.execution_id, item] as const)]))
  })
  const refresh = useThrottled(path, Math.max(refreshMsMin, ids.size * refreshMsPerNode))
  useLive('graph_runs', ({ items }) => {
    if (items.some(({ graph_run_id }) => graph_run_id === runId)) refresh()
  })
  useLive('reset', refresh)
  const nodes = useMemo(() => withTold(found.data?.nodes ?? [], told), [found.data, told])
  return { found, nodes }
}

function useThrottled(path: string, waitMs: number): () => void {
  const invalidate = useInvalidate()
  const timer = useRef<number>(undefined)
  useEffect(
    () => () => {
      window.clearTimeout(timer.current)
      timer.current = undefined
    },
    [],
  )
  return () => {
    timer.current ??= window.setTimeout(() => {
      timer.current = undefined
      void invalidate(path)
    }, waitMs)
  }
}

// The graph of jobs as it is now, which the next run will have; a run keeps the one that it started with.
import type { JobGraph } from '@carillon/contract/graph-run.ts'
import { useMemo, useState } from 'react'
import { useGet } from '../../api/hooks.ts'
import { JobLink } from '../../components/links.tsx'
import { Empty, Waiting } from '../../components/page.tsx'
import { Status } from '../../components/status.tsx'
import { plural, words } from '../../lib/format.ts'
import { GraphView } from './graph-view.tsx'

const listedMax = 100

export function JobsGraph({ jobId }: { jobId: string }) {
  const found = useGet<JobGraph>(`/jobs/${encodeURIComponent(jobId)}/graph`, { enabled: jobId !== '' })
  const [selectedId, setSelectedId] = useState<string | null>(null)
  const nodes = found.data?.nodes
  const drawn = useMemo(
    () =>
      (nodes ?? []).map(({ job_id, job_name, status, depends_on }) => ({
        id: job_id,
        name: job_name,
        status,
        detail: words(status),
        parents: depends_on.map((dependency) => ({ id: dependency.job_id, on: dependency.on })),
        isOutside: false,
      })),
    [nodes],
  )
  if (nodes === undefined || found.error !== null) return <Waiting found={found} />
  if (nodes.length === 0) return <Empty title="These jobs are in no graph any more." />
  const selected = nodes.find(({ job_id }) => job_id === selectedId)
  const nameOf = new Map(nodes.map(({ job_id, job_name }) => [job_id, job_name]))
  return (
    <>
      <p className="dim">
        {plural(nodes.length, 'job')} that depend on each other now. A run keeps the graph that it started
        with.
      </p>
      <GraphView
        label={`Graph of ${plural(nodes.length, 'job')}`}
        nodes={drawn}
        selected={selectedId}
        onSelect={setSelectedId}
      />
      <p role="status">
        {selected !== undefined && (
          <>
            <Status status={selected.status} /> <JobLink id={selected.job_id}>{selected.job_name}</JobLink>
          </>
        )}
      </p>
      <details>
        <summary>As a list</summary>
        <ul>
          {nodes.slice(0, listedMax).map(({ job_id, job_name, depends_on }) => (
            <li key={job_id}>
              <JobLink id={job_id}>{job_name}</JobLink>{' '}
              {depends_on.length === 0
                ? 'begins'
                : `runs after ${depends_on.map((on) => `${nameOf.get(on.job_id) ?? on.job_id} (${on.on})`).join(', ')}`}
            </li>
          ))}
        </ul>
        {nodes.length > listedMax && (
          <p className="dim">… and {plural(nodes.length - listedMax, 'job')} more.</p>
        )}
      </details>
    </>
  )
}

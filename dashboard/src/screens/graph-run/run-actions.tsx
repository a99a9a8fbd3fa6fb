// Cancels a run, or resumes one that did not succeed; the nodes that would run again are shown before.
import type { GraphRun, GraphRunCancelReply, GraphRunResumeReply } from '@carillon/contract/graph-run.ts'
import { useState } from 'react'
import { useMay } from '../../api/session.ts'
import { linkTo } from '../../api/tenant.ts'
import { useDryRun } from '../../components/bulk.tsx'
import { Button, CopyButton } from '../../components/button.tsx'
import { ConfirmAction, ConfirmDialog } from '../../components/confirm-action.tsx'
import { ErrorBox, Loading } from '../../components/page.tsx'
import { Status } from '../../components/status.tsx'
import { useFilters } from '../../lib/filters.ts'
import { plural } from '../../lib/format.ts'
import { isResumeStart, type RunNode, reachedFrom } from './run-nodes.ts'

interface RunActionsProps {
  run: GraphRun
  nodes: readonly RunNode[]
  again: ReadonlySet<string>
}

const listedMax = 200

export function RunActions({ run, nodes, again }: RunActionsProps) {
  const may = useMay('operate')
  const [filters] = useFilters()
  const [isAsking, setAsking] = useState(false)
  const { graph_run_id: runId } = run
  const isOver = run.finished_at !== null
  const node = nodes.find(({ job_id }) => job_id === filters['node'])
  const start = node !== undefined && isResumeStart(node) ? node : null
  return (
    <>
      <CopyButton text={linkTo(`/graphs/${runId}`)}>Copy link</CopyButton>
      {may && !isOver && (
        <ConfirmAction<GraphRunCancelReply>
          label="Cancel"
          icon="slash"
          kind="danger"
          title="Cancel this run"
          verb="Cancel run"
          danger
          unavailable={run.status === 'CANCELLING'}
          apiRequest={{ method: 'POST', path: `/graph-runs/${runId}/cancel` }}
          done={({ status }) =>
            status === 'CANCELLED' ? 'The run is cancelled.' : 'The run is being stopped.'
          }
          invalidates={['/graph-runs', '/executions']}
        >
          <p>
            Nothing of it starts any more. Waiting executions end at once, running ones as soon as they have
            been stopped.
          </p>
        </ConfirmAction>
      )}
      {may && isOver && again.size > 0 && (
        <Button kind="primary" icon="play" onClick={() => setAsking(true)}>
          {start === null ? 'Resume' : 'Resume from this node'}
        </Button>
      )}
      {isAsking && (
        <ResumeDialog run={run} nodes={nodes} again={again} start={start} onClose={() => setAsking(false)} />
      )}
    </>
  )
}

interface ResumeDialogProps extends RunActionsProps {
  /** Where the person wants to go on; null: wherever it stopped. */
  start: RunNode | null
  onClose(): void
}

function ResumeDialog({ run, nodes, again, start, onClose }: ResumeDialogProps) {
  const path = `/graph-runs/${run.graph_run_id}/resume`
  // The server says whether it would, and how many there are.
  const { reply: tried, error } = useDryRun<GraphRunResumeReply>(path)
  const count = tried?.execution_ids.length ?? again.size
  const fromStart = start === null ? new Set<string>() : reachedFrom(nodes, [start.job_id])
  const first = nodes.filter(({ job_id }) => fromStart.has(job_id))
  const rest = nodes.filter(({ job_id }) => again.has(job_id) && !fromStart.has(job_id))
  return (
    <ConfirmDialog<GraphRunResumeReply>
      title={start === null ? 'Resume this run' : `Resume from ${start.job_name}`}
      verb={`Run ${plural(count, 'node')} again`}
      apiRequest={{ method: 'POST', path }}
      disabled={tried === null}
      done={(reply) => `${plural(reply.execution_ids.length, 'node')} of the run will run again.`}
      invalidates={['/graph-runs', '/dead-letters', '/executions']}
      onClose={onClose}
    >
      {error !== null && <ErrorBox error={error} />}
      {error === null && tried === null && <Loading label="Asking which jobs would run" />}
      <p>
        Jobs that did not succeed, and all jobs after them, get new executions, of the present versions of the
        jobs, in the same run. Other jobs that succeeded stay as they are.
      </p>
      {first.length > 0 && <NodeList title="From this node on" nodes={first} />}
      {rest.length > 0 && (
        <NodeList
          title={first.length > 0 ? 'These did not succeed either, and run again too' : 'These run again'}
          nodes={rest}
        />
      )}
    </ConfirmDialog>
  )
}

function NodeList({ title, nodes }: { title: string; nodes: readonly RunNode[] }) {
  return (
    <div>
      <h3>{title}</h3>
      <ul className="node-links again-list" aria-label={title}>
        {nodes.slice(0, listedMax).map(({ job_id, job_name, status }) => (
          <li key={job_id}>
            {job_name} <Status status={status} />
          </li>
        ))}
      </ul>
      {nodes.length > listedMax && <p className="dim">… and {nodes.length - listedMax} more</p>}
    </div>
  )
}

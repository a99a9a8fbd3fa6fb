// The progress of an operation, from the live stream and by asking; it can be ended.
import type { Operation } from '@carillon/contract/operation.ts'
import type { Pagination } from '@carillon/contract/pagination.ts'
import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { api } from '../api/client.ts'
import { useGet, useInvalidate } from '../api/hooks.ts'
import { formatCount, words } from '../lib/format.ts'
import { redriveOutcome, redriveStatus, redriveText } from '../lib/redrive-outcome.ts'
import { Button } from './button.tsx'
import { ErrorBox } from './page.tsx'
import { Status } from './status.tsx'

interface OperationProgressProps {
  operationId: string
  /** Paths that are asked for again as it goes on. */
  invalidates: readonly string[]
  onDismiss(): void
}

export function OperationProgress({ operationId, invalidates, onDismiss }: OperationProgressProps) {
  const invalidate = useInvalidate()
  const path = `/operations/${operationId}`
  const found = useGet<Operation>(path, { everyMs: 1_000 })
  const isRunning = found.data?.status === 'RUNNING'
  const done = found.data?.progress.done
  // biome-ignore lint/correctness/useExhaustiveDependencies: the listed items change as the operation goes on
  useEffect(() => void invalidate(...invalidates), [done, isRunning, invalidate])
  if (found.error !== null && found.data === undefined) return <ErrorBox error={found.error} />
  if (found.data === undefined) return null
  const { kind, status, progress, error } = found.data
  const total = Math.max(progress.total, progress.done + progress.skipped)
  return (
    <section className="operation" aria-label={`Operation: ${kind}`}>
      {kind === 'redrive' && !isRunning ? (
        <RedriveOutcomeText operation={found.data} />
      ) : (
        <Status status={status} label={`${words(kind)} ${words(status)}`} />
      )}
      <progress max={Math.max(1, total)} value={progress.done + progress.skipped} aria-label="Progress" />
      <span className="number">
        {formatCount(progress.done)} of {formatCount(total, progress.total_capped)}{' '}
        {kind === 'redrive' ? 'sent again' : 'done'}
        {progress.skipped > 0 && `, ${formatCount(progress.skipped)} left alone`}
      </span>
      {error !== null && <span className="field-error">{error}</span>}
      {isRunning ? (
        <Button onClick={() => void api.post(`${path}/cancel`).then(() => invalidate(path))}>Stop</Button>
      ) : (
        <Button kind="quiet" icon="cross" onClick={onDismiss}>
          Dismiss
        </Button>
      )}
    </section>
  )
}

interface Redriven {
  executions: { execution_id: string; status: string }[]
  pagination: Pagination
}

const pageMax = 200

/** A redrive is a success when its executions succeed, and not when all were sent. */
function RedriveOutcomeText({ operation }: { operation: Operation }) {
  const { job_id: jobId } = operation.filter as { job_id?: string }
  const filter = { kind: 'redrive', ...(jobId !== undefined && { job_id: jobId }) }
  const found = useGet<Redriven>('/executions', { query: { ...filter, limit: pageMax }, everyMs: 2_000 })
  const { executions = [], pagination } = found.data ?? {}
  const outcome =
    pagination === undefined
      ? null
      : redriveOutcome(operation, executions, pagination.next_cursor === null || executions.length < pageMax)
  return (
    <>
      {outcome === null ? (
        <Status status={operation.status} label={`redrive ${words(operation.status)}`} />
      ) : (
        <Status status={redriveStatus(outcome)} label={redriveText(outcome)} />
      )}
      <Link to="/executions" search={filter as never}>
        View them
      </Link>
    </>
  )
}

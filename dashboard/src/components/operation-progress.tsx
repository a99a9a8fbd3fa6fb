// How far an operation is, from the live stream and by asking; it can be ended.
import type { Operation } from '@carillon/contract/operation.ts'
import { useEffect } from 'react'
import { api } from '../api/client.ts'
import { useGet, useInvalidate } from '../api/hooks.ts'
import { formatCount, words } from '../lib/format.ts'
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
      <Status status={status} label={`${words(kind)} ${words(status)}`} />
      <progress max={Math.max(1, total)} value={progress.done + progress.skipped} aria-label="Progress" />
      <span className="number">
        {formatCount(progress.done)} of {formatCount(total, progress.total_capped)} done
        {progress.skipped > 0 && `, ${formatCount(progress.skipped)} left alone`}
      </span>
      {error !== null && <span className="field-error">{error}</span>}
      {isRunning ? (
        <Button onClick={() => void api.post(`${path}/cancel`).then(() => invalidate(path))}>End it</Button>
      ) : (
        <Button kind="quiet" icon="cross" onClick={onDismiss}>
          Dismiss
        </Button>
      )}
    </section>
  )
}

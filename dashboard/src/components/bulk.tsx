// Work on all that match a filter: a dry run counts them first, and the operation that is started shows its progress.
import type { Operation } from '@carillon/contract/operation.ts'
import { type ReactNode, useEffect, useState } from 'react'
import { api } from '../api/client.ts'
import { plural } from '../lib/format.ts'
import { OperationProgress } from './operation-progress.tsx'
import { ErrorBox, Loading } from './page.tsx'

export interface DryRun<Reply> {
  /** Null: not answered yet. */
  reply: Reply | null
  error: unknown
}

/** The answer of the server to a request that it only tries. */
export function useDryRun<Reply>(path: string, body: unknown = {}): DryRun<Reply> {
  const [found, setFound] = useState<DryRun<Reply>>({ reply: null, error: null })
  const text = JSON.stringify(body)
  useEffect(() => {
    const abort = new AbortController()
    api
      .post<Reply>(path, JSON.parse(text), { query: { dry_run: true }, signal: abort.signal })
      .then((reply) => setFound({ reply, error: null }))
      .catch((error: unknown) => {
        if (!abort.signal.aborted) setFound({ reply: null, error })
      })
    return () => abort.abort()
  }, [path, text])
  return found
}

interface CountedProps {
  counted: DryRun<Operation>
  noun: string
  /** The conditions in words, in parentheses. */
  where?: string
  /** The effect on them. */
  children: ReactNode
}

/** "At least 1,000 jobs match now." */
export function Counted({ counted: { reply, error }, noun, where = '', children }: CountedProps) {
  if (error !== null) return <ErrorBox error={error} />
  if (reply === null) return <Loading label="Counting" />
  const { total, total_capped } = reply.progress
  return (
    <p>
      <strong>
        {total_capped ? 'At least ' : ''}
        {plural(total, noun)}
      </strong>{' '}
      {total === 1 ? 'matches' : 'match'} now{where}. {children}
    </p>
  )
}

/** The progress of the operation that was started last, and a way to start one. */
export function useOperation(...invalidates: string[]): [ReactNode, (operation: Operation) => void] {
  const [operationId, setOperationId] = useState<string | null>(null)
  const progress = operationId !== null && (
    <OperationProgress
      operationId={operationId}
      invalidates={invalidates}
      onDismiss={() => setOperationId(null)}
    />
  )
  return [progress, ({ operation_id }) => setOperationId(operation_id)]
}

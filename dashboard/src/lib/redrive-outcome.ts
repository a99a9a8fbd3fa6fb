// The outcome of a redrive: the executions that it made, by their ends. The operation itself only knows how many it sent.
import { formatCount } from './format.ts'

interface RedrivenExecution {
  execution_id: string
  status: string
}

export interface RedriveOutcome {
  succeeded: number
  failed: number
  underWay: number
}

/** Ids are in order of time: an execution of the redrive has a later one than the operation. Null: it cannot be told. */
export function redriveOutcome(
  operation: { operation_id: string; progress: { done: number } },
  newestFirst: readonly RedrivenExecution[],
  isComplete: boolean,
): RedriveOutcome | null {
  const made = newestFirst.filter(({ execution_id }) => execution_id > operation.operation_id)
  // More: another redrive ran meanwhile. Fewer, of a page that is full: the rest is on a later page.
  if (made.length > operation.progress.done || (made.length === newestFirst.length && !isComplete))
    return null
  const succeeded = made.filter(({ status }) => status === 'SUCCEEDED').length
  const failed = made.filter(({ status }) => status === 'FAILED' || status === 'TIMED_OUT').length
  const ended = made.filter(({ status }) => status === 'CANCELLED' || status === 'SKIPPED').length
  return { succeeded, failed, underWay: Math.max(0, operation.progress.done - succeeded - failed - ended) }
}

export function redriveText({ succeeded, failed, underWay }: RedriveOutcome): string {
  const parts = [`${formatCount(succeeded)} succeeded`, `${formatCount(failed)} failed again`]
  if (underWay > 0) parts.push(`${formatCount(underWay)} under way`)
  return parts.join(', ')
}

/** The status that the line has the colour of. */
export function redriveStatus({ failed, underWay }: RedriveOutcome): string {
  if (failed > 0) return 'FAILED'
  return underWay > 0 ? 'RUNNING' : 'SUCCEEDED'
}

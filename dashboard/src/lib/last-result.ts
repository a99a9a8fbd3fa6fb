// The last result of a job, in few words.
import type { ListedJob } from '@carillon/contract/job.ts'
import { plural, words } from './format.ts'

export type LastExecution = NonNullable<ListedJob['last_execution']>

/** "HTTP 503", "connection refused", "timeout". */
export function errorWords({ http_status: status, error, status: ended }: LastExecution): string {
  // The status says it already.
  if (error === null || ended === 'TIMED_OUT') return ''
  if (error.type === 'HTTP_ERROR' && status !== null) return `HTTP ${status}`
  return words(error.type ?? 'error')
}

/** "6 failures in a row"; nothing for a single one. */
export function failureWords(count: number): string {
  return count > 1 ? `${plural(count, 'failure')} in a row` : ''
}

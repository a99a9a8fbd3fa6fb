// Which dead letters are meant: from the address to the parameters of the API, which are also the filter of a redrive.
import { quote } from '../../lib/api-request.ts'

export const letterFilterNames = ['job_id', 'error_type', 'reason', 'start_date', 'end_date'] as const
export const reasons = ['MAX_RETRIES_EXCEEDED', 'NOT_RETRYABLE', 'WORKER_LOST', 'TOTAL_TIMEOUT'] as const
export const reasonTexts: Readonly<Record<string, string>> = {
  MAX_RETRIES_EXCEEDED: 'retries exhausted',
  NOT_RETRYABLE: 'non-retryable',
  WORKER_LOST: 'worker lost',
  TOTAL_TIMEOUT: 'total timeout',
}

/** The command of a redrive of all that match; undefined: the command line has no such filter. */
export function redriveCommandOf(query: Readonly<Record<string, string>>, rate: number): string | undefined {
  const words: Record<string, string> = { job_id: 'job', error_type: 'error' }
  const names = Object.keys(query)
  if (names.length === 0 || !names.every((name) => name in words)) return undefined
  const filters = names.map((name) => `--filter ${words[name]}=${quote(query[name]!)}`)
  return `dead-letters redrive ${filters.join(' ')} --rate ${rate}`
}

/** How long so many take at so many a second. */
export function redriveSeconds(count: number, rate: number): number {
  return Math.max(1, Math.ceil(count / Math.max(1, rate)))
}

export function readRate(text: string): number | null {
  const rate = Number(text)
  return /^\d{1,4}$/.test(text.trim()) && rate >= 1 && rate <= 1_000 ? rate : null
}

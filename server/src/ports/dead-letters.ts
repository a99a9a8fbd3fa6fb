// Executions that used up their retries and wait for a person.
import type { ErrorType } from '../domain/retry.ts'
import type { EpochMs } from '../lib/epoch.ts'
import type { DeadReason } from './queue.ts'

export interface DeadLetters {
  /** Newest first, behind `before` (an execution id). */
  list(query: DeadLetterQuery): Promise<DeadLetterPage>
  get(tenantId: string, executionId: string): Promise<DeadLetter | null>
  /** A new execution of the current version for each letter that is there; the letter is gone. In the order given. */
  redrive(order: RedriveOrder): Promise<{ executionId: string; newExecutionId: string }[]>
  discard(tenantId: string, executionId: string): Promise<'discarded' | 'not_found'>
  /** How many there are, at most 10,001, and when the oldest came. Of all tenants. */
  depth(): Promise<{ count: number; oldestAt: EpochMs | null }>
}

export interface DeadLetterQuery {
  tenantId: string
  jobId: string | null
  before: string | null
  limit: number
}

export interface DeadLetterPage {
  deadLetters: DeadLetter[]
  more: boolean
  /** `totalMax` + 1 stands for more. */
  total: number
}

export interface DeadLetter {
  executionId: string
  jobId: string
  jobName: string
  reason: DeadReason
  diedAt: EpochMs
  attempts: number
  errors: {
    attempt: number
    at: EpochMs
    type: ErrorType | null
    message: string | null
    httpStatus: number | null
  }[]
  /** What it was called with. */
  payload?: unknown
}

export interface RedriveOrder {
  tenantId: string
  letters: readonly { executionId: string; newExecutionId: string; lane: string }[]
}

// Executions that used up their retries and wait for a person.

import type { LetterFilter } from '../domain/jobs/operation.ts'
import type { DeadReason } from '../domain/queue/attempt.ts'
import type { ErrorType } from '../domain/queue/retry.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { JsonText, PageContent } from './pages.ts'

export interface DeadLetters {
  /** Newest first, behind `before` (an execution id). */
  list(query: DeadLetterQuery): Promise<DeadLetterPage>
  get(tenantId: string, executionId: string): Promise<DeadLetter | null>
  /** Sets the payload for a redrive. Returns the letter after the edit. */
  edit(tenantId: string, executionId: string, payload: unknown): Promise<DeadLetter | null>
  /** A new execution of the current version for each letter that is there; the letter is gone. In the order given. */
  redrive(order: RedriveOrder): Promise<Redriven>
  discard(tenantId: string, executionId: string): Promise<'discarded' | 'not_found'>
  /** How many there are, at most 10,001, and when the oldest came. Of all tenants. */
  depth(): Promise<{ count: number; oldestAt: EpochMs | null }>
  /** The newest letters of a tenant, by job and kind of their last error, the largest cluster first. */
  clusters(tenantId: string, limit: number): Promise<LetterClusters>
  /** Letters that are to be redriven by themselves now. */
  findDue(limit: number): Promise<{ tenantId: string; executionId: string }[]>
}

export interface DeadLetterQuery extends PageContent {
  tenantId: string
  filter: LetterFilter
  before: string | null
  limit: number
}

export interface DeadLetterPage {
  deadLetters: DeadLetter[]
  more: boolean
  /** Count over the whole query; `totalMax` + 1 means more than `totalMax`. */
  total: number
  /** When the oldest letter of the tenant came; null: it has none. */
  oldestAt: EpochMs | null
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
  /** The payload it was called with, or its replacement by a person. Null: none, or a list was not asked for it. */
  payload: JsonText | null
  editedAt: EpochMs | null
  /** When it is redriven by itself; null: it is not. */
  redriveAt: EpochMs | null
  /** The run of a graph that it belonged to; null: it ran alone. A redrive does too. */
  runId: string | null
}

/** Letters that clusters are made of, the newest, at most. */
export const clusteredMax = 5_000
/** Letters that a cluster names, at most. */
export const clusterSamplesMax = 5

export interface LetterClusters {
  clusters: LetterCluster[]
  /** Every letter was looked at. */
  complete: boolean
}

export interface LetterCluster {
  jobId: string
  jobName: string
  errorType: ErrorType | null
  /** The message of the newest dead letter. */
  message: string | null
  httpStatus: number | null
  count: number
  oldestAt: EpochMs
  newestAt: EpochMs
  /** Newest first, at most `clusterSamplesMax`. */
  executionIds: string[]
}

export interface RedriveOrder {
  tenantId: string
  letters: readonly { executionId: string; newExecutionId: string; lane: string }[]
  /** Nobody has charged them: they wait for the budget of their tenant, if there is a limit. */
  uncharged?: boolean
}

export interface Redriven {
  redriven: { executionId: string; newExecutionId: string }[]
  /** Left alone, since their job is deleted; they are not redriven by themselves any more either. */
  jobDeleted: string[]
}

// Attempts in flight, as reported by parties outside our own workers: SDK workers, and HTTP targets that answered 202.
// A report is believed only under the fence of the claim it belongs to.
import type { AttemptEnd } from '../domain/queue/attempt.ts'
import type { ExecutionKind } from '../domain/queue/execution.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { AttemptKey } from './queue.ts'

export interface Attempts {
  /** The given executions that run or await their end, in a batch or alone. */
  find(executionIds: readonly string[]): Promise<HeldAttempt[]>
  /** Ends attempts, or hands executions back, wherever they are held; the others of their batch stay in it. */
  report(reports: readonly AttemptEnding[]): Promise<ReportAnswer>
  /** Signs of life. An execution that is in its batch leaves it; the data it leaves with is kept in its row. */
  update(updates: readonly AttemptUpdate[]): Promise<UpdateAnswer[]>
}

export interface HeldAttempt {
  executionId: string
  tenantId: string
  jobId: string
  version: number
  kind: ExecutionKind
  slot: EpochMs
  attempt: number
  losses: number
  fence: number
  /** Null: it awaits the word of its target. */
  workerId: string | null
  /** When it was claimed, or the reported start when it left its batch or was accepted by its target. */
  startedAt: EpochMs | null
  totalDeadline: EpochMs | null
  /** Somebody has cancelled it: however it ends, it ends cancelled. */
  cancelled: boolean
  checkpoint?: unknown
}

/** Which attempt is meant. */
export interface AttemptMark extends AttemptKey {
  fence: number
  /** It must be held by this worker; null: by anyone, or by none while it awaits its end. */
  workerId: string | null
}

export interface AttemptEnding extends AttemptMark {
  ending: { kind: 'ended'; end: AttemptEnd } | { kind: 'unstarted' }
}

export interface ReportAnswer {
  /** Executions that are not held under this fence, and have no such end on record either. */
  refused: string[]
  /** Executions that ended CANCELLED, regardless of the report. */
  cancelled: string[]
}

export interface AttemptUpdate extends AttemptMark {
  /** The attempt itself, not only its worker, gave a sign of life: its heartbeat timeout restarts. */
  alive: boolean
  /** Kept if it leaves its batch with this update: an execution of one of our workers started when it was claimed. */
  startedAt?: EpochMs
  /** 0 to 1. Absent: as it was. */
  progress?: number
  message?: string
  /** Absent: as it was. */
  checkpoint?: unknown
}

export interface UpdateAnswer {
  executionId: string
  /** cancelled: it is to stop. gone: it is no longer held under this fence, and further reports count for nothing. */
  status: 'updated' | 'cancelled' | 'gone'
}

// An execution: one slot, or one trigger, of a job, from fired to finished. Its id leads to its batch: a batch id ends
// in a zero byte, and an execution's id is the batch id plus its position.
import { hash } from 'node:crypto'
import { ATTEMPT_OUTCOMES, type ExecutionKind, type ExecutionStatus } from '@carillon/contract/constants.ts'
import { type EpochMs, toRfc3339 } from '../../lib/time/epoch.ts'

export type {
  AttemptOutcome,
  ExecutionKind,
  ExecutionStatus,
  SkipReason,
} from '@carillon/contract/constants.ts'

/** How an attempt ended; `cancelled` also ends an execution that has none, and `skipped` only such a one. */
export const OUTCOMES = [...ATTEMPT_OUTCOMES, 'skipped'] as const
export type Outcome = (typeof OUTCOMES)[number]

/**
 * Where a `live` row is: held back by others of its graph run, held back by another execution of its job, claimable, claimed, called and awaiting the word of
 * its target (which answered 202), or between attempts.
 */
export const LIVE_STATES = ['blocked', 'waiting', 'ready', 'running', 'awaiting', 'retrying'] as const
export type LiveState = (typeof LIVE_STATES)[number]

/** Executions in one batch, at most; a position is one byte of the id. */
export const batchExecutionsMax = 100

export function batchIdOf(executionId: string): string {
  return `${executionId.slice(0, 34)}00`
}

export function executionIdAt(batchId: string, position: number): string {
  return batchId.slice(0, 34) + (position < 16 ? '0' : '') + position.toString(16)
}

/** The status a client sees of an execution that has not ended; only a running one can be on its way to cancelled. */
export function statusOfLive(state: LiveState, attempts: number, isCancelled: boolean): ExecutionStatus {
  if (isCancelled) return 'CANCELLING'
  if (state === 'blocked') return 'WAITING_DEPENDENCIES'
  if (state === 'running' || state === 'awaiting') return 'RUNNING'
  if (state === 'retrying') return 'RETRYING'
  return attempts === 0 ? 'PENDING' : 'RETRYING'
}

/** The status of an execution after this outcome of its final attempt. */
export function statusOfOutcome(outcome: Outcome): ExecutionStatus {
  if (outcome === 'succeeded') return 'SUCCEEDED'
  if (outcome === 'cancelled') return 'CANCELLED'
  if (outcome === 'skipped') return 'SKIPPED'
  return outcome === 'timed_out' ? 'TIMED_OUT' : 'FAILED'
}

/** Whether others of its graph run went before it. A root that is run again there is a retry. */
export function runsAfterOthers({ kind, runId }: { kind: ExecutionKind; runId: string | null }): boolean {
  return kind === 'dependency' && runId !== null
}

/** The same for every attempt of an execution: by the slot for a slot, else by the execution. */
export function idempotencyKeyOf(
  kind: ExecutionKind,
  { jobId, executionId, slot }: { jobId: string; executionId: string; slot: EpochMs },
): string {
  const of = kind === 'slot' ? `${jobId}:${toRfc3339(slot)}` : `${jobId}:${executionId}`
  return hash('sha256', of).slice(0, 32)
}

/**
 * Whether a repeat of an execution with this outcome keeps its idempotency key: a repeat after a failure means the same
 * work; a repeat of an execution that succeeded, was stopped or never began means new work.
 */
export function isKeyKept(outcome: Outcome): boolean {
  return outcome === 'failed' || outcome === 'timed_out' || outcome === 'lost'
}

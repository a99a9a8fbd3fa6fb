// An execution that a worker holds, from the claim until its end is recorded.
import type { AttemptEnd, Usage } from '../domain/queue/attempt.ts'
import type { Stop } from '../lib/stop.ts'
import { type EpochMs, epochMs } from '../lib/time/epoch.ts'
import type { ParentResult } from '../ports/graph-runs.ts'
import type { ClaimedLive } from '../ports/queue.ts'
import type { Prepared } from './prepare.ts'

/** Fields of a claim that a held execution has in another form, or not at all. */
type Converted = 'rank' | 'payloadOverride' | 'checkpoint' | 'suspect' | 'definition' | 'fence'

export interface HeldExecution extends Readonly<Omit<ClaimedLive, Converted>> {
  readonly prepared: Prepared
  /** The body of this execution alone, when it was triggered with one. */
  readonly bodyOverride: string | null
  /** The checkpoint of the previous attempt, in the form for the executor; null: none. */
  readonly checkpoint: { value: unknown } | null
  /** The results of its parents, if the executor needs them. */
  readonly parents: readonly ParentResult[]
  /** It was lost with a worker that it may have killed. */
  readonly isSuspect: boolean
  /** The batch it came in; null: it is a row of its own in `live`. */
  batch: HeldBatch | null
  readonly position: number
  /** The fence of the row it is held by: its batch, or its own. */
  fence: number
  /** On the monotonic clock. */
  readonly claimedMs: number
  /** See `InFlight`. Ended without an `end`: it was not started, or its target will report the end. */
  status: 'queued' | 'running' | 'ended'
  startedAt: EpochMs | null
  end: AttemptEnd | null
  /** Its target has accepted it, and has until then to report the end; null: it has not. */
  awaitingUntil: EpochMs | null
  abort: Stop | null
  /** When this worker learned that it was cancelled, on the monotonic clock; null: it has not. */
  cancelledMs: number | null
  /** Its attempt is over. Updates of an attempt that does not stop are ignored from then on. */
  isOver: boolean
  /** It was not started because its tenant has no room: see `WorkerShares` and `ConcurrencyLimits`. */
  isBeyondShare: boolean
  /** It was not started because of its tenant's rate of calls, and waits under this name: see `CallRates`. Null: it may start. */
  waitsAs: string | null
  /** Its batch is being written without it: it is not a row of its own yet, and its result must wait. */
  leaving: boolean
}

/** How much time is left for this attempt. */
export function timeoutMsOf({ prepared, totalDeadline }: HeldExecution, now: EpochMs): number {
  if (totalDeadline === null) return prepared.timeoutMs
  return Math.max(1, Math.min(prepared.timeoutMs, totalDeadline - now))
}

/** The end of an attempt that was stopped because it was cancelled. The store knows by which principal. */
export function endCancelled(startedAt: EpochMs, durationMs: number, usage?: Usage): AttemptEnd {
  return {
    outcome: 'cancelled',
    startedAt,
    finishedAt: epochMs(startedAt + durationMs),
    durationMs,
    httpStatus: null,
    error: { type: 'CANCELLED', message: 'The call was aborted.' },
    preview: null,
    retryAt: null,
    deadReason: null,
    ...(usage && { usage }),
  }
}

/**
 * The end of an attempt that its worker gives up, for a reason of its own: the next attempt may start at once, however many
 * were lost. The target was called, so the number of this attempt is used.
 */
export function endGivenUp({ startedAt }: HeldExecution, now: EpochMs, message: string): AttemptEnd {
  return {
    outcome: 'lost',
    startedAt,
    finishedAt: now,
    durationMs: null,
    httpStatus: null,
    error: { type: 'WORKER_LOST', message },
    preview: null,
    retryAt: now,
    deadReason: null,
  }
}

/** A claimed batch; it lives at most `batchMsMax`. */
export interface HeldBatch {
  readonly batchId: string
  readonly fence: number
  readonly claimedMs: number
  readonly executions: HeldExecution[]
  /** How many of its executions have not ended. */
  open: number
  /** On its way into the store: its executions that still run go on alone. */
  settling: boolean
}

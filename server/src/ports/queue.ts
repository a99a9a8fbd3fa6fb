// The worker's side of the queue: claim executions, finish them. Every write names the worker and the fence of its
// claim; an execution no longer held under them is answered as missing and nothing changes.

import type { Execution } from '../domain/jobs/job.ts'
import type { AttemptEnd } from '../domain/queue/attempt.ts'
import type { ExecutionKind } from '../domain/queue/execution.ts'
import type { LaneShare, LaneWeight } from '../domain/queue/fair-share.ts'
import type { RetryPolicy } from '../domain/queue/retry.ts'
import type { EpochMs } from '../lib/time/epoch.ts'

export interface Queue {
  /** Lanes and hosts that have something to claim on these routes, at most `limit` of each: of more, in turns. */
  waiting(routes: readonly string[], limit: number): Promise<Waiting>
  claim(order: ClaimOrder): Promise<Claimed>
  /** The versions of jobs that were claimed. */
  definitions(keys: readonly DefinitionKey[]): Promise<Definition[]>
  /**
   * Ends whole batches: ended executions are recorded, the others leave for `live`. Missing are batches that were not
   * held.
   */
  finishBatches(workerId: string, batches: readonly FinishedBatch[]): Promise<FinishAnswer>
  /** Ends or hands back single executions. Missing are executions that were not held. */
  finishLive(workerId: string, ends: readonly FinishedLive[]): Promise<FinishAnswer>
  /** Cancelled executions that this worker holds. */
  findCancelled(workerId: string): Promise<string[]>
  /** The attempts among these that the store knows as this worker's own: recorded by it, or still held by it. */
  findOwn(workerId: string, attempts: readonly AttemptKey[]): Promise<OwnAttempt[]>
  /**
   * Hands back executions that the store assigns to this worker but the worker does not know, as after a lost reply.
   */
  releaseUnknown(workerId: string, known: readonly string[]): Promise<number>
}

export interface Waiting {
  lanes: LaneWeight[]
  /** Hosts that executions wait for because the host was full when they were first claimed. */
  hosts: string[]
}

export interface ClaimOrder {
  workerId: string
  /** The routes to claim from; within a lane the lowest rank over all of them goes first. */
  routes: readonly string[]
  lanes: readonly LaneShare[]
  hosts: readonly { host: string; count: number }[]
  /** Batches to look at per lane, at most. */
  batchesMax: number
  /**
   * Whether a batch that does not fit as a whole is split: the part that fits becomes rows of their own. The first batch
   * of a lane is always split. Default true.
   */
  divides?: boolean
  /** Claim only rows of `live` that rank before all batches and wait for no host, with their definitions. Default false. */
  singles?: boolean
  /**
   * Claim no more than the worker has room for, exact over all claims of the worker in all processes. Not with
   * `singles`. Default false: a worker of ours counts for itself.
   */
  withinCapacity?: boolean
}

/** In no order: the rank of each says which goes first, and of the same rank its id. */
export interface Claimed {
  batches: ClaimedBatch[]
  live: ClaimedLive[]
  /** The worker holds as many as its capacity already. Only in a claim within the capacity; absent: it does not. */
  isFull?: true
}

export interface ClaimedBatch {
  batchId: string
  fence: number
  lane: string
  priority: number
  enqueuedAt: EpochMs
  rank: EpochMs
  /** The kind of all executions of the batch. */
  kind: ExecutionKind
  positions: number[]
  jobIds: string[]
  versions: number[]
  slots: EpochMs[]
  /** By position: the replacement of the job's payload; null: none. */
  payloads: readonly unknown[] | null
}

export interface ClaimedLive {
  executionId: string
  fence: number
  lane: string
  rank: EpochMs
  enqueuedAt: EpochMs
  jobId: string
  version: number
  kind: ExecutionKind
  slot: EpochMs
  /** The number of the attempt that this claim begins. */
  attempt: number
  losses: number
  payloadOverride?: unknown
  /** Null: it is derived from the job and the slot, or from the execution. */
  idempotencyKey: string | null
  /** The checkpoint that the attempt before left for this one; absent: none. */
  checkpoint?: unknown
  /** When the time of all attempts together is over; null: it is not limited. */
  totalDeadline: EpochMs | null
  /** It was lost with a worker that it may have killed: see `suspectHost`. */
  suspect: boolean
  /** The graph run it belongs to; null: it runs alone. */
  runId: string | null
  /** Only in a claim of singles. */
  definition?: Definition
}

export interface DefinitionKey {
  jobId: string
  version: number
}

export interface Definition extends DefinitionKey {
  tenantId: string
  name: string
  execution: Execution
  retryPolicy: RetryPolicy
  priority: number
  /** A slot was due up to this much later than its time. */
  jitterSeconds: number
}

/** How a worker gives up a claimed execution. */
export type Ending =
  | { kind: 'ended'; end: AttemptEnd }
  /**
   * Still running: it leaves its batch and stays with this worker, under fence 1. Only for batches. `deadline`: when
   * maintenance ends it, if it has not ended by then.
   */
  | { kind: 'running'; startedAt: EpochMs; deadline: EpochMs }
  /** Its target accepted it and will report the result: it no longer has a worker, only a deadline. */
  | { kind: 'awaiting'; startedAt: EpochMs; deadline: EpochMs }
  /**
   * Its call was not started: no attempt is spent, its rank is kept. `host`: it waits for this host. `toOwnLane`: it moves
   * from the shared lane to the lane of its tenant, which is at its share of a worker.
   */
  | { kind: 'unstarted'; host: string | null; toOwnLane?: boolean }

export interface FinishAnswer {
  missing: string[]
  /** Executions that ended CANCELLED, regardless of the report, because they had been cancelled. */
  cancelled: string[]
  /**
   * Executions that were reported with their batch and had left it before: they are rows of their own, under fence 1, or
   * have ended. Nothing was written of them.
   */
  left: string[]
}

export interface FinishedBatch {
  batchId: string
  fence: number
  endings: readonly { position: number; ending: Ending }[]
}

export interface FinishedLive {
  executionId: string
  fence: number
  attempt: number
  ending: Exclude<Ending, { kind: 'running' }>
}

export interface AttemptKey {
  executionId: string
  attempt: number
  jobId: string
}

export interface OwnAttempt {
  executionId: string
  status: 'recorded' | 'held'
}

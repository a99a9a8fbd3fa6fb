// The executions that a worker claimed: the order in which they run, their wire format, and how they are handed back.
import type { Parent } from '@carillon/contract/graph-run.ts'
import type { ClaimedExecution } from '@carillon/contract/worker.ts'
import { executionIdAt, idempotencyKeyOf } from '../../domain/queue/execution.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { AttemptEnding } from '../../ports/attempts.ts'
import type { Claimed, ClaimedLive, Definition } from '../../ports/queue.ts'
import { toScheduledTime } from '../executions/execution-view.ts'

export type OneClaimed = Omit<ClaimedLive, 'lane' | 'enqueuedAt' | 'losses' | 'suspect' | 'definition'>

/** The best rank first. */
export function listClaimed({ batches, live }: Claimed): OneClaimed[] {
  const first = { attempt: 1, idempotencyKey: null, totalDeadline: null, runId: null } as const
  const ofBatches = batches.flatMap(
    ({ batchId, fence, rank, kind, positions, jobIds, versions, slots, payloads }) =>
      positions.map((position, at) => ({
        ...first,
        kind,
        executionId: executionIdAt(batchId, position),
        jobId: jobIds[at]!,
        version: versions[at]!,
        slot: slots[at]!,
        fence,
        rank,
        ...(payloads !== null && { payloadOverride: payloads[position] }),
      })),
  )
  return [...ofBatches, ...live].toSorted((a, b) => a.rank - b.rank)
}

/** `parents`: undefined: it runs after nothing. */
export function toClaimedExecution(
  one: OneClaimed,
  { definition, parents, now }: { definition: Definition; parents: Parent[] | undefined; now: EpochMs },
): ClaimedExecution {
  const { name, execution } = definition
  const { executionId, jobId, kind, slot, totalDeadline } = one
  const payload = 'payloadOverride' in one ? one.payloadOverride : execution.payload
  const { timeout_seconds: timeout, heartbeat_timeout_seconds: heartbeat = null } = execution
  const leftSeconds = totalDeadline === null ? timeout : Math.max(0, (totalDeadline - now) / 1_000)
  return {
    execution_id: executionId,
    job_id: jobId,
    job_name: name,
    handler: execution.type === 'worker' ? execution.handler : '',
    kind,
    scheduled_time: toScheduledTime(slot),
    attempt_number: one.attempt,
    fence: one.fence,
    idempotency_key: one.idempotencyKey ?? idempotencyKeyOf(kind, { jobId, executionId, slot }),
    timeout_seconds: Math.min(timeout, leftSeconds),
    heartbeat_timeout_seconds: heartbeat,
    ...(payload === undefined ? {} : { payload }),
    ...(one.checkpoint === undefined ? {} : { checkpoint: one.checkpoint }),
    graph_run_id: one.runId,
    ...(parents === undefined ? {} : { parents }),
  }
}

/** Unstarted: no attempt is spent. */
export function toHandBack(workerId: string, claimed: readonly OneClaimed[]): AttemptEnding[] {
  return claimed.map(({ executionId, jobId, attempt, fence }) => ({
    executionId,
    jobId,
    attempt,
    fence,
    workerId,
    ending: { kind: 'unstarted' },
  }))
}

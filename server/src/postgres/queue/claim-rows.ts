// The rows that a claim returns: batches, single executions, definitions.

import type { ExecutionKind } from '../../domain/queue/execution.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { ClaimedBatch, ClaimedLive, Definition } from '../../ports/queue.ts'
import { elementsOf } from '../connection/array-literal.ts'
import type { Columns } from '../connection/columns.ts'

interface AnyClaimRow {
  id: string
  fence: number
  lane: string
  priority: number
  enqueued_ms: EpochMs
  rank_ms: EpochMs
  kind: ExecutionKind
}

export interface BatchClaimRow extends AnyClaimRow {
  positions: string
  job_ids: string
  versions: string
  slots_ms: string
  payloads: string | null
}

export interface LiveClaimRow extends AnyClaimRow {
  positions: null
  job_id: string
  version: number
  slot_ms: EpochMs
  attempt: number
  losses: number
  payload_override: string | null
  idempotency_key: string | null
  checkpoint: string | null
  total_deadline_ms: EpochMs | null
  suspect: boolean
  run_id: string | null
}

export type ClaimRow = BatchClaimRow | LiveClaimRow

/** With the definition that it runs by. */
export interface SingleRow extends LiveClaimRow, Omit<DefinitionRow, 'priority'> {
  job_priority: number
}

export type DefinitionRow = Columns<Definition>

export function toClaimedBatch(row: BatchClaimRow): ClaimedBatch {
  return {
    batchId: row.id,
    fence: row.fence,
    lane: row.lane,
    priority: row.priority,
    enqueuedAt: row.enqueued_ms,
    rank: row.rank_ms,
    kind: row.kind,
    positions: numbersOf(row.positions),
    jobIds: elementsOf(row.job_ids),
    versions: numbersOf(row.versions),
    slots: numbersOf(row.slots_ms) as EpochMs[],
    payloads: row.payloads === null ? null : (JSON.parse(row.payloads) as unknown[]),
  }
}

export function toClaimedLive(row: LiveClaimRow): ClaimedLive {
  return {
    executionId: row.id,
    fence: row.fence,
    lane: row.lane,
    rank: row.rank_ms,
    enqueuedAt: row.enqueued_ms,
    jobId: row.job_id,
    version: row.version,
    kind: row.kind,
    slot: row.slot_ms,
    attempt: row.attempt,
    losses: row.losses,
    idempotencyKey: row.idempotency_key,
    ...(row.payload_override !== null && { payloadOverride: JSON.parse(row.payload_override) as unknown }),
    ...(row.checkpoint !== null && { checkpoint: JSON.parse(row.checkpoint) as unknown }),
    totalDeadline: row.total_deadline_ms,
    suspect: row.suspect,
    runId: row.run_id,
  }
}

export function toClaimedSingle({ job_priority: priority, ...row }: SingleRow): ClaimedLive {
  return { ...toClaimedLive(row), definition: toDefinition({ ...row, priority }) }
}

export function toDefinition(row: DefinitionRow): Definition {
  return {
    jobId: row.job_id,
    version: row.version,
    tenantId: row.tenant_id,
    name: row.name,
    execution: row.execution,
    retryPolicy: row.retry_policy,
    priority: row.priority,
    jitterSeconds: row.jitter_seconds,
  }
}

function numbersOf(list: string): number[] {
  return elementsOf(list).map(Number)
}

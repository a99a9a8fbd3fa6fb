// From the answer of a claim to the executions that a worker holds.
import { executionIdAt } from '../domain/queue/execution.ts'
import type { ParentResult } from '../ports/graph-runs.ts'
import type { Claimed, ClaimedBatch, ClaimedLive } from '../ports/queue.ts'
import type { Definitions } from './definitions.ts'
import type { HeldBatch, HeldExecution } from './held-execution.ts'

export interface HeldContext {
  /** On the monotonic clock. */
  claimedMs: number
  /** The definition of every claimed execution is loaded. */
  definitions: Pick<Definitions, 'get'>
  /** By execution id. */
  parents: ReadonlyMap<string, ParentResult[]>
  isIsolated: boolean
}

/** The executions of a claim, in the order of their rank; of the same rank, in the order in which they were made. */
export function toHeldExecutions({ batches, live }: Claimed, context: HeldContext): HeldExecution[] {
  const ranked: { rank: number; id: string; executions: HeldExecution[] }[] = []
  for (const batch of batches)
    ranked.push({ rank: batch.rank, id: batch.batchId, executions: ofBatch(batch, context) })
  for (const one of live)
    ranked.push({ rank: one.rank, id: one.executionId, executions: [ofLive(one, context)] })
  return ranked
    .toSorted((a, b) => a.rank - b.rank || (a.id < b.id ? -1 : 1))
    .flatMap(({ executions }) => executions)
}

function ofBatch(claimed: ClaimedBatch, { claimedMs, definitions }: HeldContext): HeldExecution[] {
  const { batchId, fence, lane, enqueuedAt, kind, positions, payloads } = claimed
  const batch: HeldBatch = {
    batchId,
    fence,
    claimedMs,
    executions: [],
    open: positions.length,
    settling: false,
  }
  for (let i = 0; i < positions.length; i++) {
    const position = positions[i]!
    batch.executions.push({
      executionId: executionIdAt(batchId, position),
      jobId: claimed.jobIds[i]!,
      version: claimed.versions[i]!,
      kind,
      lane,
      slot: claimed.slots[i]!,
      enqueuedAt,
      attempt: 1,
      losses: 0,
      prepared: definitions.get(claimed.jobIds[i]!, claimed.versions[i]!)!,
      bodyOverride: payloads === null ? null : JSON.stringify(payloads[position]),
      idempotencyKey: null,
      checkpoint: null,
      totalDeadline: null,
      runId: null,
      parents: [],
      isSuspect: false,
      batch,
      position,
      fence,
      claimedMs,
      status: 'queued',
      startedAt: null,
      end: null,
      awaitingUntil: null,
      abort: null,
      cancelledMs: null,
      isOver: false,
      isBeyondShare: false,
      waitsAs: null,
      leaving: false,
    })
  }
  return batch.executions
}

function ofLive(
  one: ClaimedLive,
  { claimedMs, definitions, parents, isIsolated }: HeldContext,
): HeldExecution {
  return {
    executionId: one.executionId,
    jobId: one.jobId,
    version: one.version,
    kind: one.kind,
    lane: one.lane,
    slot: one.slot,
    enqueuedAt: one.enqueuedAt,
    attempt: one.attempt,
    losses: one.losses,
    prepared: definitions.get(one.jobId, one.version)!,
    bodyOverride: 'payloadOverride' in one ? JSON.stringify(one.payloadOverride) : null,
    idempotencyKey: one.idempotencyKey,
    checkpoint: 'checkpoint' in one ? { value: one.checkpoint } : null,
    totalDeadline: one.totalDeadline,
    runId: one.runId,
    parents: parents.get(one.executionId) ?? [],
    isSuspect: isIsolated && one.suspect,
    batch: null,
    position: 0,
    fence: one.fence,
    claimedMs,
    status: 'queued',
    startedAt: null,
    end: null,
    awaitingUntil: null,
    abort: null,
    cancelledMs: null,
    isOver: false,
    isBeyondShare: false,
    waitsAs: null,
    leaving: false,
  }
}

/** The tenants that have to sign the calls of these executions with their keys. */
export function tenantsCalled(executions: readonly HeldExecution[]): Set<string> {
  const tenantIds = new Set<string>()
  for (const { prepared } of executions) if (prepared.executor === 'http') tenantIds.add(prepared.tenantId)
  return tenantIds
}

export function tenantsOf(executions: readonly HeldExecution[]): Set<string> {
  const tenantIds = new Set<string>()
  for (const { prepared } of executions) tenantIds.add(prepared.tenantId)
  return tenantIds
}

/** The definitions that a claim needs. */
export function keysOf({ batches, live }: Claimed): { jobId: string; version: number }[] {
  const keys = live.map(({ jobId, version }) => ({ jobId, version }))
  for (const { jobIds, versions } of batches) {
    for (let i = 0; i < jobIds.length; i++) keys.push({ jobId: jobIds[i]!, version: versions[i]! })
  }
  return keys
}

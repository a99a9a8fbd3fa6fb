// Executions stopped and repeated, in memory.
import { batchIdOf, idempotencyKeyOf, statusOfLive, statusOfOutcome } from '../../domain/execution.ts'
import { rankOf, triggerPriority } from '../../domain/rank.ts'
import { serverRoute } from '../../domain/route.ts'
import type { CancelOutcome, Control, RetryOrder, RetryOutcome } from '../../ports/control.ts'
import { cancelInBatch, cancelLive, findInBatch } from './cancel.ts'
import { makeLive } from './make-live.ts'
import type { AttemptRow, BatchEntry, BatchRow, LiveRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

type Found =
  | { place: 'live'; row: LiveRow }
  | { place: 'batch'; batch: BatchRow; entry: BatchEntry }
  | { place: 'ended'; row: AttemptRow }

export class MemoryControl implements Control {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async cancel({
    tenantId,
    executionId,
    message,
  }: {
    tenantId: string
    executionId: string
    message: string
  }): Promise<CancelOutcome> {
    const found = this.#find(tenantId, executionId)
    if (found === null) return { kind: 'not_found' }
    if (found.place === 'ended') {
      const { jobId, outcome } = found.row
      if (outcome === 'cancelled') return { kind: 'cancelled', jobId }
      return { kind: 'finished', status: statusOfOutcome(outcome) }
    }
    if (found.place === 'live') {
      if (found.row.state === 'running') return { kind: 'running' }
      cancelLive(this.#store, found.row, message)
      return { kind: 'cancelled', jobId: found.row.jobId }
    }
    if (found.batch.workerId !== null) return { kind: 'running' }
    cancelInBatch(this.#store, found.batch, found.entry, message)
    return { kind: 'cancelled', jobId: found.entry.jobId }
  }

  async retry(order: RetryOrder): Promise<RetryOutcome> {
    const found = this.#find(order.tenantId, order.executionId)
    if (found === null) return { kind: 'not_found' }
    if (found.place === 'batch') {
      return { kind: 'not_finished', status: found.batch.workerId === null ? 'PENDING' : 'RUNNING' }
    }
    if (found.place === 'live') {
      return { kind: 'not_finished', status: statusOfLive(found.row.state, found.row.attempt) }
    }
    const { jobId, slot } = found.row
    if (this.#store.jobs.get(jobId)!.cursor.status === 'DELETED') return { kind: 'job_deleted' }
    const { enqueuedAt } = this.#enqueue(order, found.row)
    this.#store.deadLetters.delete(order.executionId)
    return { kind: 'retried', jobId, enqueuedAt, slot }
  }

  #enqueue(order: RetryOrder, original: AttemptRow): LiveRow {
    const { jobId, tenantId, slot, executionId } = original
    const job = this.#store.jobs.get(jobId)!
    const { overlapPolicy, ...version } = job.versions.get(job.version)!
    const priority = triggerPriority(version.priority)
    const now = this.#store.now()
    // Whoever saw the first key has the effect once; what went well or never began is to have its effect again.
    const keepsKey = original.outcome !== 'succeeded' && original.outcome !== 'cancelled'
    const row = makeLive({
      executionId: order.newExecutionId,
      jobId,
      version: job.version,
      tenantId,
      kind: 'retry',
      state: overlapPolicy === 'ALLOW' ? 'ready' : 'waiting',
      route: serverRoute,
      lane: order.lane,
      priority,
      slot,
      enqueuedAt: now,
      rank: rankOf(now, priority),
      ...this.#payloadOf(order, original),
      idempotencyKey: keepsKey
        ? (original.idempotencyKey ?? idempotencyKeyOf(original.kind, original))
        : null,
      retryOf: executionId,
    })
    this.#store.addLive(row)
    return row
  }

  #payloadOf(order: RetryOrder, original: AttemptRow): { payloadOverride?: unknown } {
    if ('payloadOverride' in order) return { payloadOverride: structuredClone(order.payloadOverride) }
    const letter = this.#store.deadLetters.get(original.executionId)
    if (letter !== undefined) return 'payload' in letter ? { payloadOverride: letter.payload } : {}
    return 'payloadOverride' in original ? { payloadOverride: original.payloadOverride } : {}
  }

  #find(tenantId: string, executionId: string): Found | null {
    const row = this.#store.live.get(executionId)
    if (row !== undefined) return row.tenantId === tenantId ? { place: 'live', row } : null
    const batch = this.#store.batches.get(batchIdOf(executionId))
    const entry = batch === undefined ? undefined : findInBatch(batch, executionId)
    if (batch !== undefined && entry !== undefined) {
      return this.#store.findJob(tenantId, entry.jobId) === null ? null : { place: 'batch', batch, entry }
    }
    const last = this.#store.log.of(executionId).at(-1)
    if (last?.tenantId !== tenantId || last.recordedAt < this.#store.retainedFrom()) return null
    return { place: 'ended', row: last }
  }
}

// Executions stopped and repeated, in memory.
import type { SettledAttempt } from '../../src/domain/queue/attempt.ts'
import {
  type ExecutionStatus,
  idempotencyKeyOf,
  isKeyKept,
  statusOfOutcome,
} from '../../src/domain/queue/execution.ts'
import { rankOf, triggerPriority } from '../../src/domain/queue/rank.ts'
import { routeOf } from '../../src/domain/queue/route.ts'
import type { CancelOutcome, Control, RetryOrder, RetryOutcome } from '../../src/ports/control.ts'
import type { ExecutionQuery } from '../../src/ports/executions.ts'
import { cancelUnderWay, findUnderWay, type UnderWay } from './cancel.ts'
import { summaryOfEntry, summaryOfLive } from './execution-summary.ts'
import { MemoryExecutions } from './executions.ts'
import { entryState, makeLive } from './insert-live.ts'
import { settledOf } from './record-attempt.ts'
import type { AttemptRow, LiveRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

type Found = UnderWay | { kind: 'ended'; row: AttemptRow }

export class MemoryControl implements Control {
  readonly #store: MemoryStore
  readonly #executions: MemoryExecutions

  constructor(store: MemoryStore) {
    this.#store = store
    this.#executions = new MemoryExecutions(store)
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
    if (found.kind === 'ended') {
      const { jobId, outcome } = found.row
      return outcome === 'cancelled'
        ? { kind: 'cancelled', jobId, settled: null }
        : { kind: 'finished', status: statusOfOutcome(outcome) }
    }
    const { jobId } = found.kind === 'live' ? found.row : found.entry
    if (cancelUnderWay(this.#store, found, message)) return { kind: 'cancelling', jobId }
    return { kind: 'cancelled', jobId, settled: settledOf(this.#store, executionId) }
  }

  async cancelMany({
    tenantId,
    executionIds,
    message,
  }: {
    tenantId: string
    executionIds: readonly string[]
    message: string
  }): Promise<{ cancelled: SettledAttempt[]; cancelling: number }> {
    const cancelled: SettledAttempt[] = []
    let cancelling = 0
    for (const executionId of executionIds) {
      const found = this.#find(tenantId, executionId)
      if (found === null || found.kind === 'ended') continue
      if (cancelUnderWay(this.#store, found, message)) cancelling += 1
      else cancelled.push(settledOf(this.#store, executionId))
    }
    return { cancelled, cancelling }
  }

  async findUnended(query: ExecutionQuery): Promise<{ executionIds: string[]; next: string | null }> {
    return this.#executions.findUnended(query)
  }

  async retry(order: RetryOrder): Promise<RetryOutcome> {
    const found = this.#find(order.tenantId, order.executionId)
    if (found === null) return { kind: 'not_found' }
    if (found.kind !== 'ended') return { kind: 'not_finished', status: this.#statusOf(found) }
    const { jobId, slot } = found.row
    const job = this.#store.findUsableJob(order.tenantId, jobId)
    if (job === null || job.cursor.status === 'DELETED') return { kind: 'job_deleted' }
    const { enqueuedAt } = this.#enqueue(order, found.row)
    this.#store.deadLetters.delete(order.executionId)
    return { kind: 'retried', jobId, enqueuedAt, slot }
  }

  #enqueue(order: RetryOrder, original: AttemptRow): LiveRow {
    const { jobId, tenantId, slot, executionId } = original
    const job = this.#store.jobs.get(jobId)!
    const version = job.versions.get(job.version)!
    const priority = triggerPriority(version.priority)
    const now = this.#store.now()
    const row = makeLive({
      executionId: order.newExecutionId,
      jobId,
      version: job.version,
      tenantId,
      kind: 'retry',
      ...entryState(version, { isFree: false }),
      route: routeOf(version),
      lane: order.lane,
      priority,
      slot,
      enqueuedAt: now,
      rank: rankOf(now, priority),
      ...this.#payloadOf(order, original),
      idempotencyKey: isKeyKept(original.outcome)
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

  #statusOf(found: UnderWay): ExecutionStatus {
    return found.kind === 'live'
      ? summaryOfLive(this.#store, found.row).status
      : summaryOfEntry(this.#store, found.batch, found.entry).status
  }

  #find(tenantId: string, executionId: string): Found | null {
    const found = findUnderWay(this.#store, executionId)
    if (found !== null) {
      const { jobId } = found.kind === 'live' ? found.row : found.entry
      return this.#store.findJob(tenantId, jobId) === null ? null : found
    }
    const last = this.#store.log.of(executionId).at(-1)
    if (last?.tenantId !== tenantId || last.recordedAt < this.#store.retainedFrom()) return null
    return { kind: 'ended', row: last }
  }
}

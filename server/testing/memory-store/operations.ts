// Operations in memory. Unlike in PostgreSQL a step that fails leaves behind its writes up to the failure: code that
// works in steps must tolerate its own earlier work.
import {
  backfillCancelledMessage,
  type NewOperation,
  type Operation,
  operationDaysKept,
  operationFailuresMax,
  operationsMax,
  type SteppedOperation,
} from '../../src/domain/jobs/operation.ts'
import type { SettledAttempt } from '../../src/domain/queue/attempt.ts'
import { type EpochMs, epochMs } from '../../src/lib/time/epoch.ts'
import { dayMs } from '../../src/lib/time/units.ts'
import { totalMax } from '../../src/ports/executions.ts'
import type { CancelledOperation, Operations, OperationWork } from '../../src/ports/operations.ts'
import type { WriteStores } from '../../src/ports/requests.ts'
import { cancelAll, isRunning } from './cancel.ts'
import type { OperationRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

const retryMs = 1_000
const givenUp = `It was given up after ${operationFailuresMax} steps in a row that failed.`

export class MemoryOperations implements Operations {
  readonly #store: MemoryStore
  readonly #stores: () => WriteStores

  /** `stores` is asked for when a step begins, since they contain this one. */
  constructor(store: MemoryStore, stores: () => WriteStores) {
    this.#store = store
    this.#stores = stores
  }

  async create(given: NewOperation): Promise<'created' | 'too_many'> {
    const own = this.#of(given.tenantId)
    const running = own.filter(({ operation }) => operation.status === 'RUNNING').length
    if (running >= operationsMax) return 'too_many'
    const fresh = {
      status: 'RUNNING',
      done: 0,
      skipped: 0,
      after: null,
      error: null,
      finishedAt: null,
    } as const
    const operation: Operation = { ...structuredClone(given), ...fresh }
    const { operationId, createdAt } = operation
    this.#store.operations.set(operationId, { operation, nextAt: createdAt, failures: 0, inFlight: false })
    return 'created'
  }

  async get(tenantId: string, operationId: string): Promise<Operation | null> {
    const row = this.#find(tenantId, operationId)
    return row === null ? null : structuredClone(row.operation)
  }

  async list({ tenantId, before, limit }: { tenantId: string; before: string | null; limit: number }) {
    const all = this.#of(tenantId)
      .map(({ operation }) => operation)
      .toSorted((a, b) => compareText(b.operationId, a.operationId))
    const behind = before === null ? all : all.filter(({ operationId }) => operationId < before)
    return {
      operations: behind.slice(0, limit).map(listed),
      more: behind.length > limit,
      total: Math.min(all.length, totalMax + 1),
    }
  }

  async cancel(tenantId: string, operationId: string): Promise<CancelledOperation | null> {
    const row = this.#find(tenantId, operationId)
    if (row === null) return null
    const { status, kind } = row.operation
    const mayEnd = status === 'RUNNING' && !kind.startsWith('tenant_')
    const isRunningBackfill = mayEnd && kind === 'backfill'
    if (mayEnd) this.#end(row, { status: 'CANCELLED' })
    const cancelled = isRunningBackfill ? this.#cancelExecutions(row.operation) : []
    return { ...structuredClone(row.operation), ...(cancelled.length > 0 && { cancelled }) }
  }

  /** Executions that already run go on. */
  #cancelExecutions({ operationId }: Operation): SettledAttempt[] {
    const rows = [...this.#store.live.values()].filter((row) => row.operationId === operationId)
    const waiting = rows.map((row) => ({ kind: 'live', row }) as const).filter((one) => !isRunning(one))
    return cancelAll(this.#store, waiting, backfillCancelledMessage)
  }

  async step(work: OperationWork): Promise<Operation | null> {
    const row = this.#takeDue()
    if (row === null) return null
    row.inFlight = true
    try {
      const progress = await work(structuredClone(row.operation) as SteppedOperation, this.#stores())
      const { done, skipped, after, waitMs, error } = progress
      const { operation } = row
      operation.done += done
      operation.skipped += skipped
      operation.after = after ?? operation.after
      row.failures = 0
      // It may have been cancelled meanwhile: finished work counts, and nothing more is done.
      if (operation.status === 'RUNNING') {
        if (error !== undefined) this.#end(row, { status: 'FAILED', error })
        else if (after === null) this.#end(row, { status: 'COMPLETED' })
        else row.nextAt = epochMs(this.#store.now() + waitMs)
      }
      return structuredClone(operation)
    } catch (error) {
      this.#fail(row)
      throw error
    } finally {
      row.inFlight = false
    }
  }

  async nextAt(): Promise<EpochMs | null> {
    return this.#first()?.nextAt ?? null
  }

  async prune(limit: number): Promise<number> {
    const { operations, tenantWork } = this.#store
    const named = new Set(tenantWork.values().map((work) => work.operationId))
    const before = this.#store.now() - operationDaysKept * dayMs
    const old = [...operations.values()]
      .map(({ operation }) => operation)
      .filter(({ operationId }) => !named.has(operationId))
      .filter(({ finishedAt }) => finishedAt !== null && finishedAt < before)
      .toSorted((a, b) => a.finishedAt! - b.finishedAt!)
      .slice(0, limit)
    for (const { operationId } of old) operations.delete(operationId)
    return old.length
  }

  #takeDue(): OperationRow | null {
    const first = this.#first((row) => !row.inFlight)
    return first !== null && first.nextAt! <= this.#store.now() ? first : null
  }

  #first(isWanted: (row: OperationRow) => boolean = () => true): OperationRow | null {
    const { operations, deletedTenants } = this.#store
    const running = [...operations.values()].filter((row) => {
      return row.nextAt !== null && !deletedTenants.has(row.operation.tenantId) && isWanted(row)
    })
    const [first] = running.toSorted(
      (a, b) => a.nextAt! - b.nextAt! || compareText(a.operation.operationId, b.operation.operationId),
    )
    return first ?? null
  }

  #fail(row: OperationRow): void {
    if (row.operation.status !== 'RUNNING') return
    row.failures += 1
    if (row.failures >= operationFailuresMax) this.#end(row, { status: 'FAILED', error: givenUp })
    else row.nextAt = epochMs(this.#store.now() + retryMs)
  }

  #end(row: OperationRow, changes: Partial<Operation>): void {
    Object.assign(row.operation, { finishedAt: this.#store.now() }, changes)
    row.nextAt = null
  }

  #of(tenantId: string): OperationRow[] {
    return [...this.#store.operations.values()].filter(({ operation }) => operation.tenantId === tenantId)
  }

  #find(tenantId: string, operationId: string): OperationRow | null {
    const row = this.#store.operations.get(operationId)
    return row?.operation.tenantId === tenantId ? row : null
  }
}

/** The options of a trigger are a payload, which no list carries. */
function listed(operation: Operation): Operation {
  return structuredClone(operation.kind === 'trigger' ? { ...operation, options: {} } : operation)
}

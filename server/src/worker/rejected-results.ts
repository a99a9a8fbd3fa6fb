// Results that came too late: this worker no longer held their execution. They change nothing, and are recorded as
// refused: as an event, and in the log of the execution, where people look for the cause. Bounded, and never a reason for
// another write to fail.
import { lineOfRefused } from '../domain/history/log.ts'
import type { Clock } from '../ports/clock.ts'
import type { LogPart, Logs } from '../ports/logs.ts'
import type { Queue } from '../ports/queue.ts'
import { attemptRefused } from '../telemetry/events.ts'
import { emitAttemptFinished, nothingAfter } from './emit-attempt-finished.ts'
import type { HeldExecution } from './held-execution.ts'

export interface RejectedDeps {
  clock: Clock
  queue: Pick<Queue, 'findOwn'>
  logs: Pick<Logs, 'append'>
}

/** `isRepeated`: a write of it failed, and may have been carried out. */
export interface RejectedResult {
  held: HeldExecution
  workerId: string
  isRepeated: boolean
}

/** Results and lines kept at once; beyond them only the event is emitted. */
const resultsMax = 2_000
const linesMax = 1_000

export class RejectedResults {
  readonly #deps: RejectedDeps
  #results: RejectedResult[] = []
  #parts: LogPart[] = []

  constructor(deps: RejectedDeps) {
    this.#deps = deps
  }

  get isWaiting(): boolean {
    return this.#results.length + this.#parts.length > 0
  }

  /** Results that ended under a lease that is gone: whether one is on record is still to be asked. */
  add(results: readonly RejectedResult[]): void {
    const room = Math.max(0, resultsMax - this.#results.length)
    this.#results.push(...results.slice(0, room))
    for (const { held, workerId } of results.slice(room)) emitRefused(held, workerId)
  }

  refuse(held: HeldExecution, workerId: string): void {
    emitRefused(held, workerId)
    if (this.#parts.length >= linesMax) return
    const { executionId, attempt, fence, end, prepared } = held
    const said = end === null ? null : summaryOf(end)
    const line = lineOfRefused({ attempt, fence, workerId, said }, this.#deps.clock.databaseNow())
    this.#parts.push({ tenantId: prepared.tenantId, executionId, attempt, ...line })
  }

  /** When a write fails, everything is still there for the next time. */
  async write(): Promise<void> {
    for (const [workerId, results] of Map.groupBy(this.#results, (one) => one.workerId))
      await this.#settle(workerId, results)
    const parts = this.#parts
    if (parts.length === 0) return
    await this.#deps.logs.append(parts)
    this.#parts = this.#parts.slice(parts.length)
  }

  async #settle(workerId: string, results: readonly RejectedResult[]): Promise<void> {
    const asked = results.map(({ held: { executionId, attempt, jobId } }) => ({
      executionId,
      attempt,
      jobId,
    }))
    const found = await this.#deps.queue.findOwn(workerId, asked)
    const recorded = new Set(
      found.filter(({ status }) => status === 'recorded').map((one) => one.executionId),
    )
    this.#results = this.#results.filter((one) => !results.includes(one))
    for (const { held, isRepeated } of results) {
      if (!recorded.has(held.executionId)) this.refuse(held, workerId)
      // The write with the lost answer was carried out while the lease was still held.
      else if (isRepeated)
        emitAttemptFinished(this.#deps.clock, held, held.cancelledMs !== null, nothingAfter())
    }
  }
}

function emitRefused({ executionId, attempt }: HeldExecution, workerId: string): void {
  attemptRefused.emit({ executionId, attempt, workerId })
}

function summaryOf({ outcome, httpStatus, error }: NonNullable<HeldExecution['end']>): string {
  const detail = httpStatus === null ? error?.type : `HTTP ${httpStatus}`
  return detail === undefined ? outcome.toUpperCase() : `${outcome.toUpperCase()}, ${detail}`
}

// Results that came too late: their execution had been taken from this worker. They change nothing, and are recorded as
// refused: as an event, and in the log of the execution, where people look for what happened. Bounded, and never a
// reason for anything else to fail.
import { lineOfRefused } from '../domain/history/log.ts'
import type { Clock } from '../ports/clock.ts'
import type { LogPart, Logs } from '../ports/logs.ts'
import type { Queue } from '../ports/queue.ts'
import { attemptRefused } from '../telemetry/events.ts'
import { nothingAfter, tell } from './emit-attempt-finished.ts'
import type { Task } from './held-execution.ts'

export interface LateDeps {
  clock: Clock
  queue: Pick<Queue, 'findOwn'>
  logs: Pick<Logs, 'append'>
}

/** `isRepeated`: a write of it failed, and may have been carried out. */
export interface LateResult {
  task: Task
  workerId: string
  isRepeated: boolean
}

/** Kept at once; of more only the event tells. */
const resultsMax = 2_000
const linesMax = 1_000

export class LateResults {
  readonly #deps: LateDeps
  #results: LateResult[] = []
  #parts: LogPart[] = []

  constructor(deps: LateDeps) {
    this.#deps = deps
  }

  get isWaiting(): boolean {
    return this.#results.length + this.#parts.length > 0
  }

  /** The lease is gone, and these had ended under it: whether one of them is on record is still to be asked. */
  add(results: readonly LateResult[]): void {
    const room = Math.max(0, resultsMax - this.#results.length)
    this.#results.push(...results.slice(0, room))
    for (const { task, workerId } of results.slice(room)) tellRefused(task, workerId)
  }

  refuse(task: Task, workerId: string): void {
    tellRefused(task, workerId)
    if (this.#parts.length >= linesMax) return
    const { executionId, attempt, fence, end, prepared } = task
    const said = end === null ? null : saidOf(end)
    const line = lineOfRefused({ attempt, fence, workerId, said }, this.#deps.clock.databaseNow())
    this.#parts.push({ tenantId: prepared.tenantId, executionId, attempt, ...line })
  }

  /** When it fails, everything is still there for the next time. */
  async write(): Promise<void> {
    for (const [workerId, results] of Map.groupBy(this.#results, (one) => one.workerId))
      await this.#settle(workerId, results)
    const parts = this.#parts
    if (parts.length === 0) return
    await this.#deps.logs.append(parts)
    this.#parts = this.#parts.slice(parts.length)
  }

  async #settle(workerId: string, results: readonly LateResult[]): Promise<void> {
    const asked = results.map(({ task: { executionId, attempt, jobId } }) => ({
      executionId,
      attempt,
      jobId,
    }))
    const found = await this.#deps.queue.findOwn(workerId, asked)
    const recorded = new Set(found.filter(({ state }) => state === 'recorded').map((one) => one.executionId))
    this.#results = this.#results.filter((one) => !results.includes(one))
    for (const { task, isRepeated } of results) {
      if (!recorded.has(task.executionId)) this.refuse(task, workerId)
      // The write whose answer was lost was carried out before the lease was.
      else if (isRepeated) tell(this.#deps.clock, task, task.cancelledMs !== null, nothingAfter())
    }
  }
}

function tellRefused({ executionId, attempt }: Task, workerId: string): void {
  attemptRefused.emit({ executionId, attempt, workerId })
}

function saidOf({ outcome, httpStatus, error }: NonNullable<Task['end']>): string {
  const detail = httpStatus === null ? error?.type : `HTTP ${httpStatus}`
  return detail === undefined ? outcome.toUpperCase() : `${outcome.toUpperCase()}, ${detail}`
}

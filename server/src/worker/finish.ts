// Records how executions ended. Results are gathered while the previous write is under way, and kept until the store has
// them: a database outage delays the history and loses no result. The fence decides whether a result still counts.
//
// States of a result: unwritten (in `UnwrittenResults`) -> under way (sent, no answer yet) -> settled. A write that
// fails makes its results repeated: it may have been carried out. If the store did not find the row of a result, the
// result is missing, and the store is asked for it: recorded (by us, if the result is repeated), held (the execution
// had left its batch and is written alone), or not ours any more, which refuses the result.
//
// Invariants: a result is removed only once it is settled, or with the whole lease (`clear`); an execution is dropped
// from flight when its result is settled and not before; an end is emitted once, by the write that recorded it; the
// result of an execution that leaves its batch is not written before that batch.
import type { Clock } from '../ports/clock.ts'
import type { FinishAnswer, OwnAttempt, Queue } from '../ports/queue.ts'
import { historyWriteFailed } from '../telemetry/events.ts'
import type { AttemptUpdates } from './attempt-updates.ts'
import { type After, emitAttemptFinished, nothingAfter } from './emit-attempt-finished.ts'
import { endingOf, endingUnstarted } from './ending.ts'
import type { HeldBatch, HeldExecution } from './held-execution.ts'
import type { InFlight } from './in-flight.ts'
import type { RejectedResults } from './rejected-results.ts'
import {
  type Unwritten,
  type UnwrittenBatch,
  type UnwrittenLive,
  UnwrittenResults,
} from './unwritten-results.ts'

export interface FinishDeps {
  clock: Clock
  queue: Pick<Queue, 'finishBatches' | 'finishLive' | 'findOwn'>
  inFlight: InFlight
  updates: Pick<AttemptUpdates, 'isWaiting' | 'send'>
  rejected: Pick<RejectedResults, 'refuse'>
  /** An execution of this tenant is left to its target, which will report the end. */
  onAwaited: (tenantId: string) => void
  workerId: () => string
  /** Called after a commit: executions may have become claimable or releasable, or a retry was planned. */
  onFinished: (after: After) => void
}

/** The store's knowledge of results that it found no row for. */
interface Missing {
  /** By execution; absent: the store has no record of it. */
  own: ReadonlyMap<string, OwnAttempt['status']>
  isRepeated: boolean
  after: After
}

/** Executions in one write. */
const executionsMax = 2_000
/** With this many in flight, the results of `gatherMs` are written together: starting calls comes first in a burst. */
const busySize = 200
const gatherMs = 20
/** With this many results there is no waiting: a larger write is no cheaper for each of them. */
const gatherMax = 500

export class Finisher {
  readonly #deps: FinishDeps
  readonly #results: UnwrittenResults
  /** No write before this, on the monotonic clock. */
  #nextMs = 0

  constructor(deps: FinishDeps) {
    this.#deps = deps
    this.#results = new UnwrittenResults(deps.inFlight)
  }

  /** Batches and single executions that wait to be written. */
  get pending(): number {
    return this.#results.size
  }

  /** A batch that has ended, or that has been together for long enough: executions that still run leave it. */
  addBatch(batch: HeldBatch): void {
    this.#results.addBatch(batch)
  }

  addLive(held: HeldExecution): void {
    this.#results.addLive(held, endingOf(held))
  }

  /** An execution that waited too long for its host and goes back, unstarted. */
  addWaiting(held: HeldExecution): void {
    this.#results.addLive(held, endingUnstarted(held))
  }

  /** Discards every result, also of a write under way; returns the executions with a possibly written result. */
  clear(): Set<HeldExecution> {
    return this.#results.clear()
  }

  /** One write. A step for a Loop; when it fails, every result is still there for the next one. */
  async finishOnce(): Promise<'more' | 'idle' | number> {
    const { clock, inFlight } = this.#deps
    const waitMs = this.#nextMs - clock.monotonicMs()
    if (waitMs > 0 && inFlight.size >= busySize && this.#results.executions < gatherMax) return waitMs
    await this.write()
    this.#nextMs = clock.monotonicMs() + gatherMs
    return this.pending > 0 ? 'more' : 'idle'
  }

  /** Writes the results, in one write of batches and one of single executions. */
  async write(): Promise<void> {
    const { updates } = this.#deps
    if (this.pending === 0) return
    // The updates of an attempt come before its end: the next attempt starts from its checkpoint. Should they fail, the
    // end is written all the same.
    if (updates.isWaiting) await updates.send().catch(() => {})
    const workerId = this.#deps.workerId()
    try {
      if (this.#results.hasBatches) await this.#writeBatches(workerId)
      if (this.#results.hasLive) await this.#writeLive(workerId)
    } catch (error) {
      historyWriteFailed.emit({ executions: this.pending, error })
      throw error
    }
  }

  async #writeBatches(workerId: string): Promise<void> {
    const some = this.#results.nextBatches(executionsMax)
    const finished = some.map((one) => one.finished)
    const answer = await this.#try(some, this.#deps.queue.finishBatches(workerId, finished))
    const missingIds = new Set(answer.missing)
    const written = some.filter(({ batch }) => !missingIds.has(batch.batchId))
    this.#settleBatches(written, answer)
    const missing = some.filter(({ batch }) => missingIds.has(batch.batchId))
    for (const one of missing) one.isUnderWay = false
    if (missing.length > 0) await this.#resolveMissingBatches(missing, workerId)
  }

  #settleBatches(written: readonly UnwrittenBatch[], answer: FinishAnswer): void {
    const after = nothingAfter()
    const cancelled = new Set(answer.cancelled)
    const left = new Set(answer.left)
    for (const { batch, running, others } of this.#results.removeBatches(written)) {
      for (const held of running) held.leaving = false
      for (const held of others) {
        if (left.has(held.executionId)) this.#results.addAlone(held, false)
        else this.#settle(held, cancelled.has(held.executionId), after)
      }
      this.#deps.inFlight.dropBatch(batch)
    }
    if (written.length > 0) this.#deps.onFinished(after)
  }

  /** A batch is missing if it was written and the answer was lost, if all its executions had left it, or if it was reclaimed. */
  async #resolveMissingBatches(missing: readonly UnwrittenBatch[], workerId: string): Promise<void> {
    const executions = missing.flatMap(({ running, others }) => [...running, ...others])
    const own = await this.#findOwn(workerId, executions)
    const after = nothingAfter()
    for (const { batch, running, others, isRepeated } of this.#results.removeBatches(missing)) {
      for (const held of running) {
        held.leaving = false
        const status = own.get(held.executionId)
        if (status !== 'held') this.#lose(held, { workerId, isRecorded: status === 'recorded' })
      }
      for (const held of others) {
        // The execution had left its batch, as after a heartbeat, and its result is not written yet.
        if (own.get(held.executionId) === 'held') this.#results.addAlone(held, isRepeated)
        else this.#settleMissing(held, workerId, { own, isRepeated, after })
      }
      this.#deps.inFlight.dropBatch(batch)
    }
    this.#deps.onFinished(after)
  }

  async #writeLive(workerId: string): Promise<void> {
    const some = this.#results.nextLive(executionsMax)
    if (some.length === 0) return
    const finished = some.map((one) => one.finished)
    const answer = await this.#try(some, this.#deps.queue.finishLive(workerId, finished))
    const missingIds = new Set(answer.missing)
    const cancelled = new Set(answer.cancelled)
    const after = nothingAfter()
    const written = some.filter(({ held }) => !missingIds.has(held.executionId))
    for (const { held } of this.#results.removeLive(written))
      this.#settle(held, cancelled.has(held.executionId), after)
    if (written.length > 0) this.#deps.onFinished(after)
    const missing = some.filter(({ held }) => missingIds.has(held.executionId))
    for (const one of missing) one.isUnderWay = false
    if (missing.length > 0) await this.#resolveMissingLive(missing, workerId)
  }

  async #resolveMissingLive(missing: readonly UnwrittenLive[], workerId: string): Promise<void> {
    const executions = missing.map(({ held }) => held)
    const own = await this.#findOwn(workerId, executions)
    const after = nothingAfter()
    for (const { held, isRepeated } of this.#results.removeLive(missing))
      this.#settleMissing(held, workerId, { own, isRepeated, after })
    this.#deps.onFinished(after)
  }

  async #try(some: readonly Unwritten[], write: Promise<FinishAnswer>): Promise<FinishAnswer> {
    for (const one of some) one.isUnderWay = true
    try {
      return await write
    } catch (error) {
      for (const one of some) Object.assign(one, { isRepeated: true, isUnderWay: false })
      throw error
    }
  }

  async #findOwn(workerId: string, executions: readonly HeldExecution[]): Promise<Missing['own']> {
    const asked = executions.map(({ executionId, attempt, jobId }) => ({ executionId, attempt, jobId }))
    const found = await this.#deps.queue.findOwn(workerId, asked)
    return new Map(found.map(({ executionId, status }) => [executionId, status]))
  }

  /** By this write the execution is recorded, handed back because it was not started, or left to its target. */
  #settle(held: HeldExecution, wasCancelled: boolean, after: After): void {
    if (held.end !== null || wasCancelled) emitAttemptFinished(this.#deps.clock, held, wasCancelled, after)
    else if (held.awaitingUntil === null) after.handedBack = true
    else this.#deps.onAwaited(held.prepared.tenantId)
    this.#deps.inFlight.drop(held)
  }

  /** A record of a missing execution is ours only if an earlier write of ours may have been carried out. */
  #settleMissing(held: HeldExecution, workerId: string, { own, isRepeated, after }: Missing): void {
    const isAwaiting = held.end === null && held.awaitingUntil !== null
    if (own.get(held.executionId) === 'recorded') {
      // The end that a target reported itself was emitted at that time. A cancel that this worker has seen stays.
      if (isRepeated && !isAwaiting)
        emitAttemptFinished(this.#deps.clock, held, held.cancelledMs !== null, after)
    } else if (held.end === null && !isAwaiting) after.handedBack = true
    // An execution that was written as awaiting has no worker, and a lost attempt no result: neither is refused.
    else if ((!isAwaiting || !isRepeated) && held.end?.outcome !== 'lost')
      this.#deps.rejected.refuse(held, workerId)
    this.#deps.inFlight.drop(held)
  }

  #lose(held: HeldExecution, { workerId, isRecorded }: { workerId: string; isRecorded: boolean }): void {
    if (!isRecorded) this.#deps.rejected.refuse(held, workerId)
    this.#results.removeExecution(held)
    this.#deps.inFlight.drop(held)
    held.abort?.abort()
  }
}

// Results that wait to be written, of batches and of single executions. Kept until the finisher has settled them: a
// result stays here while its write is under way, and when the write fails.
import type { FinishedBatch, FinishedLive } from '../ports/queue.ts'
import { endingOf, endingUnstarted, runningOf } from './ending.ts'
import type { HeldBatch, HeldExecution } from './held-execution.ts'
import type { InFlight } from './in-flight.ts'

export interface Unwritten {
  /** A write of it failed, and may have been carried out. */
  isRepeated: boolean
  /** From the beginning of a write until it is known whether it was carried out. */
  isUnderWay: boolean
}

export interface UnwrittenBatch extends Unwritten {
  batch: HeldBatch
  running: HeldExecution[]
  /** Executions that have ended, or were not started. */
  others: HeldExecution[]
  finished: FinishedBatch
}

export interface UnwrittenLive extends Unwritten {
  held: HeldExecution
  finished: FinishedLive
}

/** The fence of an execution that has left its batch: a batch is claimed once. */
const fenceAlone = 1

export class UnwrittenResults {
  readonly #inFlight: Pick<InFlight, 'unqueue'>
  #batches: UnwrittenBatch[] = []
  #live: UnwrittenLive[] = []

  constructor(inFlight: Pick<InFlight, 'unqueue'>) {
    this.#inFlight = inFlight
  }

  /** Batches and single executions. */
  get size(): number {
    return this.#batches.length + this.#live.length
  }

  get hasBatches(): boolean {
    return this.#batches.length > 0
  }

  get hasLive(): boolean {
    return this.#live.length > 0
  }

  get executions(): number {
    let executions = this.#live.length
    for (const { batch } of this.#batches) executions += batch.executions.length
    return executions
  }

  /** Queued executions of the batch do not start any more, and running ones leave it. */
  addBatch(batch: HeldBatch): void {
    const running: HeldExecution[] = []
    const others: HeldExecution[] = []
    const endings: FinishedBatch['endings'][number][] = []
    batch.settling = true
    for (const held of batch.executions) {
      const { position, status } = held
      if (status === 'running') {
        running.push(held)
        endings.push({ position, ending: runningOf(held) })
        // From here on the execution is a row of its own, and its result is written after this batch.
        leaveBatch(held)
        held.leaving = true
        continue
      }
      if (status === 'queued') this.#inFlight.unqueue(held)
      others.push(held)
      endings.push({ position, ending: status === 'queued' ? endingUnstarted(held) : endingOf(held) })
    }
    const finished = { batchId: batch.batchId, fence: batch.fence, endings }
    this.#batches.push({ batch, running, others, finished, isRepeated: false, isUnderWay: false })
  }

  addLive(held: HeldExecution, ending: FinishedLive['ending'], isRepeated = false): void {
    const { executionId, fence, attempt } = held
    const finished = { executionId, fence, attempt, ending }
    this.#live.push({ held, finished, isRepeated, isUnderWay: false })
  }

  /** An execution that came in a batch and is a row of its own by now. */
  addAlone(held: HeldExecution, isRepeated: boolean): void {
    leaveBatch(held)
    this.addLive(held, endingOf(held), isRepeated)
  }

  /** The batches of the next write: at least one, and no more once they have `executionsMax` executions. */
  nextBatches(executionsMax: number): UnwrittenBatch[] {
    let executions = 0
    let end = 0
    while (end < this.#batches.length && (end === 0 || executions < executionsMax)) {
      executions += this.#batches[end]!.batch.executions.length
      end += 1
    }
    return this.#batches.slice(0, end)
  }

  /** Leaves out executions in a batch that is not written yet: they have no row of their own and would not be found. */
  nextLive(executionsMax: number): UnwrittenLive[] {
    return this.#live.filter(({ held }) => !held.leaving).slice(0, executionsMax)
  }

  /** Returns the ones that were still here: with a lost lease they are not ours to settle. */
  removeBatches(some: readonly UnwrittenBatch[]): readonly UnwrittenBatch[] {
    const removed = new Set(some)
    const ours = this.#batches.filter((one) => removed.has(one))
    this.#batches = this.#batches.filter((one) => !removed.has(one))
    return ours
  }

  /** Returns the ones that were still here: with a lost lease they are not ours to settle. */
  removeLive(some: readonly UnwrittenLive[]): readonly UnwrittenLive[] {
    const removed = new Set(some)
    const ours = this.#live.filter((one) => removed.has(one))
    this.#live = this.#live.filter((one) => !removed.has(one))
    return ours
  }

  removeExecution(held: HeldExecution): void {
    this.#live = this.#live.filter((one) => one.held !== held)
  }

  /** Removes everything, and returns the executions with a possibly written result. */
  clear(): Set<HeldExecution> {
    const batches = this.#batches.filter(({ isRepeated, isUnderWay }) => isRepeated || isUnderWay)
    const live = this.#live.filter(({ isRepeated, isUnderWay }) => isRepeated || isUnderWay)
    this.#batches = []
    this.#live = []
    return new Set([...batches.flatMap(({ others }) => others), ...live.map(({ held }) => held)])
  }
}

function leaveBatch(held: HeldExecution): void {
  held.batch = null
  held.fence = fenceAlone
}

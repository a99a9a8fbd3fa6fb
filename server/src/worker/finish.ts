// Records how executions ended. Results are gathered while the write before is under way, and kept until the store
// has them: a database that is away delays history and loses none. The fence decides whether a result still counts.
import type { Clock } from '../ports/clock.ts'
import type { FinishAnswer, FinishedBatch, FinishedLive, OwnAttempt, Queue } from '../ports/queue.ts'
import { historyWriteFailed } from '../telemetry/events.ts'
import type { AttemptUpdates } from './attempt-updates.ts'
import { type After, emitAttemptFinished, nothingAfter } from './emit-attempt-finished.ts'
import { endingOf, endingUnstarted, runningOf } from './ending.ts'
import type { HeldBatch, HeldExecution } from './held-execution.ts'
import type { InFlight } from './in-flight.ts'
import type { RejectedResults } from './rejected-results.ts'

export interface FinishDeps {
  clock: Clock
  queue: Pick<Queue, 'finishBatches' | 'finishLive' | 'findOwn'>
  inFlight: InFlight
  notes: Pick<AttemptUpdates, 'isWaiting' | 'send'>
  late: Pick<RejectedResults, 'refuse'>
  workerId: () => string
  /** Called after a commit: something may have become claimable, releasable, or a retry was planned. */
  onFinished: (after: After) => void
}

/** What waits to be written. */
interface Unwritten {
  /** A write of it failed, and may have been carried out. */
  isRepeated: boolean
  /** From the beginning of a write until it is known whether it was carried out. */
  isUnderWay: boolean
}

interface SettledBatch extends Unwritten {
  batch: HeldBatch
  running: HeldExecution[]
  /** What has ended, and what was not started. */
  others: HeldExecution[]
  finished: FinishedBatch
}

interface SettledLive extends Unwritten {
  held: HeldExecution
  finished: FinishedLive
}

/** What a write came to of those that were not where they were said to be. */
interface Doubt {
  /** What the store knows of them. */
  own: ReadonlyMap<string, OwnAttempt['state']>
  isRepeated: boolean
  after: After
}

const unwritten: Unwritten = { isRepeated: false, isUnderWay: false }

/** Executions in one write. */
const executionsMax = 2_000
/** With this many in hand, results of so many ms are written together: starting calls comes first in a burst. */
const busySize = 200
const gatherMs = 20
/** So many are not waited with: a write of more costs each of them nothing less. */
const gatherMax = 500
/** Of one that has left its batch: a batch is claimed once. */
const fenceAlone = 1

export class Finisher {
  readonly #deps: FinishDeps
  #batches: SettledBatch[] = []
  #live: SettledLive[] = []
  /** No write before this, on the monotonic clock. */
  #nextMs = 0

  constructor(deps: FinishDeps) {
    this.#deps = deps
  }

  get pending(): number {
    return this.#batches.length + this.#live.length
  }

  /** A batch that has ended, or that has been together for long enough: what still runs leaves it. */
  addBatch(batch: HeldBatch): void {
    const running: HeldExecution[] = []
    const others: HeldExecution[] = []
    const endings: FinishedBatch['endings'][number][] = []
    batch.settling = true
    for (const held of batch.executions) {
      const { position, state } = held
      if (state === 'running') {
        running.push(held)
        endings.push({ position, ending: runningOf(held) })
        // From here on it is a row of its own, whose result is written after this batch.
        goAlone(held)
        held.leaving = true
        continue
      }
      if (state === 'queued') this.#deps.inFlight.unqueue(held)
      others.push(held)
      endings.push({ position, ending: state === 'queued' ? endingUnstarted(held) : endingOf(held) })
    }
    const { batchId, fence } = batch
    this.#batches.push({ batch, running, others, finished: { batchId, fence, endings }, ...unwritten })
  }

  addLive(held: HeldExecution): void {
    this.#live.push(toSettled(held, endingOf(held)))
  }

  /** One that waited too long for its host and goes back, unstarted. */
  addWaiting(held: HeldExecution): void {
    this.#live.push(toSettled(held, endingUnstarted(held)))
  }

  /** Forgets everything, a write under way too; returns what may have been written. */
  clear(): Set<HeldExecution> {
    const batches = this.#batches.filter(({ isRepeated, isUnderWay }) => isRepeated || isUnderWay)
    const live = this.#live.filter(({ isRepeated, isUnderWay }) => isRepeated || isUnderWay)
    this.#batches = []
    this.#live = []
    return new Set([...batches.flatMap(({ others }) => others), ...live.map(({ held }) => held)])
  }

  /** One write. A step for a Loop; when it fails, everything is still there for the next one. */
  async step(): Promise<'more' | 'idle' | number> {
    const { clock, inFlight } = this.#deps
    const waitMs = this.#nextMs - clock.monotonicMs()
    if (waitMs > 0 && inFlight.size >= busySize && this.#settled() < gatherMax) return waitMs
    await this.write()
    this.#nextMs = clock.monotonicMs() + gatherMs
    return this.pending > 0 ? 'more' : 'idle'
  }

  /** Executions that wait to be written. */
  #settled(): number {
    let executions = this.#live.length
    for (const { batch } of this.#batches) executions += batch.executions.length
    return executions
  }

  async write(): Promise<void> {
    const { notes } = this.#deps
    if (this.pending === 0) return
    // What an attempt said comes before its end: the next one starts from its checkpoint. Should that fail, the end is
    // written all the same.
    if (notes.isWaiting) await notes.send().catch(() => {})
    const workerId = this.#deps.workerId()
    try {
      if (this.#batches.length > 0) await this.#writeBatches(workerId)
      if (this.#live.length > 0) await this.#writeLive(workerId)
    } catch (error) {
      historyWriteFailed.emit({ executions: this.pending, error })
      throw error
    }
  }

  async #writeBatches(workerId: string): Promise<void> {
    const some = this.#takeBatches()
    const finished = some.map((one) => one.finished)
    const answer = await this.#try(some, this.#deps.queue.finishBatches(workerId, finished))
    const missing = new Set(answer.missing)
    const sure = some.filter(({ batch }) => !missing.has(batch.batchId))
    this.#settleBatches(sure, answer)
    const doubted = some.filter(({ batch }) => missing.has(batch.batchId))
    for (const one of doubted) one.isUnderWay = false
    if (doubted.length > 0) await this.#findBatches(doubted, workerId)
  }

  #settleBatches(sure: readonly SettledBatch[], answer: FinishAnswer): void {
    const after = nothingAfter()
    const cancelled = new Set(answer.cancelled)
    const left = new Set(answer.left)
    for (const { batch, running, others } of this.#without(sure)) {
      for (const held of running) held.leaving = false
      for (const held of others) {
        if (left.has(held.executionId)) this.#writeAlone(held, false)
        else this.#settle(held, cancelled.has(held.executionId), after)
      }
      this.#deps.inFlight.dropBatch(batch)
    }
    if (sure.length > 0) this.#deps.onFinished(after)
  }

  /** The batch is not ours: it was written and the answer was lost, all of it had left, or it was reclaimed. */
  async #findBatches(doubted: readonly SettledBatch[], workerId: string): Promise<void> {
    const executions = doubted.flatMap(({ running, others }) => [...running, ...others])
    const own = await this.#findOwn(workerId, executions)
    const after = nothingAfter()
    for (const { batch, running, others, isRepeated } of this.#without(doubted)) {
      for (const held of running) {
        held.leaving = false
        const state = own.get(held.executionId)
        if (state !== 'held') this.#lose(held, { workerId, isRecorded: state === 'recorded' })
      }
      for (const held of others) {
        // It had left its batch, as after a sign of life, and nothing of it is written.
        if (own.get(held.executionId) === 'held') this.#writeAlone(held, isRepeated)
        else this.#settleDoubted(held, workerId, { own, isRepeated, after })
      }
      this.#deps.inFlight.dropBatch(batch)
    }
    this.#deps.onFinished(after)
  }

  #takeBatches(): SettledBatch[] {
    let executions = 0
    let end = 0
    while (end < this.#batches.length && (end === 0 || executions < executionsMax)) {
      executions += this.#batches[end]!.batch.executions.length
      end += 1
    }
    return this.#batches.slice(0, end)
  }

  /** Those of them that are still ours to settle: with a lost lease they are not. */
  #without(some: readonly SettledBatch[]): readonly SettledBatch[] {
    const written = new Set(some)
    const ours = this.#batches.filter((one) => written.has(one))
    this.#batches = this.#batches.filter((one) => !written.has(one))
    return ours
  }

  async #writeLive(workerId: string): Promise<void> {
    // One whose batch is not written yet is not a row of its own: its result would find nothing.
    const some = this.#live.filter(({ held }) => !held.leaving).slice(0, executionsMax)
    if (some.length === 0) return
    const finished = some.map((one) => one.finished)
    const answer = await this.#try(some, this.#deps.queue.finishLive(workerId, finished))
    const missing = new Set(answer.missing)
    const cancelled = new Set(answer.cancelled)
    const after = nothingAfter()
    const sure = some.filter(({ held }) => !missing.has(held.executionId))
    for (const { held } of this.#withoutLive(sure)) this.#settle(held, cancelled.has(held.executionId), after)
    if (sure.length > 0) this.#deps.onFinished(after)
    const doubted = some.filter(({ held }) => missing.has(held.executionId))
    for (const one of doubted) one.isUnderWay = false
    if (doubted.length > 0) await this.#findLive(doubted, workerId)
  }

  async #findLive(doubted: readonly SettledLive[], workerId: string): Promise<void> {
    const executions = doubted.map(({ held }) => held)
    const own = await this.#findOwn(workerId, executions)
    const after = nothingAfter()
    for (const { held, isRepeated } of this.#withoutLive(doubted))
      this.#settleDoubted(held, workerId, { own, isRepeated, after })
    this.#deps.onFinished(after)
  }

  #withoutLive(some: readonly SettledLive[]): readonly SettledLive[] {
    const written = new Set(some)
    const ours = this.#live.filter((one) => written.has(one))
    this.#live = this.#live.filter((one) => !written.has(one))
    return ours
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

  async #findOwn(workerId: string, executions: readonly HeldExecution[]): Promise<Doubt['own']> {
    const asked = executions.map(({ executionId, attempt, jobId }) => ({ executionId, attempt, jobId }))
    const found = await this.#deps.queue.findOwn(workerId, asked)
    return new Map(found.map(({ executionId, state }) => [executionId, state]))
  }

  /** It is out of our hands, by this write: recorded, handed back because it was not started, or left to its target. */
  #settle(held: HeldExecution, wasCancelled: boolean, after: After): void {
    if (held.end !== null || wasCancelled) emitAttemptFinished(this.#deps.clock, held, wasCancelled, after)
    else if (held.awaitingUntil === null) after.handedBack = true
    this.#deps.inFlight.drop(held)
  }

  /** It was not where we said. What is on record is ours only if a write of ours may have been carried out before. */
  #settleDoubted(held: HeldExecution, workerId: string, { own, isRepeated, after }: Doubt): void {
    const isAwaiting = held.end === null && held.awaitingUntil !== null
    if (own.get(held.executionId) === 'recorded') {
      // A target that completed it by itself was told of then. A cancel that we had seen is not taken back.
      if (isRepeated && !isAwaiting)
        emitAttemptFinished(this.#deps.clock, held, held.cancelledMs !== null, after)
    } else if (held.end === null && !isAwaiting) after.handedBack = true
    // One whose target has taken it is nobody's any more, if that was written; one that was given up has no result.
    else if ((!isAwaiting || !isRepeated) && held.end?.outcome !== 'lost')
      this.#deps.late.refuse(held, workerId)
    this.#deps.inFlight.drop(held)
  }

  /** It is a row of its own by now. */
  #writeAlone(held: HeldExecution, isRepeated: boolean): void {
    goAlone(held)
    this.#live.push({ ...toSettled(held, endingOf(held)), isRepeated })
  }

  #lose(held: HeldExecution, { workerId, isRecorded }: { workerId: string; isRecorded: boolean }): void {
    if (!isRecorded) this.#deps.late.refuse(held, workerId)
    this.#live = this.#live.filter((one) => one.held !== held)
    this.#deps.inFlight.drop(held)
    held.abort?.abort()
  }
}

function goAlone(held: HeldExecution): void {
  held.batch = null
  held.fence = fenceAlone
}

function toSettled(held: HeldExecution, ending: FinishedLive['ending']): SettledLive {
  const { executionId, fence, attempt } = held
  return { held, finished: { executionId, fence, attempt, ending }, ...unwritten }
}

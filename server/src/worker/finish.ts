// Records how executions ended. Results are gathered while the write before is under way, and kept until the store
// has them: a database that is away delays history and loses none. The fence decides whether a result still counts.
import type { Clock } from '../ports/clock.ts'
import type { FinishAnswer, FinishedBatch, FinishedLive, OwnAttempt, Queue } from '../ports/queue.ts'
import { historyWriteFailed } from '../telemetry/events.ts'
import type { CallNotes } from './attempt-updates.ts'
import { type After, nothingAfter, tell } from './emit-attempt-finished.ts'
import { endingOf, endingUnstarted, runningOf } from './ending.ts'
import type { BatchInHand, Task } from './held-execution.ts'
import type { Hand } from './in-flight.ts'
import type { LateResults } from './rejected-results.ts'

export interface FinishDeps {
  clock: Clock
  queue: Pick<Queue, 'finishBatches' | 'finishLive' | 'findOwn'>
  hand: Hand
  notes: Pick<CallNotes, 'isWaiting' | 'send'>
  late: Pick<LateResults, 'refuse'>
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
  batch: BatchInHand
  running: Task[]
  /** What has ended, and what was not started. */
  others: Task[]
  finished: FinishedBatch
}

interface SettledLive extends Unwritten {
  task: Task
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
  addBatch(batch: BatchInHand): void {
    const running: Task[] = []
    const others: Task[] = []
    const endings: FinishedBatch['endings'][number][] = []
    batch.settling = true
    for (const task of batch.tasks) {
      const { position, state } = task
      if (state === 'running') {
        running.push(task)
        endings.push({ position, ending: runningOf(task) })
        // From here on it is a row of its own, whose result is written after this batch.
        goAlone(task)
        task.leaving = true
        continue
      }
      if (state === 'queued') this.#deps.hand.unqueue(task)
      others.push(task)
      endings.push({ position, ending: state === 'queued' ? endingUnstarted(task) : endingOf(task) })
    }
    const { batchId, fence } = batch
    this.#batches.push({ batch, running, others, finished: { batchId, fence, endings }, ...unwritten })
  }

  addLive(task: Task): void {
    this.#live.push(toSettled(task, endingOf(task)))
  }

  /** One that waited too long for its host and goes back, unstarted. */
  addWaiting(task: Task): void {
    this.#live.push(toSettled(task, endingUnstarted(task)))
  }

  /** Forgets everything, a write under way too; returns what may have been written. */
  clear(): Set<Task> {
    const batches = this.#batches.filter(({ isRepeated, isUnderWay }) => isRepeated || isUnderWay)
    const live = this.#live.filter(({ isRepeated, isUnderWay }) => isRepeated || isUnderWay)
    this.#batches = []
    this.#live = []
    return new Set([...batches.flatMap(({ others }) => others), ...live.map(({ task }) => task)])
  }

  /** One write. A step for a Loop; when it fails, everything is still there for the next one. */
  async step(): Promise<'more' | 'idle' | number> {
    const { clock, hand } = this.#deps
    const waitMs = this.#nextMs - clock.monotonicMs()
    if (waitMs > 0 && hand.size >= busySize && this.#settled() < gatherMax) return waitMs
    await this.write()
    this.#nextMs = clock.monotonicMs() + gatherMs
    return this.pending > 0 ? 'more' : 'idle'
  }

  /** Executions that wait to be written. */
  #settled(): number {
    let executions = this.#live.length
    for (const { batch } of this.#batches) executions += batch.tasks.length
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
      for (const task of running) task.leaving = false
      for (const task of others) {
        if (left.has(task.executionId)) this.#writeAlone(task, false)
        else this.#settle(task, cancelled.has(task.executionId), after)
      }
      this.#deps.hand.dropBatch(batch)
    }
    if (sure.length > 0) this.#deps.onFinished(after)
  }

  /** The batch is not ours: it was written and the answer was lost, all of it had left, or it was reclaimed. */
  async #findBatches(doubted: readonly SettledBatch[], workerId: string): Promise<void> {
    const tasks = doubted.flatMap(({ running, others }) => [...running, ...others])
    const own = await this.#findOwn(workerId, tasks)
    const after = nothingAfter()
    for (const { batch, running, others, isRepeated } of this.#without(doubted)) {
      for (const task of running) {
        task.leaving = false
        const state = own.get(task.executionId)
        if (state !== 'held') this.#lose(task, { workerId, isRecorded: state === 'recorded' })
      }
      for (const task of others) {
        // It had left its batch, as after a sign of life, and nothing of it is written.
        if (own.get(task.executionId) === 'held') this.#writeAlone(task, isRepeated)
        else this.#settleDoubted(task, workerId, { own, isRepeated, after })
      }
      this.#deps.hand.dropBatch(batch)
    }
    this.#deps.onFinished(after)
  }

  #takeBatches(): SettledBatch[] {
    let executions = 0
    let end = 0
    while (end < this.#batches.length && (end === 0 || executions < executionsMax)) {
      executions += this.#batches[end]!.batch.tasks.length
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
    const some = this.#live.filter(({ task }) => !task.leaving).slice(0, executionsMax)
    if (some.length === 0) return
    const finished = some.map((one) => one.finished)
    const answer = await this.#try(some, this.#deps.queue.finishLive(workerId, finished))
    const missing = new Set(answer.missing)
    const cancelled = new Set(answer.cancelled)
    const after = nothingAfter()
    const sure = some.filter(({ task }) => !missing.has(task.executionId))
    for (const { task } of this.#withoutLive(sure)) this.#settle(task, cancelled.has(task.executionId), after)
    if (sure.length > 0) this.#deps.onFinished(after)
    const doubted = some.filter(({ task }) => missing.has(task.executionId))
    for (const one of doubted) one.isUnderWay = false
    if (doubted.length > 0) await this.#findLive(doubted, workerId)
  }

  async #findLive(doubted: readonly SettledLive[], workerId: string): Promise<void> {
    const tasks = doubted.map(({ task }) => task)
    const own = await this.#findOwn(workerId, tasks)
    const after = nothingAfter()
    for (const { task, isRepeated } of this.#withoutLive(doubted))
      this.#settleDoubted(task, workerId, { own, isRepeated, after })
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

  async #findOwn(workerId: string, tasks: readonly Task[]): Promise<Doubt['own']> {
    const asked = tasks.map(({ executionId, attempt, jobId }) => ({ executionId, attempt, jobId }))
    const found = await this.#deps.queue.findOwn(workerId, asked)
    return new Map(found.map(({ executionId, state }) => [executionId, state]))
  }

  /** It is out of our hands, by this write: recorded, handed back because it was not started, or left to its target. */
  #settle(task: Task, wasCancelled: boolean, after: After): void {
    if (task.end !== null || wasCancelled) tell(this.#deps.clock, task, wasCancelled, after)
    else if (task.awaitingUntil === null) after.handedBack = true
    this.#deps.hand.drop(task)
  }

  /** It was not where we said. What is on record is ours only if a write of ours may have been carried out before. */
  #settleDoubted(task: Task, workerId: string, { own, isRepeated, after }: Doubt): void {
    const isAwaiting = task.end === null && task.awaitingUntil !== null
    if (own.get(task.executionId) === 'recorded') {
      // A target that completed it by itself was told of then. A cancel that we had seen is not taken back.
      if (isRepeated && !isAwaiting) tell(this.#deps.clock, task, task.cancelledMs !== null, after)
    } else if (task.end === null && !isAwaiting) after.handedBack = true
    // One whose target has taken it is nobody's any more, if that was written; one that was given up has no result.
    else if ((!isAwaiting || !isRepeated) && task.end?.outcome !== 'lost')
      this.#deps.late.refuse(task, workerId)
    this.#deps.hand.drop(task)
  }

  /** It is a row of its own by now. */
  #writeAlone(task: Task, isRepeated: boolean): void {
    goAlone(task)
    this.#live.push({ ...toSettled(task, endingOf(task)), isRepeated })
  }

  #lose(task: Task, { workerId, isRecorded }: { workerId: string; isRecorded: boolean }): void {
    if (!isRecorded) this.#deps.late.refuse(task, workerId)
    this.#live = this.#live.filter((one) => one.task !== task)
    this.#deps.hand.drop(task)
    task.abort?.abort()
  }
}

function goAlone(task: Task): void {
  task.batch = null
  task.fence = fenceAlone
}

function toSettled(task: Task, ending: FinishedLive['ending']): SettledLive {
  const { executionId, fence, attempt } = task
  return { task, finished: { executionId, fence, attempt, ending }, ...unwritten }
}

// Records how executions ended. Results are gathered while the write before is under way, and kept until the store
// has them: a database that is away delays history and loses none. The fence decides whether a result still counts.
import { dueAtOf } from '../domain/schedule/jitter.ts'
import type { Clock } from '../ports/clock.ts'
import type { Ending, FinishedBatch, FinishedLive, Queue } from '../ports/queue.ts'
import { attemptFinished, attemptRefused, historyWriteFailed } from '../telemetry/events.ts'
import type { Hand } from './hand.ts'
import type { BatchInHand, Task } from './task.ts'

export interface FinishDeps {
  clock: Clock
  queue: Pick<Queue, 'finishBatches' | 'finishLive' | 'findOwn'>
  hand: Hand
  workerId: () => string
  /** Called after a commit: something may have become claimable, releasable, or a retry was planned. */
  onFinished: (after: After) => void
}

interface After {
  retries: boolean
  handedBack: boolean
}

/** What a write came to. */
interface WriteOutcome {
  workerId: string
  /** What the store knows of those whose answer was lost. */
  own: ReadonlyMap<string, 'recorded' | 'held'>
  cancelled: ReadonlySet<string>
  after: After
}

interface SettledBatch {
  batch: BatchInHand
  running: Task[]
  /** What has ended, and what was not started. */
  others: Task[]
  finished: FinishedBatch
}

interface SettledLive {
  task: Task
  finished: FinishedLive
}

/** Executions in one write. */
const executionsMax = 2_000
/** With this many in hand, results of so many ms are written together: starting calls comes first in a burst. */
const busySize = 200
const gatherMs = 20
/** Whatever the attempt said of itself. */
const asCancelled = { outcome: 'cancelled', retryAt: null, deadReason: null } as const

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
      if (state === 'queued') {
        this.#deps.hand.unqueue(task)
        others.push(task)
        endings.push({ position, ending: { kind: 'unstarted', host: task.prepared.host } })
      } else if (state === 'running') {
        running.push(task)
        endings.push({ position, ending: { kind: 'running', startedAt: task.startedAt! } })
        // From here on it is a row of its own, whose result is written after this batch.
        task.batch = null
        task.fence = 1
        task.leaving = true
      } else {
        others.push(task)
        endings.push({ position, ending: endingOf(task) })
      }
    }
    const { batchId, fence } = batch
    this.#batches.push({ batch, running, others, finished: { batchId, fence, endings } })
  }

  addLive(task: Task): void {
    this.#live.push({ task, finished: toFinished(task, endingOf(task)) })
  }

  /** One that waited too long for its host and goes back, unstarted. */
  addWaiting(task: Task): void {
    const ending = { kind: 'unstarted', host: task.prepared.host } as const
    this.#live.push({ task, finished: toFinished(task, ending) })
  }

  /** Forgets what belongs to a lost lease. */
  clear(): void {
    this.#batches = []
    this.#live = []
  }

  /** One write. A step for a Loop; when it fails, everything is still there for the next one. */
  async step(): Promise<'more' | 'idle' | number> {
    const { clock, hand } = this.#deps
    const waitMs = this.#nextMs - clock.monotonicMs()
    if (waitMs > 0 && hand.size >= busySize) return waitMs
    await this.write()
    this.#nextMs = clock.monotonicMs() + gatherMs
    return this.pending > 0 ? 'more' : 'idle'
  }

  async write(): Promise<void> {
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
    const answer = await this.#deps.queue.finishBatches(
      workerId,
      some.map(({ finished }) => finished),
    )
    const missing = new Set(answer.missing)
    const doubted = some.filter(({ batch }) => missing.has(batch.batchId))
    const own = await this.#findOwn(
      workerId,
      doubted.flatMap(({ running, others }) => [...running, ...others]),
    )
    const written = new Set(some)
    this.#batches = this.#batches.filter((one) => !written.has(one))
    const outcome = { workerId, own, cancelled: new Set(answer.cancelled), after: nothingAfter() }
    for (const { batch, running, others } of some) {
      const isSure = !missing.has(batch.batchId)
      for (const task of running) {
        task.leaving = false
        if (!isSure && own.get(task.executionId) !== 'held') this.#lose(task, workerId)
      }
      for (const task of others) this.#settle(task, isSure, outcome)
      this.#deps.hand.dropBatch(batch)
    }
    this.#deps.onFinished(outcome.after)
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

  async #writeLive(workerId: string): Promise<void> {
    // One whose batch is not written yet is not a row of its own: its result would find nothing.
    const some = this.#live.filter(({ task }) => !task.leaving).slice(0, executionsMax)
    if (some.length === 0) return
    const answer = await this.#deps.queue.finishLive(
      workerId,
      some.map(({ finished }) => finished),
    )
    const missing = new Set(answer.missing)
    const tasks = some.map(({ task }) => task)
    const own = await this.#findOwn(
      workerId,
      tasks.filter(({ executionId }) => missing.has(executionId)),
    )
    const written = new Set(some)
    this.#live = this.#live.filter((one) => !written.has(one))
    const outcome = { workerId, own, cancelled: new Set(answer.cancelled), after: nothingAfter() }
    for (const task of tasks) this.#settle(task, !missing.has(task.executionId), outcome)
    this.#deps.onFinished(outcome.after)
  }

  // Zero rows may mean that our own commit went through and its reply was lost: then the store has our record.
  async #findOwn(workerId: string, tasks: readonly Task[]): Promise<Map<string, 'recorded' | 'held'>> {
    if (tasks.length === 0) return new Map()
    const asked = tasks.map(({ executionId, attempt, jobId }) => ({ executionId, attempt, jobId }))
    const found = await this.#deps.queue.findOwn(workerId, asked)
    return new Map(found.map(({ executionId, state }) => [executionId, state]))
  }

  /** It is out of our hands: recorded, handed back because it was not started, or refused. */
  #settle(task: Task, isSure: boolean, { workerId, own, cancelled, after }: WriteOutcome): void {
    const { executionId, end } = task
    const wasCancelled = cancelled.has(executionId)
    const isRecorded = isSure ? end !== null || wasCancelled : own.get(executionId) === 'recorded'
    // When the answer was lost and we had stopped it, it has ended so: a cancel that was seen is not taken back.
    if (isRecorded) this.#tell(task, wasCancelled || (!isSure && task.cancelledMs !== null), after)
    else if (end === null) after.handedBack = true
    else this.#refuse(task, workerId)
    this.#deps.hand.drop(task)
  }

  #tell(task: Task, wasCancelled: boolean, after: After): void {
    const { executionId, end, kind, attempt, slot } = task
    const { outcome, retryAt, deadReason } = wasCancelled || end === null ? asCancelled : end
    if (retryAt !== null) after.retries = true
    const { jitterSeconds } = task.prepared
    const dueAt = kind === 'slot' ? dueAtOf({ jobId: task.jobId, jitterSeconds }, slot) : task.enqueuedAt
    attemptFinished.emit({
      executionId,
      attempt,
      kind,
      executor: 'http',
      outcome,
      retryAt,
      deadReason,
      delayMs: attempt === 1 && end !== null ? end.startedAt - dueAt : null,
      endToEndMs: (end?.finishedAt ?? this.#deps.clock.databaseNow()) - dueAt,
      durationMs: end?.durationMs ?? null,
    })
  }

  #lose(task: Task, workerId: string): void {
    this.#refuse(task, workerId)
    this.#live = this.#live.filter((one) => one.task !== task)
    this.#deps.hand.drop(task)
    task.abort?.abort()
  }

  #refuse({ executionId, attempt }: Task, workerId: string): void {
    attemptRefused.emit({ executionId, attempt, workerId })
  }
}

function nothingAfter(): After {
  return { retries: false, handedBack: false }
}

function endingOf(task: Task): Exclude<Ending, { kind: 'running' }> {
  return task.end === null ? { kind: 'unstarted', host: null } : { kind: 'ended', end: task.end }
}

function toFinished(task: Task, ending: FinishedLive['ending']): FinishedLive {
  return { executionId: task.executionId, fence: task.fence, attempt: task.attempt, ending }
}

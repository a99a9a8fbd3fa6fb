// Records how executions ended. Results are gathered while the write before is under way, and kept until the store
// has them: a database that is away delays history and loses none. The fence decides whether a result still counts.
import type { EpochMs } from '../lib/epoch.ts'
import type { Clock } from '../ports/clock.ts'
import type { Ending, FinishedBatch, FinishedLive, Queue } from '../ports/queue.ts'
import { attemptFinished, attemptRefused, historyWriteFailed } from '../telemetry/events.ts'
import type { Hand } from './hand.ts'
import type { BatchInHand, Task } from './task.ts'

export interface FinishDeps {
  clock: Pick<Clock, 'monotonicMs'>
  queue: Pick<Queue, 'finishBatches' | 'finishLive' | 'findOwn'>
  hand: Hand
  workerId: () => string
  /** Called after a commit: something may have become claimable, releasable, or a retry was planned. */
  onFinished: (after: { retries: boolean; handedBack: boolean }) => void
}

interface SettledBatch {
  batch: BatchInHand
  ended: Task[]
  running: Task[]
  unstarted: Task[]
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
    const ended: Task[] = []
    const running: Task[] = []
    const unstarted: Task[] = []
    const endings: FinishedBatch['endings'][number][] = []
    batch.settling = true
    for (const task of batch.tasks) {
      const { position, state } = task
      if (state === 'queued') {
        this.#deps.hand.unqueue(task)
        unstarted.push(task)
        endings.push({ position, ending: { kind: 'unstarted', host: task.prepared.host } })
      } else if (state === 'running') {
        running.push(task)
        endings.push({ position, ending: { kind: 'running', startedAt: task.startedAt! } })
        // From here on it is a row of its own, whose result is written after this batch.
        task.batch = null
        task.fence = 1
        task.leaving = true
      } else {
        ended.push(task)
        endings.push({ position, ending: endingOf(task) })
      }
    }
    const { batchId, fence } = batch
    this.#batches.push({ batch, ended, running, unstarted, finished: { batchId, fence, endings } })
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
    const missing = new Set(
      await this.#deps.queue.finishBatches(
        workerId,
        some.map(({ finished }) => finished),
      ),
    )
    const doubted = some.filter(({ batch }) => missing.has(batch.batchId))
    const own = await this.#findOwn(
      workerId,
      doubted.flatMap(({ ended, running }) => [...ended, ...running]),
    )
    const written = new Set(some)
    this.#batches = this.#batches.filter((one) => !written.has(one))
    const after = { retries: false, handedBack: false }
    for (const { batch, ended, running, unstarted } of some) {
      const sure = !missing.has(batch.batchId)
      for (const task of ended) {
        if (sure || own.get(task.executionId) === 'recorded') tell(task, after)
        else this.#refuse(task, workerId)
        this.#deps.hand.drop(task)
      }
      for (const task of running) {
        task.leaving = false
        if (!sure && own.get(task.executionId) !== 'held') this.#lose(task, workerId)
      }
      for (const task of unstarted) this.#deps.hand.drop(task)
      if (unstarted.length > 0) after.handedBack = true
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

  async #writeLive(workerId: string): Promise<void> {
    // One whose batch is not written yet is not a row of its own: its result would find nothing.
    const some = this.#live.filter(({ task }) => !task.leaving).slice(0, executionsMax)
    if (some.length === 0) return
    const missing = new Set(
      await this.#deps.queue.finishLive(
        workerId,
        some.map(({ finished }) => finished),
      ),
    )
    const doubted = some.filter(
      ({ task, finished }) => missing.has(task.executionId) && finished.ending.kind === 'ended',
    )
    const own = await this.#findOwn(
      workerId,
      doubted.map(({ task }) => task),
    )
    const written = new Set(some)
    this.#live = this.#live.filter((one) => !written.has(one))
    const after = { retries: false, handedBack: false }
    for (const { task, finished } of some) {
      if (finished.ending.kind === 'unstarted') after.handedBack = true
      else if (!missing.has(task.executionId) || own.get(task.executionId) === 'recorded') tell(task, after)
      else this.#refuse(task, workerId)
      this.#deps.hand.drop(task)
    }
    this.#deps.onFinished(after)
  }

  // Zero rows may mean that our own commit went through and its reply was lost: then the store has our record.
  async #findOwn(workerId: string, tasks: readonly Task[]): Promise<Map<string, 'recorded' | 'held'>> {
    if (tasks.length === 0) return new Map()
    const asked = tasks.map(({ executionId, attempt, jobId }) => ({ executionId, attempt, jobId }))
    const found = await this.#deps.queue.findOwn(workerId, asked)
    return new Map(found.map(({ executionId, state }) => [executionId, state]))
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

function endingOf(task: Task): Exclude<Ending, { kind: 'running' }> {
  return task.end === null ? { kind: 'unstarted', host: null } : { kind: 'ended', end: task.end }
}

function toFinished(task: Task, ending: FinishedLive['ending']): FinishedLive {
  return { executionId: task.executionId, fence: task.fence, attempt: task.attempt, ending }
}

function tell(task: Task, after: { retries: boolean }): void {
  const { end, kind, attempt, slot } = task
  if (end === null) return
  if (end.retryAt !== null) after.retries = true
  const dueAt: EpochMs = kind === 'slot' ? slot : task.enqueuedAt
  attemptFinished.emit({
    executionId: task.executionId,
    attempt,
    kind,
    executor: 'http',
    outcome: end.outcome,
    retryAt: end.retryAt,
    deadReason: end.deadReason,
    delayMs: attempt === 1 ? end.startedAt - dueAt : null,
    endToEndMs: end.finishedAt - dueAt,
    durationMs: end.durationMs,
  })
}

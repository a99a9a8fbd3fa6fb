// The heartbeat of a worker: one for everything it runs, every few seconds, and sooner when a handler waits for a
// checkpoint to be saved.
import type { WorkerHeartbeatReply } from '#contract/worker.ts'
import { type Call, pause } from './call.ts'
import { type CarillonError, isAboutContent } from './carillon-error.ts'
import { Wake } from './wake.ts'
import type { Attempt, AttemptNews } from './worker-attempt.ts'

/** Between two heartbeats, at least. */
const gapMs = 250
const retryMs = 1_000
/** A heartbeat that takes longer would be no sign of life any more. */
const timeoutMs = 5_000
/**
 * Limit for the updates of attempts in a heartbeat, beyond the fact that they run. Should every letter be three bytes,
 * and 6,000 attempts be in flight, it is still far under the 4 MiB that the server takes.
 */
const lengthMax = 400_000
/** The share of ended attempts: their reports wait for it, but running attempts need room, too. */
const endedLengthMax = 200_000

export interface BeatDeps {
  call: Call
  workerId: string
  everyMs: number
  attempts(): Iterable<Attempt>
  isDraining(): boolean
  /** A call failed for good or for now; says whether the worker is lost. */
  onError(error: unknown): 'lost' | 'retry'
  onAnswer(): void
  onCancelled(attempt: Attempt): void
  onLost(attempt: Attempt): void
}

export class Beats {
  readonly #deps: BeatDeps
  readonly #wake = new Wake()
  readonly #ended = new AbortController()
  #hasMore = false
  #waiters: (() => void)[] = []

  constructor(deps: BeatDeps) {
    this.#deps = deps
  }

  /** One soon. */
  hurry(): void {
    this.#wake.wake()
  }

  /** One soon. Resolves after one that was made later than this call has arrived, or the worker has ended. */
  soon(): Promise<void> {
    if (this.#ended.signal.aborted) return Promise.resolve()
    this.#wake.wake()
    return new Promise((resolve) => this.#waiters.push(resolve))
  }

  end(): void {
    this.#ended.abort()
    this.#wake.wake()
    for (const resolve of this.#waiters.splice(0)) resolve()
  }

  async run(): Promise<void> {
    let waitMs = this.#deps.everyMs
    for (;;) {
      await this.#wake.wait(waitMs)
      if (this.#ended.signal.aborted) return
      const hasArrived = await this.#beat()
      if (this.#ended.signal.aborted) return
      waitMs = hasArrived ? Math.max(0, this.#deps.everyMs - gapMs) : retryMs
      if (this.#hasMore) this.#wake.wake()
      // However urgent, the server is not asked more often than this.
      await pause(Math.min(gapMs, this.#deps.everyMs), this.#ended.signal).catch(() => {})
    }
  }

  async #beat(): Promise<boolean> {
    const { call, workerId, isDraining, onError, onAnswer } = this.#deps
    const waiters = this.#waiters
    this.#waiters = []
    const attempts = [...this.#deps.attempts()]
    const news = gatherNews(attempts)
    const status = isDraining() ? 'DRAINING' : 'ACTIVE'
    const json = `{"worker_id":"${workerId}","status":"${status}","running":[${news.map((one) => one.json).join(',')}]}`
    try {
      const reply = await call<WorkerHeartbeatReply>(
        { method: 'POST', path: '/api/v1/workers/heartbeat', json, repeat: 'once' },
        { timeoutMs },
      )
      onAnswer()
      for (const one of news) one.heard()
      for (const resolve of waiters) resolve()
      this.#hasMore = attempts.some((attempt) => attempt.hasUrgentNews)
      this.#applyReply(attempts, reply)
      return true
    } catch (error) {
      this.#waiters.unshift(...waiters)
      for (const one of news) one.unheard()
      if (isAboutContent(error)) {
        // A bad update of a handler must not cost the worker its life: it is dropped, and the rest sent again at once.
        for (const one of blamed(news, error)) one.refused(error.message)
        this.#wake.wake()
      } else if (onError(error) === 'lost') this.end()
      return false
    }
  }

  #applyReply(attempts: readonly Attempt[], { cancelled, lost }: WorkerHeartbeatReply): void {
    if (cancelled.length + lost.length === 0) return
    const byId = new Map(attempts.map((attempt) => [attempt.claim.execution_id, attempt]))
    for (const id of lost) {
      const attempt = byId.get(id)
      // Its report is under way, and may have been taken already: the answer to that counts.
      if (attempt !== undefined && !attempt.isOver) this.#deps.onLost(attempt)
    }
    for (const id of cancelled) {
      const attempt = byId.get(id)
      if (attempt !== undefined) this.#deps.onCancelled(attempt)
    }
  }
}

/**
 * All report that they run; the attempt that has waited longest sends its updates first, and none overtakes one that
 * had to wait.
 */
function gatherNews(attempts: readonly Attempt[]): AttemptNews[] {
  const ordered = attempts.toSorted((one, other) => one.heardMs - other.heardMs)
  const sayIn = (lengthMax: number, some: readonly Attempt[]) => {
    let lengthLeft = lengthMax
    return some.map((attempt) => {
      const one = attempt.news(lengthLeft)
      lengthLeft = one.isCut ? 0 : lengthLeft - one.length
      return one
    })
  }
  const ended = sayIn(
    endedLengthMax,
    ordered.filter(({ isOver }) => isOver),
  )
  const used = ended.reduce((sum, { length }) => sum + length, 0)
  const running = ordered.filter(({ isOver }) => !isOver)
  return [...ended, ...sayIn(lengthMax - used, running)]
}

/** The updates that the problem document points at, such as `/running/3/checkpoint`; all, when it points at none. */
function blamed(news: readonly AttemptNews[], error: CarillonError): readonly AttemptNews[] {
  const indexes = error.errors.map(({ pointer }) => Number(/^\/running\/(\d+)\//.exec(pointer)?.[1]))
  const found = indexes.flatMap((index) => news[index] ?? [])
  return found.length > 0 ? found : news
}

// One execution in the test kit: its attempts, and when there is another.
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash, randomUUID } from 'node:crypto'
// The server's own rules, compiled into this package: a test sees the behaviour of the server.
import { endAttempt } from '../../server/src/domain/queue/attempt.ts'
import type { ErrorType, RetryPolicy } from '../../server/src/domain/queue/retry.ts'
import { epochMs } from '../../server/src/lib/time/epoch.ts'
import type { AnyJob, JobParent } from './define-job.ts'
import { durationMs } from './duration.ts'
import { type JobEnd, type LogLevel, runJob } from './run-job.ts'
import type { RunStatus, TestAttempt, TestRun } from './test-run.ts'
import type { VirtualTime, VirtualTimer } from './virtual-time.ts'

/** The server's defaults. */
export const testDefaults = {
  timeoutMs: 300_000,
  retry: { max_retries: 3, backoff: 'EXPONENTIAL', initial_delay_ms: 1_000, max_delay_ms: 60_000 },
} as const satisfies { timeoutMs: number; retry: RetryPolicy }

/** The attempt that the current handler runs for, so that a sleep knows its attempt. */
export const currentAttempt = new AsyncLocalStorage<{
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}>()

export class Execution implements TestRun {
  readonly executionId: string = randomUUID()
  readonly key: string
  readonly kind: TestRun['kind']
  readonly scheduledTime: Date
  readonly payload: unknown
  readonly attempts: TestAttempt[] = []
  readonly logs: { attempt: number; at: Date; level: LogLevel; message: string }[] = []
  readonly job: AnyJob
  readonly jobId: string
  status: RunStatus = 'PENDING'
  result: unknown
  error: { type: string; message: string } | null = null
  retryAt: Date | null = null
  checkpoint: unknown
  progress: { fraction: number; text: string | null } | null = null
  graphRunId: string | null = null
  parents: readonly JobParent[] = []
  skipMessage: string | null = null
  readonly #time: VirtualTime
  readonly #onEnd: (run: Execution) => void
  #timers: VirtualTimer[] = []
  #totalTimer: VirtualTimer | null = null
  #totalDeadlineMs: number | null = null
  #heardMs = 0
  #controller = new AbortController()

  constructor(
    time: VirtualTime,
    made: Pick<Execution, 'job' | 'jobId' | 'kind' | 'scheduledTime' | 'payload'>,
    onEnd: (run: Execution) => void,
  ) {
    this.#time = time
    this.#onEnd = onEnd
    this.job = made.job
    this.key = made.job.key
    this.jobId = made.jobId
    this.kind = made.kind
    this.scheduledTime = made.scheduledTime
    this.payload = asJson(made.payload)
  }

  get isLive(): boolean {
    return this.status === 'RUNNING' || this.status === 'RETRYING'
  }

  get hasEnded(): boolean {
    return !this.isLive && this.status !== 'PENDING' && this.status !== 'WAITING_DEPENDENCIES'
  }

  start(): void {
    const { job } = this
    const nowMs = this.#time.nowMs
    this.status = 'RUNNING'
    this.retryAt = null
    this.#controller = new AbortController()
    const attempt: TestAttempt = {
      attempt: this.attempts.length + 1,
      startedAt: new Date(nowMs),
      finishedAt: null,
      outcome: 'running',
      error: null,
    }
    this.attempts.push(attempt)
    const timeoutMs = job.timeout === undefined ? testDefaults.timeoutMs : durationMs(job.timeout, 'timeout')
    this.#after(timeoutMs, () => this.#fail('TIMEOUT', `It took longer than ${timeoutMs / 1_000} s.`))
    if (job.totalTimeout !== undefined && this.#totalTimer === null) {
      this.#totalDeadlineMs = nowMs + durationMs(job.totalTimeout, 'totalTimeout')
      this.#totalTimer = this.#time.at(this.#totalDeadlineMs, () => this.#endTotal())
    }
    this.#heardMs = nowMs
    this.#watchSilence()
    this.#time.runs(attempt, this.#name)
    void this.#run(attempt).then((end) => {
      this.#time.rests(attempt)
      if (attempt.outcome === 'running') this.#finish(end)
    })
  }

  /** Instead of its start. */
  skip(message: string | null): void {
    this.status = 'SKIPPED'
    this.skipMessage = message
  }

  cancel(): void {
    if (this.hasEnded) return
    const attempt = this.attempts.at(-1)
    if (this.status === 'RUNNING' && attempt !== undefined) {
      this.#close(attempt, 'cancelled', { type: 'CANCELLED', message: 'It was cancelled.' })
      this.#abort('AbortError', 'Somebody cancelled this execution.')
    }
    this.#end('CANCELLED')
  }

  get #name(): string {
    return `the handler of ${this.key}`
  }

  /** While its handler waits for the clock of the kit, time may pass. */
  #sleeperOf(attempt: TestAttempt) {
    let sleeps = 0
    return {
      sleep: async (ms: number, signal?: AbortSignal): Promise<void> => {
        sleeps++
        this.#time.rests(attempt)
        try {
          await wait(this.#time, ms, signal, () => {
            if (attempt.outcome === 'running') this.#time.runs(attempt, this.#name)
          })
        } finally {
          sleeps--
          // Of several sleeps at once one is over: if nothing else comes of it, the others still wait for the clock.
          if (sleeps > 0) setImmediate(() => sleeps > 0 && this.#time.rests(attempt))
        }
      },
    }
  }

  #run(attempt: TestAttempt): Promise<JobEnd> {
    const { executionId, jobId, scheduledTime, payload } = this
    const isOpen = () => attempt.outcome === 'running'
    return currentAttempt.run(this.#sleeperOf(attempt), () =>
      runJob(
        this.job,
        {
          executionId,
          jobId,
          attempt: attempt.attempt,
          scheduledTime,
          idempotencyKey: idempotencyKeyOf(this),
          payload: structuredClone(payload),
          checkpoint: structuredClone(this.checkpoint),
          graphRunId: this.graphRunId,
          parents: structuredClone(this.parents),
        },
        {
          signal: this.#controller.signal,
          log: (level, message) => {
            this.#heardMs = this.#time.nowMs
            const at = new Date(this.#time.nowMs)
            this.logs.push({ attempt: attempt.attempt, at, level, message })
          },
          note: ({ progress, message }) => {
            if (!isOpen()) return
            this.#heardMs = this.#time.nowMs
            if (progress !== undefined) this.progress = { fraction: progress, text: message ?? null }
          },
          saveCheckpoint: async (json) => {
            if (!isOpen()) throw new Error('The checkpoint was not saved: the attempt is over.')
            this.#heardMs = this.#time.nowMs
            this.checkpoint = JSON.parse(json)
          },
        },
      ),
    )
  }

  #finish(end: JobEnd): void {
    const attempt = this.attempts.at(-1)!
    if (end.kind === 'succeeded') {
      this.result = end.result === null ? undefined : JSON.parse(end.result)
      this.#close(attempt, 'succeeded', null)
      this.#end('SUCCEEDED')
      return
    }
    const { message, isFinal, retryAfterMs } = end
    this.#fail('HANDLER_ERROR', message, { isFinal, retryAfterMs })
  }

  #fail(
    type: ErrorType,
    message: string,
    marks: { isFinal: boolean; retryAfterMs: number | null } = { isFinal: false, retryAfterMs: null },
  ): void {
    const attempt = this.attempts.at(-1)!
    const now = epochMs(this.#time.nowMs)
    const word = { startedAt: null, finishedAt: now, durationMs: null, httpStatus: null, preview: null }
    const end = endAttempt(
      { ...word, error: { type, message }, ...marks },
      {
        attempt: attempt.attempt,
        losses: 0,
        retryPolicy: retryPolicyOf(this.job),
        totalDeadline: this.#totalDeadlineMs === null ? null : epochMs(this.#totalDeadlineMs),
        now,
        // The middle of 0.75 to 1.25: a test must know when the next attempt comes.
        random: 0.5,
      },
    )
    const outcome = type === 'HANDLER_ERROR' ? 'failed' : 'timed_out'
    this.#close(attempt, outcome, { type, message })
    if (outcome === 'timed_out') this.#abort('TimeoutError', message)
    if (end.retryAt === null) {
      this.#end(end.outcome === 'timed_out' ? 'TIMED_OUT' : 'FAILED')
      return
    }
    this.status = 'RETRYING'
    this.retryAt = new Date(end.retryAt)
    this.#timers.push(this.#time.at(end.retryAt, () => this.start()))
  }

  #endTotal(): void {
    const attempt = this.attempts.at(-1)!
    const message = 'All attempts together took too long.'
    if (attempt.outcome === 'running') this.#close(attempt, 'timed_out', { type: 'TIMEOUT', message })
    this.#abort('TimeoutError', message)
    this.#end('TIMED_OUT')
  }

  #watchSilence(): void {
    if (this.job.heartbeatTimeout === undefined) return
    const silentMs = durationMs(this.job.heartbeatTimeout, 'heartbeatTimeout')
    const look = () => {
      const leftMs = this.#heardMs + silentMs - this.#time.nowMs
      if (leftMs > 0) this.#after(leftMs, look)
      else this.#fail('HEARTBEAT_TIMEOUT', `Nothing was heard of it for ${silentMs / 1_000} s.`)
    }
    this.#after(silentMs, look)
  }

  #close(attempt: TestAttempt, outcome: TestAttempt['outcome'], error: TestAttempt['error']): void {
    attempt.outcome = outcome
    attempt.error = error
    attempt.finishedAt = new Date(this.#time.nowMs)
    this.error = error
    for (const timer of this.#timers.splice(0)) timer.cancel()
  }

  #end(status: RunStatus): void {
    this.status = status
    this.retryAt = null
    for (const timer of this.#timers.splice(0)) timer.cancel()
    this.#totalTimer?.cancel()
    this.#onEnd(this)
  }

  #abort(name: string, message: string): void {
    this.#controller.abort(new DOMException(message, name))
  }

  #after(ms: number, action: () => void): void {
    this.#timers.push(this.#time.at(this.#time.nowMs + ms, action))
  }
}

/** Until so much of the kit's time has passed. `onWake` is called at that moment, before anybody goes on. */
export function wait(
  time: VirtualTime,
  ms: number,
  signal?: AbortSignal,
  onWake?: () => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const timer = time.at(time.nowMs + ms, () => {
      signal?.removeEventListener('abort', onAbort)
      onWake?.()
      resolve()
    })
    const onAbort = () => {
      timer.cancel()
      reject(signal!.reason)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

function retryPolicyOf({ retry = {} }: AnyJob): RetryPolicy {
  const { maxRetries, backoff, initialDelay, maxDelay } = retry
  const policy: RetryPolicy = { ...testDefaults.retry }
  if (maxRetries !== undefined) policy.max_retries = maxRetries
  if (backoff !== undefined) policy.backoff = backoff
  if (initialDelay !== undefined) policy.initial_delay_ms = durationMs(initialDelay, 'retry.initialDelay')
  if (maxDelay !== undefined) policy.max_delay_ms = durationMs(maxDelay, 'retry.maxDelay')
  return policy
}

function idempotencyKeyOf({ kind, jobId, executionId, scheduledTime }: Execution): string {
  const what = kind === 'slot' ? `${scheduledTime.toISOString().slice(0, 19)}Z` : executionId
  return createHash('sha256').update(`${jobId}:${what}`).digest('hex').slice(0, 32)
}

/** As it would arrive: through JSON. */
function asJson(payload: unknown): unknown {
  const json = JSON.stringify(payload)
  return json === undefined ? undefined : JSON.parse(json)
}

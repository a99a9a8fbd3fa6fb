// One registration of a worker, from its first claim to its end: claims while there is room, runs the claimed
// executions, and has them reported. When the server takes the worker for dead everything stops, and the owner of the
// session makes another.
import type { ClaimedExecution, ClaimReply, ClaimRequest, Registered } from '#contract/worker.ts'
import { backoffMs, type Call, pause } from './call.ts'
import { CarillonError, ConnectionError } from './carillon-error.ts'
import type { AnyJob, JobParent } from './define-job.ts'
import { runJob } from './run-job.ts'
import { Wake } from './wake.ts'
import { Attempt, linesMax } from './worker-attempt.ts'
import { Beats } from './worker-beats.ts'
import type { WorkerListener } from './worker-events.ts'
import { Reports } from './worker-reports.ts'
import { resultOf } from './worker-result.ts'

export interface SessionDeps {
  call: Call
  jobs: ReadonlyMap<string, AnyJob>
  concurrency: number
  outageMs: number
  /**
   * Attempts with handlers that still run, over all sessions: a handler that does not stop keeps its capacity for a
   * while.
   */
  busy: Set<Attempt>
  emit: WorkerListener
}

const claimMax = 1_000
const claimWaitSeconds = 20
/** Results waiting for the server, besides running attempts: at this number nothing more is claimed. */
const resultsWaitingMax = 1_000
/** After 30 s the server ends a cancelled execution whether it has stopped or not. */
const cancelGraceMs = 25_000
const lostGraceMs = 30_000

export class Session {
  readonly workerId: string
  /** Resolves when there is nothing to do for it any more. */
  readonly over: Promise<'lost' | 'ended'>
  readonly #deps: SessionDeps
  readonly #beats: Beats
  readonly #reports: Reports
  /** By execution: claimed, and its result not accepted yet. */
  readonly #attempts = new Map<string, Attempt>()
  readonly #claiming = new AbortController()
  readonly #wake = new Wake()
  readonly #idle = new Wake()
  #isDraining = false
  #isLost = false
  #isEnded = false
  #isUnreachable = false
  /** The server may count more executions as ours than we hold: the next claim lists the held ones. */
  #mustTellHeld = false

  constructor(deps: SessionDeps, { worker_id: workerId, heartbeat_seconds: everySeconds }: Registered) {
    this.#deps = deps
    this.workerId = workerId
    const { call, outageMs } = deps
    const watch = {
      call,
      workerId,
      onError: (error: unknown) => this.#onError(error),
      onAnswer: () => this.#onAnswer(),
    }
    this.#beats = new Beats({
      ...watch,
      everyMs: everySeconds * 1_000,
      attempts: () => this.#attempts.values(),
      isDraining: () => this.#isDraining,
      onCancelled: (attempt) => attempt.stop('cancelled', cancelGraceMs),
      onLost: (attempt) => this.#lose(attempt),
    })
    this.#reports = new Reports({
      ...watch,
      outageMs,
      onSettled: (attempt, reason) => this.#settle(attempt, reason),
      onGivenUp: (attempt, why) => {
        this.#mustTellHeld = true
        this.#settle(attempt, why)
      },
    })
    this.over = Promise.all([this.#beats.run(), this.#reports.run(), this.#claimLoop()]).then(() =>
      this.#isLost ? 'lost' : 'ended',
    )
  }

  /** Executions in flight. */
  get running(): number {
    return this.#attempts.size
  }

  /** Claims no more; resolves when everything in flight has been reported, or the time is over. */
  async drain(drainMs: number): Promise<void> {
    this.#isDraining = true
    this.#claiming.abort()
    this.#wake.wake()
    this.#beats.hurry()
    await this.#untilIdle(drainMs)
  }

  /**
   * Stops the remaining attempts and hands them back; an attempt that ends meanwhile is reported with its own outcome.
   */
  async release(graceMs: number, reportMs: number): Promise<void> {
    for (const attempt of this.#attempts.values()) attempt.stop('draining', graceMs)
    await this.#untilIdle(graceMs + reportMs)
  }

  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#claiming.abort()
    this.#wake.wake()
    this.#idle.wake()
    this.#beats.end()
    this.#reports.end()
    for (const attempt of [...this.#attempts.values()]) this.#lose(attempt)
  }

  async #untilIdle(ms: number): Promise<void> {
    const endMs = performance.now() + ms
    while (this.#attempts.size > 0 && !this.#isEnded) {
      const leftMs = endMs - performance.now()
      if (leftMs <= 0) return
      await this.#idle.wait(leftMs)
    }
  }

  async #claimLoop(): Promise<void> {
    const { signal } = this.#claiming
    let isInDoubt = false
    for (let failures = 0; !signal.aborted; ) {
      const room = this.#room()
      if (room < 1) {
        await this.#wake.wait()
        continue
      }
      try {
        const claimed = await this.#claim(room, signal)
        this.#onAnswer()
        failures = 0
        isInDoubt = false
        for (const one of claimed) this.#start(one)
      } catch (error) {
        if (signal.aborted) return
        this.#mustTellHeld = true
        if (isWorkerLost(error) && !isInDoubt) {
          // After an outage a claim may be sent before the heartbeat that would have kept us alive. Running attempts
          // and waiting reports are not given up before that heartbeat has been sent too.
          isInDoubt = true
          await this.#beats.soon()
          continue
        }
        if (this.#onError(error) === 'lost') return
        const askedMs = error instanceof CarillonError ? (error.retryAfterMs ?? 0) : 0
        await pause(Math.max(askedMs, backoffMs(failures++)), signal).catch(() => {})
      }
    }
  }

  #room(): number {
    // Includes attempts with checkpoints or log lines that must be sent before their reports.
    const ended = Math.max(this.#reports.waiting, this.#attempts.size - this.#deps.busy.size)
    if (ended >= resultsWaitingMax) return 0
    // The server counts an attempt until its result is accepted; a handler of ours that goes on although its attempt is
    // lost counts here alone.
    const others = [...this.#deps.busy].filter((attempt) => !this.#isHeld(attempt)).length
    return Math.min(claimMax, this.#deps.concurrency - this.#attempts.size - others)
  }

  async #claim(limit: number, signal: AbortSignal): Promise<readonly ClaimedExecution[]> {
    const body: ClaimRequest = { worker_id: this.workerId, limit, wait_seconds: claimWaitSeconds }
    // A lost answer may have contained executions: executions that are not listed here go to other workers.
    if (this.#mustTellHeld) body.running = [...this.#attempts.keys()]
    this.#mustTellHeld = false
    const { executions } = await this.#deps.call<ClaimReply>(
      { method: 'POST', path: '/api/v1/workers/claim', body, repeat: 'once' },
      { signal, timeoutMs: (claimWaitSeconds + 15) * 1_000 },
    )
    return executions
  }

  #start(claim: ClaimedExecution): void {
    const { execution_id: executionId, handler, attempt_number: attempt } = claim
    // It was ours before and is again, so the claim before is over.
    const before = this.#attempts.get(executionId)
    if (before !== undefined) this.#lose(before)
    const held = new Attempt(claim, () => this.#beats.hurry())
    this.#attempts.set(executionId, held)
    const job = this.#deps.jobs.get(handler)
    if (this.#isDraining || job === undefined) {
      held.end()
      this.#reports.add(resultOf(held, { status: 'released' }))
      return
    }
    this.#deps.busy.add(held)
    this.#deps.emit({ type: 'started', executionId, handler, attempt })
    void this.#run(held, job)
  }

  async #run(attempt: Attempt, job: AnyJob): Promise<void> {
    const { claim } = attempt
    const end = await Promise.race([
      runJob(
        job,
        {
          executionId: claim.execution_id,
          jobId: claim.job_id,
          attempt: claim.attempt_number,
          scheduledTime: claim.scheduled_time,
          idempotencyKey: claim.idempotency_key,
          payload: claim.payload,
          checkpoint: claim.checkpoint,
          graphRunId: claim.graph_run_id,
          parents: (claim.parents ?? []).map(toJobParent),
        },
        attempt,
      ),
      attempt.abandoned.then(() => null),
    ])
    attempt.end()
    this.#deps.busy.delete(attempt)
    this.#wake.wake()
    const said = { executionId: claim.execution_id, handler: claim.handler, attempt: claim.attempt_number }
    const durationMs = Math.round(performance.now() - attempt.startedMs)
    if (end === null && attempt.stopCause !== 'draining') this.#deps.emit({ type: 'abandoned', ...said })
    if (attempt.stopCause === 'lost') {
      this.#deps.emit({ type: 'ended', ...said, status: 'lost', durationMs, message: null })
      return
    }
    const { status, message } = resultOf(attempt, end)
    this.#deps.emit({ type: 'ended', ...said, status, durationMs, message })
    // The next attempt needs the checkpoint, so it goes ahead of the report; so do lines that a report has no room for.
    const mustWait = () =>
      (attempt.hasCheckpoint && status !== 'succeeded') || attempt.logLines.waiting > linesMax
    while (mustWait() && this.#isHeld(attempt)) await this.#beats.soon()
    if (this.#isHeld(attempt)) this.#reports.add(resultOf(attempt, end))
  }

  #isHeld(attempt: Attempt): boolean {
    return !this.#isEnded && this.#attempts.get(attempt.claim.execution_id) === attempt
  }

  #lose(attempt: Attempt): void {
    if (this.#attempts.get(attempt.claim.execution_id) === attempt) {
      this.#attempts.delete(attempt.claim.execution_id)
    }
    attempt.stop('lost', lostGraceMs)
    this.#idle.wake()
  }

  #settle(attempt: Attempt, reason: string | null): void {
    const { execution_id: executionId, handler, attempt_number: number } = attempt.claim
    if (this.#attempts.get(executionId) === attempt) this.#attempts.delete(executionId)
    if (reason !== null) {
      this.#deps.emit({ type: 'refused', executionId, handler, attempt: number, reason })
    }
    this.#wake.wake()
    this.#idle.wake()
  }

  #onError(error: unknown): 'lost' | 'retry' {
    if (isWorkerLost(error)) {
      if (!this.#isEnded) {
        this.#isLost = true
        this.#deps.emit({ type: 'lost', workerId: this.workerId, running: this.#attempts.size })
        this.end()
      }
      return 'lost'
    }
    if (!this.#isUnreachable && !this.#isEnded) {
      this.#isUnreachable = true
      const told = error instanceof Error ? error : new ConnectionError(String(error))
      this.#deps.emit({ type: 'unreachable', error: told })
    }
    return 'retry'
  }

  #onAnswer(): void {
    if (!this.#isUnreachable) return
    this.#isUnreachable = false
    this.#deps.emit({ type: 'reachable' })
  }
}

function toJobParent({
  job_id: jobId,
  job_key: jobKey,
  execution_id: executionId,
  status,
  ...rest
}: NonNullable<ClaimedExecution['parents']>[number]): JobParent {
  return { jobId, jobKey, executionId, status, ...rest }
}

function isWorkerLost(error: unknown): boolean {
  return error instanceof CarillonError && error.code === 'WORKER_LOST'
}

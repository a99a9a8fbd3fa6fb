/// <reference lib="esnext.disposable" preserve="true" />
// createWorker: runs jobs made by defineJob in this process. It pulls work over HTTP, so nothing has to reach it.
import { hostname } from 'node:os'
import type { Registered, RegisterRequest } from '#contract/worker.ts'
import { backoffMs, type Call, createCaller, pause } from './call.ts'
import { CarillonError, ConnectionError } from './carillon-error.ts'
import { createClientOver } from './client.ts'
import type { AnyJob } from './define-job.ts'
import { checkOptionNames, type OptionNames } from './known-options.ts'
import { putJobs } from './put-jobs.ts'
import { createNodeSender, type NodeSender } from './send-node.ts'
import type { Attempt } from './worker-attempt.ts'
import { logEvent, type WorkerListener } from './worker-events.ts'
import { Session, type SessionDeps } from './worker-session.ts'

export interface WorkerOptions {
  /** Where the API answers, such as `http://127.0.0.1:7420`. */
  url: string
  /** An API key with the scope `operate`, and `write` to put jobs that have a schedule or run after others. */
  key: string
  /** The jobs it runs; at most 200. */
  jobs: readonly AnyJob[]
  /** Executions at once, at most. 1 to 5,000, default 50. */
  concurrency?: number
  /** Jobs with labels are run only by workers that have them all. */
  labels?: readonly string[]
  /** Whether jobs that have a schedule or run after others are put into the API as they are defined here. Default true. */
  register?: boolean
  /** Seconds that `stop` waits for running attempts before it hands them back. 0 to 3,600, default 30. */
  drainSeconds?: number
  /** How long results are kept while the API is away. Default 300. */
  outageSeconds?: number
  /** Whether SIGTERM and SIGINT stop it and then, unless others listen to them, end the process. Default true. */
  handleSignals?: boolean
  /** Where your process listens for HTTP, if it does; shown with the worker. */
  port?: number
  /** Of your program, shown with the worker. */
  version?: string
  /** Default: problems are written to stderr. */
  onEvent?: WorkerListener
  /** Ends the start while the API is away; later it stops the worker. */
  signal?: AbortSignal
}

export interface Worker extends AsyncDisposable {
  /** Of its present registration. */
  readonly workerId: string
  /** Executions in flight. */
  readonly running: number
  /** Job ids by key, of the jobs that it put into the API. */
  readonly jobIds: ReadonlyMap<string, string>
  /** Resolves when it has stopped. */
  readonly stopped: Promise<void>
  /** Claims no more, waits for running attempts, hands back the rest, and signs off. */
  stop(options?: { drainSeconds?: number }): Promise<void>
}

const workerOptions: OptionNames<WorkerOptions> = {
  url: true,
  key: true,
  jobs: true,
  concurrency: true,
  labels: true,
  register: true,
  drainSeconds: true,
  outageSeconds: true,
  handleSignals: true,
  port: true,
  version: true,
  onEvent: true,
  signal: true,
}
const concurrencyMax = 5_000
const jobsMax = 200
/** For a handler to stop when the worker does, and for the last report. */
const releaseGraceMs = 2_000
const reportMs = 5_000

/** Resolves when it is registered; waits for the API if it is away. Rejects when it is refused. */
export async function createWorker(options: WorkerOptions): Promise<Worker> {
  const jobs = checkOptions(options)
  const worker = new PullWorker(options, jobs)
  try {
    await worker.start()
    return worker
  } catch (error) {
    await worker.stop()
    throw error
  }
}

class PullWorker implements Worker {
  readonly jobIds = new Map<string, string>()
  readonly stopped: Promise<void>
  readonly #options: WorkerOptions
  readonly #jobs: ReadonlyMap<string, AnyJob>
  readonly #sender: NodeSender = createNodeSender()
  readonly #call: Call
  readonly #emit: WorkerListener
  readonly #busy = new Set<Attempt>()
  readonly #ending = new AbortController()
  #session: Session | null = null
  #stopping: Promise<void> | null = null
  #resolveStopped!: () => void
  #signalHandlers: (() => void) | null = null

  constructor(options: WorkerOptions, jobs: ReadonlyMap<string, AnyJob>) {
    this.#options = options
    this.#jobs = jobs
    const listener = options.onEvent ?? logEvent
    this.#emit = (event) => {
      try {
        listener(event)
      } catch (error) {
        // A mistake in a log line must not stop the worker.
        console.error('carillon worker: onEvent failed:', error)
      }
    }
    const { url, key } = options
    // Its loops decide when to ask again.
    this.#call = createCaller({ url, key, retries: 0 }, this.#sender.send)
    this.stopped = new Promise((resolve) => {
      this.#resolveStopped = resolve
    })
  }

  get workerId(): string {
    return this.#session?.workerId ?? ''
  }

  get running(): number {
    return this.#session?.running ?? 0
  }

  async start(): Promise<void> {
    const { signal, register = true, handleSignals = true } = this.#options
    signal?.addEventListener('abort', () => this.#ending.abort(signal.reason), { once: true })
    signal?.throwIfAborted()
    if (register) await this.#untilAnswered(() => this.#putJobs(), 'start')
    const registered = await this.#untilAnswered(() => this.#register(), 'start')
    this.#run(registered)
    signal?.addEventListener('abort', () => void this.stop(), { once: true })
    if (handleSignals) this.#listenToSignals()
  }

  async stop(options: { drainSeconds?: number } = {}): Promise<void> {
    checkOptionNames('stop', options, { drainSeconds: true })
    const { drainSeconds = this.#options.drainSeconds ?? 30 } = options
    this.#stopping ??= this.#drain(drainSeconds * 1_000)
    await this.#stopping
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  #run(registered: Registered): void {
    const { concurrency = 50, outageSeconds = 300 } = this.#options
    const deps: SessionDeps = {
      call: this.#call,
      jobs: this.#jobs,
      concurrency,
      outageMs: outageSeconds * 1_000,
      busy: this.#busy,
      emit: this.#emit,
    }
    const session = new Session(deps, registered)
    this.#session = session
    this.#emit({ type: 'registered', workerId: session.workerId, handlers: [...this.#jobs.keys()] })
    void session.over.then(async (how) => {
      if (how === 'ended' || this.#stopping !== null) return
      try {
        const again = await this.#untilAnswered(() => this.#register(), 'again')
        if (this.#stopping === null) this.#run(again)
        else await this.#signOff(again.worker_id)
      } catch {
        // It was stopped meanwhile.
      }
    })
  }

  /**
   * Also hands back executions that a lost answer left under the worker's name; without it, that happens after its
   * lease.
   */
  async #signOff(workerId: string): Promise<void> {
    await this.#call(
      { method: 'DELETE', path: `/api/v1/workers/${workerId}`, repeat: 'once' },
      { timeoutMs: reportMs },
    ).catch(() => {})
  }

  async #drain(drainMs: number): Promise<void> {
    this.#ending.abort(new DOMException('The worker stops.', 'AbortError'))
    const session = this.#session
    if (session !== null) {
      this.#emit({ type: 'draining', running: session.running })
      await session.drain(drainMs)
      if (session.running > 0) await session.release(releaseGraceMs, reportMs)
      await this.#signOff(session.workerId)
      session.end()
      await session.over
    }
    this.#signalHandlers?.()
    this.#sender[Symbol.dispose]()
    this.#emit({ type: 'stopped' })
    this.#resolveStopped()
  }

  async #putJobs(): Promise<void> {
    const { url, key } = this.#options
    const client = createClientOver({ url, key, retries: 0 }, this.#sender.send)
    for (const [name, jobId] of await putJobs(client, [...this.#jobs.values()])) {
      if (!this.jobIds.has(name)) this.#emit({ type: 'job-put', key: name, jobId })
      this.jobIds.set(name, jobId)
    }
  }

  #register(): Promise<Registered> {
    const { concurrency = 50, labels = [], port, version } = this.#options
    const body: RegisterRequest = {
      handlers: [...this.#jobs.keys()],
      labels: [...labels],
      capacity: concurrency,
      host: hostname() || 'unknown',
      ...(port !== undefined && { port }),
      ...(version !== undefined && { version }),
    }
    return this.#call({ method: 'POST', path: '/api/v1/workers', body, repeat: 'once' })
  }

  /** At the start a refusal is the program's to mend; later a key may be wrong for a while. */
  async #untilAnswered<T>(ask: () => Promise<T>, when: 'start' | 'again'): Promise<T> {
    const { signal } = this.#ending
    for (let failures = 0; ; failures++) {
      signal.throwIfAborted()
      try {
        return await ask()
      } catch (error) {
        signal.throwIfAborted()
        if (when === 'start' && !isPassing(error)) throw error
        if (failures === 0) this.#emit({ type: 'unreachable', error: error as Error })
        const askedMs = error instanceof CarillonError ? (error.retryAfterMs ?? 0) : 0
        await pause(Math.max(askedMs, backoffMs(failures)), signal)
      }
    }
  }

  #listenToSignals(): void {
    const signals = ['SIGTERM', 'SIGINT'] as const
    const onSignal = (signal: NodeJS.Signals) => {
      // A second one ends the process at once, as if nobody listened.
      this.#signalHandlers?.()
      void this.stop().then(() => {
        if (process.listenerCount(signal) === 0) process.exit()
      })
    }
    for (const signal of signals) process.on(signal, onSignal)
    this.#signalHandlers = () => {
      for (const signal of signals) process.off(signal, onSignal)
      this.#signalHandlers = null
    }
  }
}

function isPassing(error: unknown): boolean {
  if (!(error instanceof CarillonError)) return false
  return error instanceof ConnectionError || error.status === 429 || (error.status ?? 0) >= 500
}

function checkOptions(options: WorkerOptions): ReadonlyMap<string, AnyJob> {
  checkOptionNames('createWorker', options, workerOptions)
  const { jobs, concurrency = 50, drainSeconds = 30, outageSeconds = 300, key } = options
  const checkRange = (name: string, value: number, min: number, max: number) => {
    if (!Number.isInteger(value) || value < min || value > max) {
      throw new TypeError(`${name} is ${value}: it must be a whole number from ${min} to ${max}.`)
    }
  }
  checkRange('concurrency', concurrency, 1, concurrencyMax)
  checkRange('drainSeconds', drainSeconds, 0, 3_600)
  checkRange('outageSeconds', outageSeconds, 0, 86_400)
  if (typeof key !== 'string' || key === '') throw new TypeError('key must be an API key.')
  if (jobs.length === 0 || jobs.length > jobsMax) {
    throw new TypeError(`jobs has ${jobs.length}: it must be 1 to ${jobsMax}.`)
  }
  const byKey = new Map<string, AnyJob>()
  for (const [index, job] of jobs.entries()) {
    if (typeof job?.run !== 'function') throw new TypeError(`jobs[${index}] is not made by defineJob.`)
    if (byKey.has(job.key)) throw new TypeError(`jobs has two with the key ${job.key}.`)
    byKey.set(job.key, job)
  }
  return byKey
}

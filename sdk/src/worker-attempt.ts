// One attempt on a worker: its time, why it was stopped, and its updates that the server does not know yet.
import type { ClaimedExecution } from '#contract/worker.ts'
import { AttemptLog } from './attempt-log.ts'
import type { JobListener, LogLevel } from './run-job.ts'

export type StopCause = 'timeout' | 'cancelled' | 'lost' | 'draining'

const reasons: Record<StopCause, { name: string; message: string }> = {
  timeout: { name: 'TimeoutError', message: 'The time of this attempt is over.' },
  cancelled: { name: 'AbortError', message: 'Somebody cancelled this execution.' },
  lost: { name: 'AbortError', message: 'This execution is not this worker’s any more.' },
  draining: { name: 'AbortError', message: 'The worker stops.' },
}

/** The updates of an attempt when a heartbeat was made; `heard` is called when the server has them. */
export interface AttemptNews {
  json: string
  /** Length of the updates, beyond the fact that it runs. */
  length: number
  /** There was more to say than there was room for. */
  isCut: boolean
  heard(): void
  /** It did not arrive: to be said again. */
  unheard(): void
  /** The server does not take it: not to be said again. */
  refused(why: string): void
}

export class Attempt implements JobListener {
  readonly claim: ClaimedExecution
  readonly log = (level: LogLevel, message: string): void => {
    this.logLines.add(level, message)
    // A line is a sign of life, too; but only where somebody waits for one is it worth a write.
    this.#isAlive ||= this.claim.heartbeat_timeout_seconds !== null
    if (this.logLines.waiting > linesWaitingMax) this.#urge()
  }
  readonly logLines = new AttemptLog()
  readonly startedMs = performance.now()
  /** When the server last received more than that it runs: the attempt that has waited longest goes first. */
  heardMs = this.startedMs
  /** Resolves when it was told to stop and has not for so long that its place goes to others. */
  readonly abandoned: Promise<void>
  /** Its handler has ended; only its report is still to come. */
  isOver = false
  readonly #controller = new AbortController()
  readonly #urge: () => void
  #abandon!: () => void
  #stopCause: StopCause | null = null
  #timers: NodeJS.Timeout[] = []
  #isAlive = false
  #progress: { progress?: number; message?: string } | null = null
  #checkpoint: string | null = null
  #waiters: { resolve: () => void; reject: (error: Error) => void }[] = []

  /** `urge` asks for a heartbeat soon. */
  constructor(claim: ClaimedExecution, urge: () => void) {
    this.claim = claim
    this.#urge = urge
    this.abandoned = new Promise((resolve) => {
      this.#abandon = resolve
    })
    this.#after(claim.timeout_seconds * 1_000, () => this.stop('timeout', timeoutGraceMs))
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get stopCause(): StopCause | null {
    return this.#stopCause
  }

  get hasCheckpoint(): boolean {
    return this.#checkpoint !== null
  }

  /** Not to be kept for the next heartbeat in its own time. */
  get hasUrgentNews(): boolean {
    return this.#checkpoint !== null || this.logLines.waiting > linesWaitingMax
  }

  /** The first cause counts, except that a lost attempt is never reported. */
  stop(cause: StopCause, graceMs: number): void {
    if (this.isOver || this.#stopCause === cause) return
    if (this.#stopCause === null || cause === 'lost') this.#stopCause = cause
    const { name, message } = reasons[cause]
    this.#controller.abort(new DOMException(message, name))
    this.#after(graceMs, this.#abandon)
    if (cause === 'lost') this.#refuseWaiters()
  }

  /** The handler has ended, or was abandoned. */
  end(): void {
    this.isOver = true
    for (const timer of this.#timers) clearTimeout(timer)
  }

  note(said: { progress?: number; message?: string }): void {
    this.#isAlive = true
    if (said.progress !== undefined) this.#progress = said
  }

  saveCheckpoint(json: string): Promise<void> {
    if (this.#stopCause === 'lost') return Promise.reject(lostError())
    this.#isAlive = true
    this.#checkpoint = json
    this.#urge()
    const saved = new Promise<void>((resolve, reject) => {
      // A caller waiting for an older checkpoint is served by this one, too; many unawaited ones must not pile up.
      if (this.#waiters.length < waitersMax) this.#waiters.push({ resolve, reject })
      else reject(new RangeError(`${waitersMax} checkpoints wait to be saved: await them.`))
    })
    // It is also sent when nobody awaits it; that it was lost with its worker is then no surprise.
    saved.catch(() => {})
    return saved
  }

  /** Updates for a heartbeat, kept until `heard`. Without `lengthMax` only that it runs. */
  news(lengthMax: number): AttemptNews {
    const parts = [markOf(this.claim), `"running_ms":${Math.round(performance.now() - this.startedMs)}`]
    const [progress, checkpoint, isAlive] = [this.#progress, this.#checkpoint, this.#isAlive]
    const waiters = this.#waiters.length
    if (isAlive) parts.push('"alive":true')
    let length = 0
    const add = (part: string): boolean => {
      if (length + part.length > lengthMax) return false
      length += part.length
      parts.push(part)
      return true
    }
    const hasProgress = progress !== null && add(JSON.stringify(progress).slice(1, -1))
    const hasCheckpoint = checkpoint !== null && add(`"checkpoint":${checkpoint}`)
    const logLength = lengthMax - length - logLengthMin
    const logs = logLength < 0 ? null : this.logLines.next(linesMax, logLength)
    if (logs !== null) add(`"logs":${logs.json}`)
    const isCut =
      hasProgress !== (progress !== null) ||
      hasCheckpoint !== (checkpoint !== null) ||
      (logs?.lines ?? 0) < Math.min(linesMax, this.logLines.waiting)
    // While this is under way the handler may say more.
    this.#isAlive = false
    return {
      json: `{${parts.join(',')}}`,
      length,
      isCut,
      heard: () => {
        if (length > 0) this.heardMs = performance.now()
        if (hasProgress && this.#progress === progress) this.#progress = null
        if (hasCheckpoint) {
          if (this.#checkpoint === checkpoint) this.#checkpoint = null
          for (const { resolve } of this.#waiters.splice(0, waiters)) resolve()
        }
        if (logs !== null) this.logLines.forget(logs.lines)
      },
      unheard: () => {
        this.#isAlive ||= isAlive
      },
      refused: (why) => {
        if (hasProgress && this.#progress === progress) this.#progress = null
        if (logs !== null) this.logLines.forget(logs.lines)
        if (!hasCheckpoint) return
        if (this.#checkpoint === checkpoint) this.#checkpoint = null
        const error = new Error(`The checkpoint was not saved: ${why}`)
        for (const { reject } of this.#waiters.splice(0, waiters)) reject(error)
      },
    }
  }

  #refuseWaiters(): void {
    for (const { reject } of this.#waiters.splice(0)) reject(lostError())
  }

  #after(ms: number, action: () => void): void {
    this.#timers.push(setTimeout(action, Math.min(ms, timerMsMax)))
  }
}

/** `"execution_id":…,"attempt_number":…,"fence":…` */
export function markOf({ execution_id: id, attempt_number: attempt, fence }: ClaimedExecution): string {
  return `"execution_id":"${id}","attempt_number":${attempt},"fence":${fence}`
}

function lostError(): Error {
  return new Error('The checkpoint was not saved: this execution is not this worker’s any more.')
}

/** Maximum lines in a part. */
export const linesMax = 1_000
const linesWaitingMax = 500
/** The longest line and its envelope: with less room no line is sent. */
const logLengthMin = 64 * 1024
const waitersMax = 1_000
const timerMsMax = 2_147_483_647
/** A handler that is out of time may clean up for so long before others get its place. */
const timeoutGraceMs = 10_000

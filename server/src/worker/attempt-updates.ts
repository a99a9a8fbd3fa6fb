// Updates of attempts that run on this machine: log lines, signs of life, progress, checkpoints. Kept here for a moment
// and written together. Bounded, and never a reason for an attempt to fail: lines that come faster than they can be
// written are counted and left out.

import {
  firstLineOf,
  type LogLevel,
  type LogLine,
  logBytesMax,
  logLineBytes,
  logLineLengthMax,
} from '../domain/history/log.ts'
import { checkpointBytesMax, progressTextLengthMax } from '../domain/queue/attempt.ts'
import { storable } from '../lib/storable.ts'
import type { Attempts, AttemptUpdate } from '../ports/attempts.ts'
import type { Clock } from '../ports/clock.ts'
import type { CallContext } from '../ports/executor.ts'
import type { LogPart, Logs } from '../ports/logs.ts'
import type { HeldExecution } from './held-execution.ts'

export interface UpdatesDeps {
  clock: Pick<Clock, 'databaseNow'>
  attempts: Pick<Attempts, 'update'>
  logs: Pick<Logs, 'append'>
  workerId: () => string
  /** The store says that the execution was cancelled. */
  onCancelled: (held: HeldExecution) => void
  /** The store says that the execution is not ours any more. */
  onGone: (held: HeldExecution) => void
}

/** The unwritten updates from a single attempt. */
interface Pending {
  lines: LogLine[]
  /** The size of `lines`. */
  bytes: number
  /** The number of the first of `lines` in the log of the attempt. */
  firstLine: number
  /** The size of all lines of the attempt so far. */
  bytesInAll: number
  /** Lines that there was no room for. */
  missing: number
  update: Update | null
}

type Update = Pick<AttemptUpdate, 'progress' | 'message' | 'checkpoint'>
type Part = LogPart & { pending: Pending }

export const sendUpdatesEveryMs = 1_000
/** Limits on the unwritten log lines from a single attempt. */
const linesMax = 1_000
const bytesMax = logBytesMax
/** The limit on all log lines from an attempt: more than the store keeps, so that it sees that there was more. */
const bytesInAllMax = 2 * logBytesMax
/** The limit of the lines of all attempts that wait to be written. */
const waitingBytesMax = 64 * 1024 * 1024
/** Limits per write. */
const updatesMax = 200
const partBytesMax = 4 * 1024 * 1024

export class AttemptUpdates {
  readonly #deps: UpdatesDeps
  readonly #pending = new Map<HeldExecution, Pending>()
  #waitingBytes = 0
  #sending: Promise<void> | null = null

  constructor(deps: UpdatesDeps) {
    this.#deps = deps
  }

  /** Whether any update is to be written. */
  get isWaiting(): boolean {
    for (const pending of this.#pending.values())
      if (pending.update !== null || pending.lines.length > 0) return true
    return false
  }

  log(held: HeldExecution, level: LogLevel, message: string): void {
    if (held.isOver) return
    const pending = this.#of(held)
    if (pending.bytesInAll > bytesInAllMax) return
    const line: LogLine = {
      at: this.#deps.clock.databaseNow(),
      level,
      message: storable(message.slice(0, logLineLengthMax)),
    }
    const bytes = bytesOf(line)
    const isFull = pending.lines.length >= linesMax || pending.bytes + bytes > bytesMax
    if (isFull || this.#waitingBytes + bytes > waitingBytesMax) pending.missing += 1
    else this.#add(pending, line)
  }

  update(held: HeldExecution, given: Parameters<CallContext['note']>[0]): void {
    if (held.isOver) return
    const pending = this.#of(held)
    const { progress, message, checkpoint } = given
    const update: Update = { ...pending.update }
    if (progress !== undefined && !Number.isNaN(progress))
      update.progress = Math.min(1, Math.max(0, progress))
    if (message !== undefined) update.message = storable(message.slice(0, progressTextLengthMax))
    if (checkpoint !== undefined) {
      const kept = copyCheckpoint(checkpoint)
      if (kept.ok) update.checkpoint = kept.value
      else this.log(held, 'warn', `The checkpoint was not kept: ${kept.problem}.`)
    }
    // A bare sign of life matters only where its absence does; with it the execution would leave its batch.
    if (held.prepared.hasHeartbeat || Object.keys(update).length > 0) pending.update = update
  }

  /** The attempt is over; later updates of it are ignored. */
  end(held: HeldExecution): void {
    held.isOver = true
    this.#forget(held, this.#pending.get(held))
  }

  /** Writes all updates. When it fails, all of them are still there for the next time. */
  async send(): Promise<void> {
    while (this.#sending !== null) await this.#sending.catch(() => {})
    this.#sending = this.#sendAll().finally(() => {
      this.#sending = null
    })
    return this.#sending
  }

  /** Asks whether these attempts are still ours: maintenance may have ended a silent one. */
  async ask(executions: readonly HeldExecution[]): Promise<void> {
    for (let i = 0; i < executions.length; i += updatesMax)
      await this.#write(
        executions
          .slice(i, i + updatesMax)
          .map((held) => ({ held, update: this.#toUpdate(held, {}, false) })),
      )
  }

  async #sendAll(): Promise<void> {
    const waiting = [...this.#pending].filter(([, { update }]) => update !== null)
    for (let i = 0; i < waiting.length; i += updatesMax)
      await this.#sendUpdates(waiting.slice(i, i + updatesMax))
    for (let parts = this.#nextParts(); parts.length > 0; parts = this.#nextParts()) {
      await this.#deps.logs.append(parts.map(({ pending: _, ...part }) => part))
      for (const { pending, lines } of parts) this.#remove(pending, lines.length)
    }
    for (const [held, pending] of this.#pending) this.#forget(held, pending)
  }

  /** Forgets an attempt that is over once all its updates are written. */
  #forget(held: HeldExecution, pending: Pending | undefined): void {
    if (held.isOver && pending?.update === null && pending.lines.length === 0) this.#pending.delete(held)
  }

  async #sendUpdates(waiting: readonly [HeldExecution, Pending][]): Promise<void> {
    const written: { pending: Pending; update: Update }[] = []
    const sent: { held: HeldExecution; update: AttemptUpdate }[] = []
    for (const [held, pending] of waiting) {
      const update = pending.update!
      pending.update = null
      if (held.isOver && !isForNext(held, update)) continue
      written.push({ pending, update })
      sent.push({ held, update: this.#toUpdate(held, update, true) })
    }
    try {
      await this.#write(sent)
    } catch (error) {
      // Updates that came meanwhile count more.
      for (const { pending, update } of written) pending.update = { ...update, ...pending.update }
      throw error
    }
  }

  async #write(sent: readonly { held: HeldExecution; update: AttemptUpdate }[]): Promise<void> {
    if (sent.length === 0) return
    const answers = await this.#deps.attempts.update(sent.map(({ update }) => update))
    const statuses = new Map(answers.map(({ executionId, status }) => [executionId, status]))
    for (const { held } of sent) {
      const status = statuses.get(held.executionId)
      if (status === 'cancelled') this.#deps.onCancelled(held)
      else if (status === 'gone') this.#deps.onGone(held)
    }
  }

  #toUpdate(held: HeldExecution, update: Update, alive: boolean): AttemptUpdate {
    const { executionId, attempt, jobId, fence, startedAt } = held
    const workerId = this.#deps.workerId()
    return {
      executionId,
      attempt,
      jobId,
      fence,
      workerId,
      alive,
      ...(startedAt !== null && { startedAt }),
      ...update,
    }
  }

  /** The next lines to write, from as many attempts as go into one write. */
  #nextParts(): Part[] {
    const parts: Part[] = []
    let bytes = 0
    for (const [{ executionId, attempt, prepared }, pending] of this.#pending) {
      if (pending.lines.length === 0) continue
      if (bytes > partBytesMax) break
      const { tenantId } = prepared
      parts.push({
        tenantId,
        executionId,
        attempt,
        firstLine: pending.firstLine,
        lines: [...pending.lines],
        pending,
      })
      bytes += pending.bytes
    }
    return parts
  }

  #of(held: HeldExecution): Pending {
    let pending = this.#pending.get(held)
    if (pending === undefined) {
      pending = { lines: [], bytes: 0, firstLine: firstLineOf(held), bytesInAll: 0, missing: 0, update: null }
      this.#pending.set(held, pending)
    }
    return pending
  }

  #add(pending: Pending, line: LogLine): void {
    const bytes = bytesOf(line)
    pending.lines.push(line)
    pending.bytes += bytes
    pending.bytesInAll += bytes
    this.#waitingBytes += bytes
  }

  #remove(pending: Pending, count: number): void {
    const bytes = pending.lines.splice(0, count).reduce((sum, line) => sum + bytesOf(line), 0)
    pending.bytes -= bytes
    pending.firstLine += count
    this.#waitingBytes -= bytes
    if (pending.missing === 0) return
    const message = `${pending.missing} lines are missing here: they came faster than they could be written.`
    pending.missing = 0
    this.#add(pending, { at: this.#deps.clock.databaseNow(), level: 'warn', message })
  }
}

/** When an attempt is over only its checkpoint matters, and only if another attempt may follow. */
function isForNext({ end }: HeldExecution, update: Update): boolean {
  return 'checkpoint' in update && (end === null || end.retryAt !== null)
}

function bytesOf({ message }: LogLine): number {
  return logLineBytes + Buffer.byteLength(message)
}

/** A copy, so that later changes of the original do not matter. */
function copyCheckpoint(value: unknown): { ok: true; value: unknown } | { ok: false; problem: string } {
  let json: string | undefined
  try {
    json = JSON.stringify(value)
  } catch (error) {
    return { ok: false, problem: `it is not JSON (${(error as Error).message})` }
  }
  if (json === undefined) return { ok: false, problem: 'it is not JSON' }
  if (Buffer.byteLength(json) > checkpointBytesMax)
    return { ok: false, problem: `it has more than ${checkpointBytesMax} bytes` }
  return { ok: true, value: JSON.parse(json) }
}

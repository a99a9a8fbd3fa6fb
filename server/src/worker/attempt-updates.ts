// What attempts on this machine say while they run: log lines, signs of life, how far they are, checkpoints. Kept here
// for a moment and written together. Bounded, and never a reason for an attempt to fail: what comes faster than it can
// be written is counted and left out.

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
  attempts: Pick<Attempts, 'note'>
  logs: Pick<Logs, 'append'>
  workerId: () => string
  /** Somebody has cancelled it. */
  onCancelled: (held: HeldExecution) => void
  /** It is not ours any more. */
  onGone: (held: HeldExecution) => void
}

/** What an attempt has said and what is not written yet. */
interface Said {
  lines: LogLine[]
  /** Of `lines`. */
  bytes: number
  /** The number of the first of `lines` in the log of the attempt. */
  firstLine: number
  /** Of all its lines so far. */
  bytesInAll: number
  /** Lines that there was no room for. */
  missing: number
  note: Note | null
}

type Note = Pick<AttemptUpdate, 'progress' | 'message' | 'checkpoint'>
type Part = LogPart & { said: Said }

export const sendUpdatesEveryMs = 1_000
/** Of one attempt, waiting to be written. */
const linesMax = 1_000
const bytesMax = logBytesMax
/** Of one attempt: beyond what the store keeps, so that it sees that there was more. */
const bytesInAllMax = 2 * logBytesMax
/** Of all attempts, waiting to be written. */
const waitingBytesMax = 64 * 1024 * 1024
/** In one write. */
const notesMax = 200
const partBytesMax = 4 * 1024 * 1024

export class AttemptUpdates {
  readonly #deps: UpdatesDeps
  readonly #said = new Map<HeldExecution, Said>()
  #waitingBytes = 0
  #sending: Promise<void> | null = null

  constructor(deps: UpdatesDeps) {
    this.#deps = deps
  }

  /** Whether anything is to be written. */
  get isWaiting(): boolean {
    for (const said of this.#said.values()) if (said.note !== null || said.lines.length > 0) return true
    return false
  }

  log(held: HeldExecution, level: LogLevel, message: string): void {
    if (held.isOver) return
    const said = this.#of(held)
    if (said.bytesInAll > bytesInAllMax) return
    const line: LogLine = {
      at: this.#deps.clock.databaseNow(),
      level,
      message: storable(message.slice(0, logLineLengthMax)),
    }
    const bytes = bytesOf(line)
    const isFull = said.lines.length >= linesMax || said.bytes + bytes > bytesMax
    if (isFull || this.#waitingBytes + bytes > waitingBytesMax) said.missing += 1
    else this.#add(said, line)
  }

  note(held: HeldExecution, given: Parameters<CallContext['note']>[0]): void {
    if (held.isOver) return
    const said = this.#of(held)
    const { progress, message, checkpoint } = given
    const note: Note = { ...said.note }
    if (progress !== undefined && !Number.isNaN(progress)) note.progress = Math.min(1, Math.max(0, progress))
    if (message !== undefined) note.message = storable(message.slice(0, progressTextLengthMax))
    if (checkpoint !== undefined) {
      const kept = copyCheckpoint(checkpoint)
      if (kept.ok) note.checkpoint = kept.value
      else this.log(held, 'warn', `The checkpoint was not kept: ${kept.problem}.`)
    }
    // A bare sign of life matters only where its absence does; it would cost the execution its place in its batch.
    if (held.prepared.hasHeartbeat || Object.keys(note).length > 0) said.note = note
  }

  /** It has ended, and says nothing more. */
  end(held: HeldExecution): void {
    held.isOver = true
    this.#forget(held, this.#said.get(held))
  }

  /** Writes all that waits. When it fails, everything is still there for the next time. */
  async send(): Promise<void> {
    while (this.#sending !== null) await this.#sending.catch(() => {})
    this.#sending = this.#sendAll().finally(() => {
      this.#sending = null
    })
    return this.#sending
  }

  /** Looks whether these attempts are still ours: maintenance may have ended one that it heard nothing of. */
  async ask(executions: readonly HeldExecution[]): Promise<void> {
    for (let i = 0; i < executions.length; i += notesMax)
      await this.#tell(
        executions.slice(i, i + notesMax).map((held) => ({ held, note: this.#toNote(held, {}, false) })),
      )
  }

  async #sendAll(): Promise<void> {
    const waiting = [...this.#said].filter(([, { note }]) => note !== null)
    for (let i = 0; i < waiting.length; i += notesMax) await this.#sendUpdates(waiting.slice(i, i + notesMax))
    for (let parts = this.#nextParts(); parts.length > 0; parts = this.#nextParts()) {
      await this.#deps.logs.append(parts.map(({ said: _, ...part }) => part))
      for (const { said, lines } of parts) this.#remove(said, lines.length)
    }
    for (const [held, said] of this.#said) this.#forget(held, said)
  }

  /** Of one that has ended and of which all is written. */
  #forget(held: HeldExecution, said: Said | undefined): void {
    if (held.isOver && said?.note === null && said.lines.length === 0) this.#said.delete(held)
  }

  async #sendUpdates(waiting: readonly [HeldExecution, Said][]): Promise<void> {
    const taken: { said: Said; note: Note }[] = []
    const told: { held: HeldExecution; note: AttemptUpdate }[] = []
    for (const [held, said] of waiting) {
      const note = said.note!
      said.note = null
      if (held.isOver && !isForNext(held, note)) continue
      taken.push({ said, note })
      told.push({ held, note: this.#toNote(held, note, true) })
    }
    try {
      await this.#tell(told)
    } catch (error) {
      // What was said since counts more.
      for (const { said, note } of taken) said.note = { ...note, ...said.note }
      throw error
    }
  }

  async #tell(told: readonly { held: HeldExecution; note: AttemptUpdate }[]): Promise<void> {
    if (told.length === 0) return
    const answers = await this.#deps.attempts.note(told.map(({ note }) => note))
    const states = new Map(answers.map(({ executionId, state }) => [executionId, state]))
    for (const { held } of told) {
      const state = states.get(held.executionId)
      if (state === 'cancelled') this.#deps.onCancelled(held)
      else if (state === 'gone') this.#deps.onGone(held)
    }
  }

  #toNote(held: HeldExecution, note: Note, alive: boolean): AttemptUpdate {
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
      ...note,
    }
  }

  /** The next lines to write, of as many attempts as go into one write. */
  #nextParts(): Part[] {
    const parts: Part[] = []
    let bytes = 0
    for (const [{ executionId, attempt, prepared }, said] of this.#said) {
      if (said.lines.length === 0) continue
      if (bytes > partBytesMax) break
      const { tenantId } = prepared
      parts.push({ tenantId, executionId, attempt, firstLine: said.firstLine, lines: [...said.lines], said })
      bytes += said.bytes
    }
    return parts
  }

  #of(held: HeldExecution): Said {
    let said = this.#said.get(held)
    if (said === undefined) {
      said = { lines: [], bytes: 0, firstLine: firstLineOf(held), bytesInAll: 0, missing: 0, note: null }
      this.#said.set(held, said)
    }
    return said
  }

  #add(said: Said, line: LogLine): void {
    const bytes = bytesOf(line)
    said.lines.push(line)
    said.bytes += bytes
    said.bytesInAll += bytes
    this.#waitingBytes += bytes
  }

  #remove(said: Said, count: number): void {
    const bytes = said.lines.splice(0, count).reduce((sum, line) => sum + bytesOf(line), 0)
    said.bytes -= bytes
    said.firstLine += count
    this.#waitingBytes -= bytes
    if (said.missing === 0) return
    const message = `${said.missing} lines are missing here: they came faster than they could be written.`
    said.missing = 0
    this.#add(said, { at: this.#deps.clock.databaseNow(), level: 'warn', message })
  }
}

/** Of an attempt that has ended only the checkpoint matters, and only while another attempt may follow. */
function isForNext({ end }: HeldExecution, note: Note): boolean {
  return 'checkpoint' in note && (end === null || end.retryAt !== null)
}

function bytesOf({ message }: LogLine): number {
  return logLineBytes + Buffer.byteLength(message)
}

/** As it is now, whatever becomes of the original. */
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

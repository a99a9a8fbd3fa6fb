// The environment that tells a command about its attempt, and its output: log lines, updates, and the preview.

import { logBytesMax, logLineBytes, logLineLengthMax } from '../../domain/history/log.ts'
import { checkpointBytesMax, previewBytesMax, progressTextLengthMax } from '../../domain/queue/attempt.ts'
import { storable } from '../../lib/storable.ts'
import { toRfc3339 } from '../../lib/time/epoch.ts'
import type { CallContext, LocalCall } from '../../ports/executor.ts'

/** Begins a line of standard output that is a note: JSON follows. */
const noteMark = '::carillon '

/** `home`: the command's directory. `variables`: the part of our environment that it gets. */
export function environmentOf(
  call: LocalCall,
  { home, variables }: { home: string; variables: Readonly<Record<string, string>> },
): Record<string, string> {
  const env: Record<string, string> = {
    ...variables,
    HOME: home,
    CARILLON_EXECUTION_ID: call.executionId,
    CARILLON_JOB_ID: call.jobId,
    CARILLON_ATTEMPT: String(call.attempt),
    CARILLON_IDEMPOTENCY_KEY: call.idempotencyKey,
    CARILLON_SCHEDULED_TIME: toRfc3339(call.slot),
  }
  if (call.runId !== null) env['CARILLON_GRAPH_RUN_ID'] = call.runId
  if (call.checkpoint !== undefined) {
    const checkpoint = JSON.stringify(call.checkpoint)
    if (Buffer.byteLength(checkpoint) <= checkpointBytesMax) env['CARILLON_CHECKPOINT'] = checkpoint
  }
  return env
}

export class CommandWords {
  readonly #context: Pick<CallContext, 'log' | 'note'>
  #logBytes = 0
  #head: string[] = []
  #headBytes = 0

  constructor(context: Pick<CallContext, 'log' | 'note'>) {
    this.#context = context
  }

  take(from: 'stdout' | 'stderr', line: string): void {
    if (from === 'stderr') {
      this.log('error', line)
      return
    }
    if (line.startsWith(noteMark) && this.#takeNote(line.slice(noteMark.length))) return
    if (this.#headBytes < previewBytesMax) {
      this.#head.push(line)
      this.#headBytes += Buffer.byteLength(line) + 1
    }
    this.log('info', line)
  }

  /** Lines beyond the size limit of a log are dropped here at no cost: the store already has all it keeps. */
  log(level: Parameters<CallContext['log']>[0], message: string): void {
    if (this.#logBytes > logBytesMax) return
    const kept = storable(message.slice(0, logLineLengthMax))
    this.#logBytes += Buffer.byteLength(kept) + logLineBytes
    this.#context.log(level, kept)
  }

  /** Parts of an update that cannot be stored are left out, and a line in the log says so. */
  note(said: { progress?: unknown; message?: unknown; checkpoint?: unknown }): void {
    const { progress, message, checkpoint } = said
    const kept: Parameters<CallContext['note']>[0] = {}
    if (typeof progress === 'number' && progress >= 0 && progress <= 1) kept.progress = progress
    else if (progress !== undefined) this.log('warn', 'progress is a number from 0 to 1; it was left out')
    if (typeof message === 'string') kept.message = storable(message.slice(0, progressTextLengthMax))
    if (checkpoint !== undefined) {
      const bytes = Buffer.byteLength(JSON.stringify(checkpoint))
      if (bytes <= checkpointBytesMax) kept.checkpoint = checkpoint
      else this.log('warn', `a checkpoint has at most 64 KB; one of ${bytes} bytes was left out`)
    }
    this.#context.note(kept)
  }

  /** The first 4 KB of standard output; null: it said nothing. */
  preview(): string | null {
    return this.#head.length === 0 ? null : cutPreview(this.#head.join('\n'))
  }

  #takeNote(text: string): boolean {
    let said: unknown
    try {
      said = JSON.parse(text)
    } catch {
      return false
    }
    if (typeof said !== 'object' || said === null || Array.isArray(said)) return false
    this.note(said)
    return true
  }
}

/** Whole characters only. */
export function cutPreview(text: string): string {
  const bytes = Buffer.from(storable(text))
  // Half a character at the cut would take more room than it had.
  return bytes.length <= previewBytesMax
    ? bytes.toString()
    : bytes
        .subarray(0, previewBytesMax)
        .toString()
        .replace(/\ufffd$/, '')
}

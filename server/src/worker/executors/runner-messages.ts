// Reads the messages from the runner of a bundle's function, and turns the end of the runner into the attempt's result.

import { LOG_LEVELS } from '@carillon/contract/constants.ts'
import { messageLengthMax } from '../../domain/queue/attempt.ts'
import { isObject } from '../../lib/is-object.ts'
import { storable } from '../../lib/storable.ts'
import type { ExecutorResult } from '../../ports/executor.ts'
import { wordOf } from './command-end.ts'
import { type CommandWords, cutPreview } from './command-output.ts'
import type { CommandEnd } from './command-process.ts'

export class RunnerWords {
  readonly #words: CommandWords
  #last: { result: string | null } | { error: RunnerError } | null = null

  constructor(words: CommandWords) {
    this.#words = words
  }

  /** The bundle's own code can write here too: a line in any other form is ignored. */
  take(line: string): void {
    const word = read(line)
    if (word === null) return
    const { note, log, error, result } = word
    if (isObject(note)) this.#words.note(note)
    else if (Array.isArray(log)) {
      this.#words.log(LOG_LEVELS.find((one) => one === log[0]) ?? 'info', String(log[1]))
    } else if (isObject(error)) {
      this.#last = { error }
      if (typeof error['stack'] === 'string') this.#words.log('error', error['stack'])
    } else if (result !== undefined) this.#last = { result: typeof result === 'string' ? result : null }
  }

  wordOf(end: CommandEnd): ExecutorResult {
    const preview = this.#words.preview()
    if (end.kind !== 'exited' || end.code !== 0) return wordOf(end, preview)
    if (this.#last === null) {
      return { error: { type: 'EXIT_CODE', message: 'Exited before the function had returned' }, preview }
    }
    if ('error' in this.#last) return failed(this.#last.error, preview)
    const { result } = this.#last
    return { error: null, preview: result === null ? null : cutPreview(result) }
  }
}

interface RunnerError {
  isFinal?: unknown
  message?: unknown
  retryAfterMs?: unknown
}

function failed({ isFinal, message, retryAfterMs }: RunnerError, preview: string | null): ExecutorResult {
  const text = storable(String(message ?? '')) || 'The function failed without a message'
  const word: ExecutorResult = {
    error: { type: 'HANDLER_ERROR', message: text.slice(0, messageLengthMax) },
    preview,
  }
  if (isFinal === true) word.isFinal = true
  if (typeof retryAfterMs === 'number' && retryAfterMs >= 0) word.retryAfterMs = retryAfterMs
  return word
}

function read(line: string): Record<string, unknown> | null {
  try {
    const word: unknown = JSON.parse(line)
    return isObject(word) ? word : null
  } catch {
    return null
  }
}

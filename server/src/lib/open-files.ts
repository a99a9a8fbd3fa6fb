// How many files and sockets this process may have open, and the notice when there is room for no more.
import { closeSync, openSync, readFileSync } from 'node:fs'

/** Where the system does not say: a usual limit. */
const assumedMax = 1_024

/** Node has raised the limit of its process as far as it may by the time this is read. */
export function readOpenFilesMax(file = '/proc/self/limits'): number {
  let text: string
  try {
    text = readFileSync(file, 'latin1')
  } catch {
    return assumedMax
  }
  const limit = /^Max open files +(\d+|unlimited)/m.exec(text)?.[1]
  if (limit === undefined) return assumedMax
  return limit === 'unlimited' ? Infinity : Number(limit)
}

export const probeFilesEveryMs = 10_000
const noticeMs = 60_000

/** Notices that the process (EMFILE) or the machine (ENFILE) has no file descriptor left, and says so once a minute. */
export class OpenFilesWatch {
  readonly #nowMs: () => number
  readonly #onExhausted: (code: string) => void
  readonly #probedFile: string
  #quietUntilMs = -Infinity

  /** `nowMs`: a monotonic clock. */
  constructor(nowMs: () => number, onExhausted: (code: string) => void, probedFile = '/dev/null') {
    this.#nowMs = nowMs
    this.#onExhausted = onExhausted
    this.#probedFile = probedFile
  }

  /** Any error: most are none of its business. */
  note({ code = '' }: Error & { code?: string }): void {
    if (code !== 'EMFILE' && code !== 'ENFILE') return
    if (this.#nowMs() < this.#quietUntilMs) return
    this.#quietUntilMs = this.#nowMs() + noticeMs
    this.#onExhausted(code)
  }

  /** Opens a file. A server that can accept no more connections closes them, and its program hears nothing of it. */
  probe(): void {
    try {
      closeSync(openSync(this.#probedFile, 'r'))
    } catch (error) {
      this.note(error as Error)
    }
  }
}

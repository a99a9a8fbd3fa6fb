// A small file of the system that is read again when it has changed. It is looked at once a second at most, and only by a
// caller that needs it: a look takes microseconds, and no thread of the pool.
import { readFileSync, statSync } from 'node:fs'

const lookMs = 1_000

export class WatchedFile<T> {
  readonly #path: string
  readonly #parse: (text: string) => T
  readonly #nowMs: () => number
  #content: T
  #version: string | null
  #lookedMs: number

  /** A file that does not exist is an empty one. `nowMs`: a monotonic clock. */
  constructor(path: string, parse: (text: string) => T, nowMs: () => number) {
    this.#path = path
    this.#parse = parse
    this.#nowMs = nowMs
    this.#lookedMs = nowMs()
    this.#version = versionOf(path)
    this.#content = parse(textOf(path) ?? '')
  }

  /** The same object as before unless the file has changed and can be read. */
  read(): T {
    const nowMs = this.#nowMs()
    if (nowMs - this.#lookedMs < lookMs) return this.#content
    this.#lookedMs = nowMs
    const version = versionOf(this.#path)
    if (version === this.#version) return this.#content
    const text = textOf(this.#path)
    if (text !== null) {
      this.#version = version
      this.#content = this.#parse(text)
    }
    return this.#content
  }
}

/** Null: it cannot be looked at, for instance because another user's directory is in the way. */
function versionOf(path: string): string | null {
  try {
    const stat = statSync(path, { throwIfNoEntry: false })
    return stat === undefined ? '' : `${stat.ino} ${stat.size} ${stat.mtimeMs}`
  } catch {
    return null
  }
}

/** Null: it is there and cannot be read, for instance for want of a file descriptor. */
function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? '' : null
  }
}

// The idle connections of all origins together, each a file descriptor: beyond a bound, the one that was idle for longest is
// closed. A list through the connections themselves: every call takes one out and puts it back, and allocates nothing.
import type { HttpConnection } from './connection.ts'

export class IdleConnections {
  readonly #countMax: number
  #count = 0
  #oldest: HttpConnection | null = null
  #newest: HttpConnection | null = null

  constructor(countMax: number) {
    this.#countMax = countMax
  }

  /** A connection that is not in it. */
  add(connection: HttpConnection): void {
    connection.isIdle = true
    connection.olderIdle = this.#newest
    if (this.#newest === null) this.#oldest = connection
    else this.#newest.newerIdle = connection
    this.#newest = connection
    this.#count += 1
    // Its owner hears that it is closed, and removes it.
    if (this.#count > this.#countMax) this.#oldest!.destroy()
  }

  /** Does nothing if it is not there. */
  remove(connection: HttpConnection): void {
    if (!connection.isIdle) return
    const { olderIdle, newerIdle } = connection
    if (olderIdle === null) this.#oldest = newerIdle
    else olderIdle.newerIdle = newerIdle
    if (newerIdle === null) this.#newest = olderIdle
    else newerIdle.olderIdle = olderIdle
    connection.isIdle = false
    connection.olderIdle = null
    connection.newerIdle = null
    this.#count -= 1
  }
}

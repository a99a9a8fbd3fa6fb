// Tells a call to stop. There is one for each call, and nearly none is ever used: an AbortController with a listener is
// five times as large and outlives two garbage collections ([m] a seventh of the objects that survived the first one).

/** The receiving side of a stop; an AbortSignal is one too. */
export interface StopSignal {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

export class Stop implements StopSignal {
  aborted = false
  #listener: (() => void) | null = null

  abort(): void {
    if (this.aborted) return
    this.aborted = true
    const listener = this.#listener
    this.#listener = null
    listener?.()
  }

  /** One at a time. */
  addEventListener(_type: 'abort', listener: () => void): void {
    if (this.#listener !== null) throw new Error('somebody listens already')
    this.#listener = listener
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    if (this.#listener === listener) this.#listener = null
  }
}

// Errors with which a handler says more than that it failed. Known by a mark and not by their class: a handler may bring
// its own copy of this package.
import { retryAfterMsMax } from '#contract/constants.ts'

const finalMark = Symbol.for('carillon.error.final')
const retryAfterMark = Symbol.for('carillon.error.retryAfterMs')

/** Trying again is no use: the execution fails at once. */
export class NonRetriableError extends Error {
  readonly [finalMark] = true

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'NonRetriableError'
  }
}

/** Try again, but not before so long. At most an hour counts. */
export class RetryAfterError extends Error {
  readonly [retryAfterMark]: number

  constructor(message: string, retryAfterMs: number, options?: ErrorOptions) {
    super(message, options)
    this.name = 'RetryAfterError'
    if (!Number.isFinite(retryAfterMs) || retryAfterMs < 0) {
      throw new TypeError(`retryAfterMs is ${retryAfterMs}: it must be milliseconds.`)
    }
    this[retryAfterMark] = Math.round(retryAfterMs)
  }
}

export function readMarks(error: unknown): { isFinal: boolean; retryAfterMs: number | null } {
  if (typeof error !== 'object' || error === null) return { isFinal: false, retryAfterMs: null }
  const { [finalMark]: isFinal, [retryAfterMark]: retryAfterMs } = error as Partial<
    NonRetriableError & RetryAfterError
  >
  return {
    isFinal: isFinal === true,
    retryAfterMs: typeof retryAfterMs === 'number' ? Math.min(retryAfterMs, retryAfterMsMax) : null,
  }
}

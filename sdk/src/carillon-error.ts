// Errors of a call: a refusal with the server's problem document, or no answer at all.
import type { FieldError, Problem } from '#contract/problem.ts'

/** Stable, made for programs; docs/errors.md has all of them. */
export type ErrorCode = Problem['code']

export interface CarillonErrorOptions extends ErrorOptions {
  /** Null: nobody answered. */
  status: number | null
  problem: Problem | null
  /** The delay that the server asked for in `Retry-After`; null: none. */
  retryAfterMs?: number | null
}

/** A call that was refused. */
export class CarillonError extends Error {
  /** The server's problem document; null when something else answered, or nobody. */
  readonly problem: Problem | null
  /** Of the HTTP answer; null: there was none. */
  readonly status: number | null
  readonly retryAfterMs: number | null

  constructor(message: string, options: CarillonErrorOptions) {
    super(message, options)
    this.name = 'CarillonError'
    this.problem = options.problem
    this.status = options.status
    this.retryAfterMs = options.retryAfterMs ?? null
  }

  /** Why, for programs; null when the answer was not the server's own. */
  get code(): ErrorCode | null {
    return this.problem?.code ?? null
  }

  /** The fields that are wrong; empty when it is not about fields. */
  get errors(): readonly FieldError[] {
    return this.problem?.errors ?? []
  }
}

/** Nobody answered, or not in time, or not in our language. The requested action may have been done. */
export class ConnectionError extends CarillonError {
  constructor(message: string, options: ErrorOptions & { status?: number | null } = {}) {
    super(message, { status: null, ...options, problem: null })
    this.name = 'ConnectionError'
  }
}

/** The server knows the caller, and refused the content of the request. */
export function isAboutContent(error: unknown): error is CarillonError {
  return (
    error instanceof CarillonError && [400, 413, 422].includes(error.status ?? 0) && error.problem !== null
  )
}

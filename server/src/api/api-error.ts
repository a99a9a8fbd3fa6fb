// An expected refusal: a code of the registry, what is wrong this time, and which fields.
import type { ErrorCode } from '@carillon/contract/errors.ts'
import type { FieldError } from '@carillon/contract/problem.ts'

export class ApiError extends Error {
  readonly code: ErrorCode
  readonly errors: readonly FieldError[]

  constructor(code: ErrorCode, detail: string, errors: readonly FieldError[] = []) {
    super(detail)
    this.name = 'ApiError'
    this.code = code
    this.errors = errors
  }
}

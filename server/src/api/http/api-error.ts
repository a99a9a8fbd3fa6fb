// An expected refusal: a code of the registry, the problem in this case, its fields, and further hints.
import type { ErrorCode } from '@carillon/contract/errors.ts'
import type { FieldError } from '@carillon/contract/problem.ts'
import type { ExecutionStatus } from '../../domain/queue/execution.ts'

interface Circumstances {
  retryAfterSeconds?: number | null
  executionStatus?: ExecutionStatus | null
  errorsOmitted?: number
}

export class ApiError extends Error {
  readonly code: ErrorCode
  readonly errors: readonly FieldError[]
  /** Sent as `Retry-After`. */
  readonly retryAfterSeconds: number | null
  /** Where the execution is that the request is about. */
  readonly executionStatus: ExecutionStatus | null
  /** Errors that were found and are not in `errors`. */
  readonly errorsOmitted: number

  constructor(
    code: ErrorCode,
    detail: string,
    errors: readonly FieldError[] = [],
    { retryAfterSeconds = null, executionStatus = null, errorsOmitted = 0 }: Circumstances = {},
  ) {
    super(detail)
    this.name = 'ApiError'
    this.code = code
    this.errors = errors
    this.retryAfterSeconds = retryAfterSeconds
    this.executionStatus = executionStatus
    this.errorsOmitted = errorsOmitted
  }
}

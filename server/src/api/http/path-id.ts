// Ids in a path. Text that is no UUID names nothing, so it is not found rather than malformed; it never reaches the
// store, which would fail on it.
import { ApiError } from './api-error.ts'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** As the store writes it, or null. */
export function readId(text: string): string | null {
  const lower = text.toLowerCase()
  return uuid.test(lower) ? lower : null
}

export function jobNotFound(given: string): ApiError {
  return new ApiError('JOB_NOT_FOUND', `There is no job ${given.slice(0, 64)}.`)
}

export function jobDeleted(jobId: string): ApiError {
  return new ApiError('JOB_DELETED', `The job ${jobId} is deleted.`)
}

/** The job id of a path. */
export function readJobId({ job_id: given }: { job_id: string }): string {
  const jobId = readId(given)
  if (jobId === null) throw jobNotFound(given)
  return jobId
}

export function executionNotFound(given: string): ApiError {
  return new ApiError('EXECUTION_NOT_FOUND', `There is no execution ${given.slice(0, 64)}.`)
}

/** The execution id of a path. */
export function readExecutionId({ execution_id: given }: { execution_id: string }): string {
  const executionId = readId(given)
  if (executionId === null) throw executionNotFound(given)
  return executionId
}

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

// Ids in a path. Text that is no id names nothing, so it is not found rather than malformed; it never reaches the
// store, which would fail on it.
import type { ErrorCode } from '@carillon/contract/errors.ts'
import { ApiError } from './api-error.ts'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** As the store writes it, or null. */
export function readId(text: string): string | null {
  const lower = text.toLowerCase()
  return uuid.test(lower) ? lower : null
}

/** How things of one kind are named in paths: by UUIDs, or by names of this pattern. */
export function named(code: ErrorCode, noun: string, pattern?: RegExp) {
  const shownMax = pattern === undefined ? 64 : 128
  const notFound = (given: string) => new ApiError(code, `There is no ${noun} ${given.slice(0, shownMax)}.`)
  return {
    notFound,
    /** The id of a path, as the store writes it. */
    read(given: string): string {
      const id = pattern === undefined ? readId(given) : pattern.test(given) ? given : null
      if (id === null) throw notFound(given)
      return id
    },
    /** The thing that the store has under this id. */
    found<Thing>(thing: Thing | null, id: string): Thing {
      if (thing === null) throw notFound(id)
      return thing
    },
  }
}

export const aJob = named('JOB_NOT_FOUND', 'job')
export const anExecution = named('EXECUTION_NOT_FOUND', 'execution')

export function jobDeleted(jobId: string): ApiError {
  return new ApiError('JOB_DELETED', `The job ${jobId} is deleted.`)
}

// Which jobs and which dead letters: from what was sent to what the stores ask for, and back.
import type { DeadLetterListQuery } from '@carillon/contract/dead-letter.ts'
import type { JobListQuery } from '@carillon/contract/job.ts'
import type { JobFilter, LetterFilter } from '../domain/operation.ts'
import { epochMs, toRfc3339 } from '../lib/epoch.ts'
import { readDateRange } from './date-range.ts'

export function toJobFilter({ status, tag, q }: Pick<JobListQuery, 'status' | 'tag' | 'q'>): JobFilter {
  return { status: status ?? null, tag: tag ?? null, q: q ?? null }
}

/** `place`: the pointer to what holds it, if it is not the query string. */
export function toLetterFilter(
  given: Omit<DeadLetterListQuery, 'limit' | 'cursor'>,
  place = '',
): LetterFilter {
  const { job_id: jobId, reason, error_type: errorType } = given
  return {
    jobId: jobId?.toLowerCase() ?? null,
    reason: reason ?? null,
    errorType: errorType ?? null,
    ...readDateRange(given, place),
  }
}

/** As it could have been sent. */
export function fromFilter(filter: JobFilter | LetterFilter): Record<string, unknown> {
  const given = 'q' in filter ? filter : fromLetterFilter(filter)
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
}

function fromLetterFilter({ jobId, reason, errorType, from, to }: LetterFilter) {
  return {
    job_id: jobId,
    reason,
    error_type: errorType,
    start_date: from === null ? null : toRfc3339(from),
    // The end is included in what is sent.
    end_date: to === null ? null : toRfc3339(epochMs(to - 1)),
  }
}

// Filters of jobs, dead letters, executions and slots: from a request to the queries of the stores, and back.
import type { DeadLetterListQuery } from '@carillon/contract/dead-letter.ts'
import type { JobListQuery } from '@carillon/contract/job.ts'
import type { CancelManyRequest } from '@carillon/contract/operation.ts'
import type {
  BackfillFilter,
  ExecutionFilter,
  JobFilter,
  LetterFilter,
  NewOperation,
} from '../../domain/jobs/operation.ts'
import { epochMs, toRfc3339, toRfc3339OrNull } from '../../lib/time/epoch.ts'
import { type DateRange, readDateRange } from '../http/date-range.ts'

export function toJobFilter({ status, tag, q }: Pick<JobListQuery, 'status' | 'tag' | 'q'>): JobFilter {
  return { status: status ?? null, tag: tag ?? null, q: q ?? null }
}

/** `place`: the pointer to the object that holds the filter, if it is not the query string. */
export function toLetterFilter(
  given: Omit<DeadLetterListQuery, 'limit' | 'cursor' | 'include'>,
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

/** Of a body. */
export function toExecutionFilter(given: CancelManyRequest['filter']): ExecutionFilter {
  const { job_id: jobId, error_type: errorType, status, kind, tag, q } = given
  return {
    jobId: jobId?.toLowerCase() ?? null,
    status: status ?? null,
    kind: kind ?? null,
    tag: tag ?? null,
    q: q ?? null,
    errorType: errorType ?? null,
    ...readDateRange(given, '/filter/'),
  }
}

/** As it could have been sent. */
export function fromFilter(operation: NewOperation): Record<string, unknown> {
  return Object.fromEntries(Object.entries(sentOf(operation)).filter(([, value]) => value !== null))
}

function sentOf(operation: NewOperation): object {
  switch (operation.kind) {
    case 'redrive':
      return fromLetterFilter(operation.filter)
    case 'cancel':
      return fromExecutionFilter(operation.filter)
    case 'backfill':
      return fromBackfillFilter(operation.filter)
    default:
      return operation.filter
  }
}

function fromLetterFilter({ jobId, reason, errorType, ...range }: LetterFilter) {
  return { job_id: jobId, reason, error_type: errorType, ...fromDateRange(range) }
}

function fromExecutionFilter({ jobId, status, kind, tag, q, errorType, ...range }: ExecutionFilter) {
  return { job_id: jobId, status, kind, tag, q, error_type: errorType, ...fromDateRange(range) }
}

function fromBackfillFilter({ jobId, from, to }: BackfillFilter) {
  return { job_id: jobId, from: toRfc3339(from), to: toRfc3339(to) }
}

function fromDateRange({ from, to }: DateRange) {
  return {
    start_date: toRfc3339OrNull(from),
    // On the wire, the end is included.
    end_date: to === null ? null : toRfc3339(epochMs(to - 1)),
  }
}

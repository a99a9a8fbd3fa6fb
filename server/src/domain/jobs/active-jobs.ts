// The jobs that count against the limit of a tier.
import type { JobView } from './job.ts'

/** A new job has no pause. */
type Countable = Pick<JobView, 'status'> & Partial<Pick<JobView, 'pause'>>

/**
 * Active ones, and paused ones with an end: such a pause ends without a request that could be refused. A job that is
 * paused until somebody resumes it counts again with the resume, and a completed one with an edit that gives it slots.
 */
export function countsAsActive({ status, pause = null }: Countable): boolean {
  return status === 'ACTIVE' || (status === 'PAUSED' && pause !== null && pause.until !== null)
}

/** The tenant has as many as its tier allows, or more. */
export interface ActiveJobsRefusal {
  refusal: 'active_jobs_full'
  used: number
}

export function isActiveJobsRefusal(outcome: object | string): outcome is ActiveJobsRefusal {
  return typeof outcome === 'object' && 'refusal' in outcome
}

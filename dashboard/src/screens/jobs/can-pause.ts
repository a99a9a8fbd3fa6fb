// Whether a pause of a job would hold anything back.
import type { Job } from '@carillon/contract/job.ts'

/** A job that runs once has no slot left when its execution begins, and is ACTIVE until that ends. */
export function canPause({ status, schedule }: Pick<Job, 'status' | 'schedule'>): boolean {
  if (status !== 'ACTIVE') return status === 'PAUSED'
  const runsOnce = schedule?.type === 'IMMEDIATE' || schedule?.type === 'ONE_TIME'
  return !(runsOnce && schedule.next_run_at === null)
}

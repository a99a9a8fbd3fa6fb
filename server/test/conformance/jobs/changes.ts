// The job changes that the suites make: the decisions that the API makes under the lock, without the API.

import assert from 'node:assert/strict'
import type { JobVersion, JobView } from '../../../src/domain/jobs/job.ts'
import {
  deleteJob,
  editJob,
  type JobState,
  type JobWrite,
  pauseJob,
  resumeJob,
} from '../../../src/domain/jobs/job-change.ts'
import type { EpochMs } from '../../../src/lib/time/epoch.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { Scenario } from '../scenario.ts'

export type Decision = (state: JobState) => JobWrite | null

/** Every second second. */
export const otherSchedule = { type: 'CRON', cron_expression: '*/2 * * * * *' } as const

export const edit =
  (changes: Partial<JobVersion> = {}, key?: string | null): Decision =>
  (state) =>
    // As the API does: a deleted job is left alone.
    state.status === 'DELETED'
      ? null
      : editJob(state, {
          by: 'editor',
          key: key === undefined ? state.key : key,
          version: versionAfter(state, changes),
        })

/** Anchored anew, as the API does it. */
export const editSchedule =
  (schedule: JobVersion['schedule'] = otherSchedule): Decision =>
  (state) =>
    edit({ schedule, anchorAt: state.now })(state)

export const pause =
  (reason: string | null = 'holidays', until: EpochMs | null = null): Decision =>
  (state) =>
    written(pauseJob(state, { by: 'pauser', reason, until }))

export const resume =
  (at: EpochMs | null = null): Decision =>
  (state) =>
    written(resumeJob(state, { by: 'resumer', at }))

export const remove: Decision = (state) => deleteJob(state, { by: 'deleter' })

/** Changes a job that is there. */
export async function change(
  s: Pick<Scenario, 'jobs'>,
  { tenantId, jobId }: Pick<NewJob, 'tenantId' | 'jobId'>,
  decide: Decision,
): Promise<JobView> {
  const view = await s.jobs.change({ tenantId, jobId }, decide)
  assert(typeof view === 'object' && 'status' in view, JSON.stringify(view))
  return view
}

/** A refused change leaves the job alone. */
function written(decided: JobWrite | string | null): JobWrite | null {
  return typeof decided === 'string' ? null : decided
}

/** The next version: as it is now, but for the changes. */
export function versionAfter(state: JobState, changes: Partial<JobVersion> = {}): JobVersion {
  return {
    jobId: state.jobId,
    version: state.version + 1,
    tenantId: state.tenantId,
    name: state.name,
    description: state.description,
    tags: state.tags,
    schedule: state.schedule,
    impliedDst: state.impliedDst,
    anchorAt: state.anchorAt,
    execution: state.execution,
    retryPolicy: state.retryPolicy,
    priority: state.priority,
    overlapPolicy: state.overlapPolicy,
    misfirePolicy: state.misfirePolicy,
    misfireWindowSeconds: state.misfireWindowSeconds,
    jitterSeconds: state.jitterSeconds,
    concurrencyLimit: state.concurrencyLimit,
    concurrencyKey: state.concurrencyKey,
    dependsOn: state.dependsOn,
    metadata: state.metadata,
    ...changes,
  }
}

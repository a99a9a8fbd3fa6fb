// Jobs that were paused until a time resume at it. A slot that comes between that time and our step is late, not
// skipped.
import { resumeJob } from '../domain/jobs/job-change.ts'
import type { Jobs } from '../ports/jobs.ts'

export interface ResumeDeps {
  jobs: Pick<Jobs, 'findResumable' | 'change'>
  /** Called after a commit that changed jobs. */
  onChanged: () => void
}

/** In one step, one after the other: a tenant whose turn comes with the next step waits for no more. */
const jobsMax = 20
export const resumePausedEveryMs = 1_000
/** Recorded as the actor when no person resumed the job. */
const ourselves = 'carillon'

export async function resumePaused({ jobs, onChanged }: ResumeDeps): Promise<'more' | 'idle'> {
  const found = await jobs.findResumable(jobsMax)
  let resumed = 0
  for (const { tenantId, jobId, until, at } of found) {
    await jobs.change({ tenantId, jobId }, (job) => {
      // It may have been resumed, or paused for longer, since we looked.
      if (job.status !== 'PAUSED' || job.pause?.until !== until) return null
      const write = resumeJob(job, { by: ourselves, at })
      if (write === null || typeof write === 'string') return null
      resumed += 1
      return write
    })
  }
  if (resumed > 0) onChanged()
  // Nothing resumed: other schedulers are doing the same.
  return found.length === jobsMax && resumed > 0 ? 'more' : 'idle'
}

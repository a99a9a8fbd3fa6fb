// Puts jobs that have a schedule into the API as they are defined: what is so already stays as it is.
import type { Client } from './client.ts'
import type { AnyJob } from './define-job.ts'
import { toJobRequest } from './job-request.ts'

/** Job ids by key. */
export async function putJobs(
  client: Pick<Client, 'jobs'>,
  jobs: readonly AnyJob[],
): Promise<Map<string, string>> {
  const ids = new Map<string, string>()
  for (const job of jobs.filter(({ schedule }) => schedule !== undefined)) {
    const { job_id: jobId } = await client.jobs.putByKey(job.key, toJobRequest(job))
    ids.set(job.key, jobId)
  }
  return ids
}

// Puts jobs that have a schedule, or run after others, into the API as they are defined: what is so already stays as it is.
import type { Client } from './client.ts'
import type { AnyJob } from './define-job.ts'
import { isPut, orderJobs } from './dependencies.ts'
import { toPutRequest } from './job-request.ts'

/** Also what they run after, whoever runs that. Job ids by key. */
export async function putJobs(
  client: Pick<Client, 'jobs'>,
  jobs: readonly AnyJob[],
): Promise<Map<string, string>> {
  const ids = new Map<string, string>()
  for (const job of orderJobs(jobs).filter(isPut)) {
    const { job_id: jobId } = await client.jobs.putByKey(job.key, toPutRequest(job, ids))
    ids.set(job.key, jobId)
  }
  return ids
}

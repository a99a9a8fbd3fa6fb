// Puts jobs that have a schedule, or run after others, into the API as they are defined: unchanged jobs stay as they
// are.
import type { Client } from './client.ts'
import type { AnyJob } from './define-job.ts'
import { isPut, orderJobs } from './dependencies.ts'
import { toPutRequest } from './job-request.ts'

/** Also puts their dependencies, regardless of the worker that runs them. Returns job ids by key. */
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

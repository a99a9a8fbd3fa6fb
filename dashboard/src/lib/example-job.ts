// The command that creates a job, for people with nothing to see yet.
import { chosenTenant } from '../api/client.ts'
import { curlOf } from './api-request.ts'

const hello = { name: 'hello', schedule: 'every 10 seconds', execution: { callback_url: 'ECHO' } }

/** In the tenant that the page shows. `ECHO` in the job stands for the echo of this server. */
export function exampleJob(job: object = hello): string {
  const body: unknown = JSON.parse(JSON.stringify(job).replaceAll('ECHO', `${location.origin}/echo`))
  return curlOf({ method: 'POST', path: '/jobs', body }, location.origin, chosenTenant.get())
}

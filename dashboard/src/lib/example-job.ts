// The command that creates a job, for people with nothing to see yet.

const hello = `{ "name": "hello", "schedule": "every 10 seconds", "execution": { "callback_url": "ECHO" } }`

/** `ECHO` in the job stands for the echo of this server. */
export function exampleJob(job = hello): string {
  return `curl ${location.origin}/api/v1/jobs -H "Authorization: Bearer $CARILLON_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${job.replace('ECHO', `${location.origin}/echo`)}'`
}

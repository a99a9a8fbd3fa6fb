// `carillon export`: the jobs as a file that `carillon apply` takes; applied at once it changes nothing.
import type { Job, JobListQuery } from '@carillon/contract/job.ts'
import type { Client } from '@carillon/sdk'
import type { Context } from './context.ts'
import { CliError, EXIT } from './exit-code.ts'
import { findJobs, findWholeJob } from './find-job.ts'
import { type Document, hasHidden, toDocument } from './job-document.ts'
import { calendarDocument } from './plan.ts'

const statuses = ['ACTIVE', 'PAUSED'] as const

export async function exportJobs(context: Context): Promise<undefined> {
  const { out, args, values, signal } = context
  const { patient: client } = await context.connect()
  const query: JobListQuery = { include: 'payload', limit: 200 }
  const tag = values.text('tag')
  if (tag !== undefined) query.tag = tag
  const search = values.text('search')
  if (search !== undefined) query.q = search
  // Keys of jobs that are not exported are needed, too: others run after them.
  const keys = new Map<string, string | null>()
  const jobs: Job[] = []
  for (const { job_id } of await findJobs(client, args)) jobs.push(await findWholeJob(client, job_id))
  if (args.length === 0)
    for (const status of statuses)
      for await (const job of client.jobs.list({ ...query, status }, { signal })) jobs.push(job)
  for (const { job_id, key } of jobs) keys.set(job_id, key)
  for (const { depends_on: parents } of jobs)
    for (const { job_id: id } of parents) if (!keys.has(id)) keys.set(id, (await client.jobs.get(id)).key)
  const keyed = jobs.filter(({ key }) => key !== null)
  const document: Document = {
    ...(await calendarsOf(keyed, client)),
    jobs: keyed
      .toSorted((a, b) => (a.key! < b.key! ? -1 : 1))
      .map((job) => toDocument(job, (id) => keys.get(id) ?? null)),
  }
  if (out.json) out.writeJson(document)
  else {
    const { stringify } = await import('yaml')
    out.write(stringify(document, { lineWidth: 0 }))
  }
  reportMissing(context, jobs, keyed)
  return
}

function reportMissing({ out, args }: Context, jobs: readonly Job[], keyed: readonly Job[]): void {
  const unkeyed = jobs.filter(({ key }) => key === null)
  if (unkeyed.length > 0) {
    const message = `${unkeyed.length} ${unkeyed.length === 1 ? 'job has' : 'jobs have'} no key and ${unkeyed.length === 1 ? 'is' : 'are'} left out; give one: carillon jobs edit ${unkeyed[0]!.job_id} --job-key KEY`
    if (args.length > 0) throw new CliError(EXIT.refused, message)
    out.say(`! ${message}`, 'warn')
  }
  const hidden = keyed.filter(hasHidden).length
  if (hidden > 0)
    out.say(
      `! ${hidden} ${hidden === 1 ? 'job has' : 'jobs have'} hidden header or environment values (***): this server keeps its stored values; fill them in for another server.`,
      'warn',
    )
}

async function calendarsOf(jobs: readonly Job[], client: Client): Promise<Document> {
  const named = jobs.flatMap(({ schedule }) =>
    (schedule?.exclusions ?? []).flatMap(({ calendar }) => calendar ?? []),
  )
  const calendars: Document = {}
  for (const name of [...new Set(named)].toSorted())
    calendars[name] = calendarDocument(await client.calendars.get(name))
  return Object.keys(calendars).length === 0 ? {} : { calendars }
}

// `carillon jobs list` and `carillon jobs get`.
import type { Job, JobDetails, JobListQuery } from '@carillon/contract/job.ts'
import type { Client } from '@carillon/sdk'
import type { Context } from './context.ts'
import { executionColumns } from './executions-show.ts'
import { findJob, wordOf } from './find-job.ts'
import { rateCell, writeRetries, writeSchedule, writeTarget } from './job-text.ts'
import { present } from './present.ts'
import { presentList } from './present-list.ts'
import type { Cell, ColumnOf } from './table.ts'
import { instantCell, writeAgo, writeDuration } from './times.ts'
import { statusCell } from './tone.ts'

const columns: readonly ColumnOf<Job>[] = [
  { title: 'JOB ID', wideOnly: true, cell: (job) => job.job_id },
  { title: 'KEY', flexible: true, cell: (job) => job.key ?? { text: '–', exact: '', tone: 'dim' } },
  { title: 'NAME', flexible: true, cell: (job) => job.name },
  { title: 'STATUS', cell: (job) => statusCell(job.status) },
  { title: 'SCHEDULE', flexible: true, cell: writeSchedule },
  { title: 'NEXT RUN', cell: ({ schedule }, nowMs) => instantCell(schedule?.next_run_at, nowMs) },
  {
    title: 'LAST RUN',
    spare: true,
    cell: ({ schedule }, nowMs) => instantCell(schedule?.last_run_at, nowMs),
  },
  { title: 'PRIORITY', align: 'right', wideOnly: true, cell: (job) => String(job.priority) },
  { title: 'TAGS', wideOnly: true, cell: (job) => job.tags.join(',') },
  { title: 'CALLS', wideOnly: true, cell: writeTarget },
]

export async function listJobs(context: Context): Promise<undefined> {
  const { values, signal } = context
  const { client } = await context.connect()
  const query = values.fields<JobListQuery>({ status: 'status', tag: 'tag', search: 'q' })
  return presentList(context, {
    name: 'jobs',
    list: (page) => client.jobs.list({ ...query, ...page }, { signal }),
    columns,
    none: Object.keys(query).length === 0 ? noJobs : ['No job matches.'],
  })
}

const noJobs = [
  'There are no jobs yet. The first one:',
  '  carillon jobs create --name hello --schedule "every 5 minutes" --callback-url http://127.0.0.1:7420/echo',
]

const recentCount = 5

export async function getJob(context: Context): Promise<undefined> {
  const { out, args, signal } = context
  const { client } = await context.connect()
  const { job_id: jobId } = await findJob(client, args[0]!)
  return present(context, async () => {
    const job = await client.jobs.get(jobId, { signal })
    if (out.json) return { json: job, text: () => '' }
    const { executions } = await client.executions
      .list({ job_id: jobId, limit: recentCount }, { signal })
      .page()
    const why = job.status === 'DELETED' ? null : (await client.jobs.why(jobId, {}, { signal })).answer
    const parents = await namesOfParents(client, job)
    const nowMs = Date.now()
    return {
      json: job,
      text: () =>
        out.fields(fieldsOf(job, { why, parents }, nowMs)) +
        (out.terminal && executions.length > 0 ? `\n${out.table(executionColumns, executions, nowMs)}` : ''),
    }
  })
}

const parentsShownMax = 10

async function namesOfParents(client: Client, { depends_on: parents }: Job): Promise<string[]> {
  const shown = await Promise.all(
    parents.slice(0, parentsShownMax).map(async ({ job_id: id, on }) => {
      return `${wordOf(await client.jobs.get(id))} (on ${on})`
    }),
  )
  const more = parents.length - shown.length
  return more === 0 ? shown : [...shown, `and ${more} more`]
}

function fieldsOf(
  job: JobDetails,
  { why, parents }: { why: string | null; parents: readonly string[] },
  nowMs: number,
): [string, Cell | null][] {
  const { schedule, pause, execution, stats } = job
  const soon = schedule?.next_run_at
  const paused = pause === null ? '' : ` since ${writeAgo(Date.parse(pause.since) - nowMs)} by ${pause.by}`
  const until = pause?.until == null ? '' : `, until ${pause.until}`
  const status = statusCell(job.status)
  const reason = pause?.reason == null ? '' : `: ${pause.reason}`
  return [
    ['name', { text: job.name, tone: 'bold' }],
    ['job id', job.job_id],
    ['key', job.key],
    ['description', job.description],
    ['status', { ...status, text: `${status.text}${paused}${until}${reason}` }],
    ['schedule', writeSchedule(job)],
    [
      'next run',
      soon == null ? null : { text: `${soon} (${writeAgo(Date.parse(soon) - nowMs)})`, exact: soon },
    ],
    ['last run', schedule?.last_run_at == null ? null : instantCell(schedule.last_run_at, nowMs)],
    ['runs after', parents.join('\n') || null],
    ['calls', writeTarget(job)],
    ['timeout', writeDuration(execution.timeout_seconds * 1_000)],
    ['payload', execution.payload === undefined ? null : JSON.stringify(execution.payload)],
    ['retries', writeRetries(job)],
    ['overlap', job.overlap_policy.toLowerCase()],
    ['misfire', job.misfire_policy.toLowerCase()],
    ['concurrency', job.concurrency_limit === null ? null : `${job.concurrency_limit} at once`],
    ['priority', String(job.priority)],
    ['tags', job.tags.join(', ') || null],
    ['history', rateCell(stats.success_rate, stats.total_runs)],
    ['takes', stats.avg_duration_ms === null ? null : `${writeDuration(stats.avg_duration_ms)} on average`],
    ['version', `${job.version}, by ${job.updated_by} ${writeAgo(Date.parse(job.updated_at) - nowMs)}`],
    ['partition', String(job.partition_id)],
    ['now', why],
  ]
}

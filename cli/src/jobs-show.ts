// `carillon jobs list` and `carillon jobs get`.
import type { Job, JobDetails, JobListQuery, ListedJob } from '@carillon/contract/job.ts'
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

const columns: readonly ColumnOf<ListedJob>[] = [
  { title: 'JOB ID', wideOnly: true, cell: (job) => job.job_id },
  { title: 'KEY', flexible: true, cell: (job) => job.key ?? { text: '–', exact: '', tone: 'dim' } },
  { title: 'NAME', flexible: true, cell: (job) => job.name },
  { title: 'STATUS', cell: (job) => statusCell(job.status) },
  { title: 'LAST RESULT', cell: (job, nowMs) => lastResultCell(job, nowMs) },
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
  const conditions = { status: 'status', health: 'health', tag: 'tag', search: 'q' } as const
  const given = values.fields<JobListQuery>(conditions)
  const isFirst = values.flag('failing-first') && given.health === undefined
  const query: JobListQuery = { ...given, ...(isFirst ? { sort: 'failing_first' } : {}) }
  return presentList(context, {
    name: 'jobs',
    list: (page) => client.jobs.list({ ...query, ...page }, { signal }),
    columns,
    facts: ({ health_as_of }) => ({ health_as_of }),
    none: Object.keys(given).length === 0 ? noJobs : ['No job matches.'],
  })
}

/** "✗ failed 3m ago (6)": how often in a row. Programs get the status alone. */
function lastResultCell(
  { last_execution: last, consecutive_failures: failures }: ListedJob,
  nowMs: number,
): Cell {
  if (last === null) return { text: '–', exact: '', tone: 'dim' }
  const cell = statusCell(last.status)
  const ago = writeAgo(Date.parse(last.finished_at) - nowMs)
  return { ...cell, text: `${cell.text} ${ago}${failures > 1 ? ` (${failures})` : ''}` }
}

function writeHealth(
  { last_execution: last, failing_since: since, ...job }: JobDetails,
  nowMs: number,
): Cell | null {
  if (last === null || job.health === null) return null
  if (since === null)
    return job.health === 'FLAKY' ? { text: 'flaky: succeeds, but not always at once', tone: 'warn' } : null
  const count = job.consecutive_failures
  const many =
    count === 1 ? 'failed' : `failed ${count} times in a row, since ${writeAgo(Date.parse(since) - nowMs)}`
  return { text: `${many}: ${last.error?.message ?? last.status}`, tone: 'bad' }
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
    ['health', writeHealth(job, nowMs)],
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

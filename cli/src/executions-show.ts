// `carillon executions list` and `carillon executions get`.
import type { Attempt, Execution, ExecutionItem, ExecutionSearchQuery } from '@carillon/contract/execution.ts'
import { targetOf } from '@carillon/contract/executors/list.ts'
import type { Context } from './context.ts'
import { CliError, EXIT } from './exit-code.ts'
import { findJob } from './find-job.ts'
import { moreOf, readLimit, readPages } from './pages.ts'
import { present } from './present.ts'
import type { Cell, Column } from './table.ts'
import { cut } from './text.ts'
import { durationCell, instantCell, readInstant, writeAgo, writeDuration } from './times.ts'
import { statusCell } from './tone.ts'

type Found = ExecutionItem & { job_name: string; job_id: string }

/** `withJob`: also shows the job of each execution. */
export function executionColumns(withJob: boolean): Column[] {
  return [
    { title: 'EXECUTION ID' },
    ...(withJob ? [{ title: 'JOB', flexible: true }] : []),
    { title: 'STATUS' },
    { title: 'DUE' },
    { title: 'TOOK', align: 'right' },
    { title: 'TRY', align: 'right', wideOnly: true },
    { title: 'KIND', wideOnly: true },
    { title: 'ERROR', flexible: true, spare: true },
    { title: 'STARTED', wideOnly: true },
    { title: 'FINISHED', wideOnly: true },
    ...(withJob ? [{ title: 'JOB ID', wideOnly: true }] : []),
  ]
}

export function executionRow(item: ExecutionItem, nowMs: number, job?: { name: string; id: string }): Cell[] {
  return [
    item.execution_id,
    ...(job === undefined ? [] : [job.name]),
    statusCell(item.status),
    instantCell(item.scheduled_time, nowMs),
    durationCell(item.duration_ms),
    String(item.attempt_number),
    item.kind,
    errorCell(item.error),
    instantCell(item.started_at, nowMs),
    instantCell(item.finished_at, nowMs),
    ...(job === undefined ? [] : [job.id]),
  ]
}

function errorCell(error: ExecutionItem['error']): Cell {
  if (error === null) return ''
  return {
    text: error.http_status === null ? error.type : `HTTP ${error.http_status}`,
    exact: `${error.type}: ${error.message}`,
    tone: 'bad',
  }
}

export async function listExecutions(context: Context): Promise<undefined> {
  const { out, values, signal } = context
  const { client } = await context.connect()
  if (values.text('status') === 'SKIPPED') return listSkipped(context)
  const query = await readQuery(context)
  const limit = readLimit(values)
  return present(context, async () => {
    const { items, pagination } = await readPages<Found>(limit, values.text('cursor'), async (page) => {
      const answer = await client.executions.list({ ...query, ...page }, { signal }).page()
      return { items: answer.executions, pagination: answer.pagination }
    })
    const nowMs = Date.now()
    const rows = items.map((item) => executionRow(item, nowMs, { name: item.job_name, id: item.job_id }))
    return {
      json: { executions: items, pagination },
      text: () => (rows.length === 0 ? '' : out.table(executionColumns(true), rows)),
      say: rows.length === 0 ? ['No execution matches.'] : moreOf(rows.length, pagination),
    }
  })
}

const skippedColumns: readonly Column[] = [
  { title: 'SLOT' },
  { title: 'STATUS' },
  { title: 'WHY', flexible: true },
  { title: 'EXECUTION ID', wideOnly: true },
]

/** Slots that have no execution, and executions that never got their turn: for a single job, as the API lists them. */
async function listSkipped(context: Context): Promise<undefined> {
  const { out, values, signal } = context
  const { client } = await context.connect()
  const { job_id: jobId, ...query } = await readQuery(context)
  if (jobId === undefined)
    throw new CliError(EXIT.usage, 'executions list: --status skipped needs --job JOB.')
  const limit = readLimit(values)
  return present(context, async () => {
    const { items, pagination } = await readPages(limit, values.text('cursor'), async (page) => {
      const answer = await client.jobs.executions(jobId, { ...query, ...page }, { signal }).page()
      return { items: answer.executions, pagination: answer.pagination }
    })
    const rows = items.map((item) => [
      item.scheduled_time,
      statusCell(item.status),
      'reason' in item ? item.reason : (item.skipped?.message ?? ''),
      item.execution_id ?? '',
    ])
    return {
      json: { executions: items, pagination },
      text: () => (rows.length === 0 ? '' : out.table(skippedColumns, rows)),
      say: rows.length === 0 ? ['No slot was skipped.'] : moreOf(rows.length, pagination),
    }
  })
}

/** The conditions of a list. */
async function readQuery(context: Context): Promise<ExecutionSearchQuery> {
  const { values } = context
  const query: Record<string, unknown> = {}
  const job = values.text('job')
  if (job !== undefined) query['job_id'] = (await findJob((await context.connect()).client, job)).job_id
  for (const [option, field] of [
    ['status', 'status'],
    ['kind', 'kind'],
    ['error', 'error_type'],
    ['tag', 'tag'],
    ['search', 'q'],
  ] as const) {
    const value = values.text(option)
    if (value !== undefined) query[field] = value
  }
  if (values.flag('dead')) query['dead_letter'] = true
  const since = values.text('since')
  if (since !== undefined) query['start_date'] = readInstant('since', since, 'past')
  const until = values.text('until')
  if (until !== undefined) query['end_date'] = readInstant('until', until, 'past')
  return query as ExecutionSearchQuery
}

export async function getExecution(context: Context): Promise<undefined> {
  const { out, args, signal } = context
  const { client } = await context.connect()
  return present(context, async () => {
    const execution = await client.executions.get(args[0]!, { signal })
    if (out.json) return { json: execution, text: () => '' }
    const job = await client.jobs.get(execution.job_id, { signal })
    const nowMs = Date.now()
    return {
      json: execution,
      text: () =>
        out.fields(fieldsOf(execution, job.name, nowMs)) +
        (out.terminal && execution.attempts.length > 0
          ? `\n${out.table(attemptColumns, execution.attempts.map(attemptRow))}`
          : ''),
    }
  })
}

const attemptColumns: readonly Column[] = [
  { title: 'TRY', align: 'right' },
  { title: 'OUTCOME' },
  { title: 'STARTED' },
  { title: 'TOOK', align: 'right' },
  { title: 'HTTP', align: 'right' },
  { title: 'ERROR', flexible: true },
  { title: 'WORKER', wideOnly: true },
]

function attemptRow(attempt: Attempt): Cell[] {
  const { outcome, error } = attempt
  return [
    String(attempt.attempt_number),
    statusCell(outcome.toUpperCase()),
    attempt.started_at ?? '',
    durationCell(attempt.duration_ms),
    attempt.http_status === null ? '' : String(attempt.http_status),
    error === null ? '' : { text: `${error.type}: ${error.message}`, tone: 'bad' },
    attempt.worker_id ?? '',
  ]
}

const answerLengthMax = 200

function answerCell({
  http_status: status,
  body_preview: body,
}: {
  http_status: number
  body_preview: string | null
}): Cell {
  const exact = `${status} ${body ?? ''}`
  return { text: cut(exact, answerLengthMax), exact }
}

function fieldsOf(execution: Execution, jobName: string, nowMs: number): [string, Cell | null][] {
  const { scheduled_time: due, started_at: started, error, progress, callback_response: answer } = execution
  const late =
    started === null
      ? ''
      : `, began ${writeDuration(Math.max(0, Date.parse(started) - Date.parse(due)))} later`
  const fraction = progress?.fraction == null ? '' : `${Math.round(progress.fraction * 100)} % `
  return [
    ['execution id', execution.execution_id],
    ['job', { text: jobName, tone: 'bold' }],
    ['job id', `${execution.job_id}, version ${execution.job_version}`],
    ['status', statusCell(execution.status)],
    ['due', { text: `${due} (${writeAgo(Date.parse(due) - nowMs)}${late})`, exact: due }],
    ['made by', execution.kind],
    ['attempt', String(execution.attempt_number)],
    ['took', execution.duration_ms === null ? null : durationCell(execution.duration_ms)],
    ['next attempt', execution.retry_at === null ? null : instantCell(execution.retry_at, nowMs)],
    ['progress', progress === null ? null : `${fraction}${progress.message ?? ''}`],
    ['error', error === null ? null : { text: `${error.type}: ${error.message}`, tone: 'bad' }],
    ['skipped', execution.skipped?.message ?? null],
    ['dead letter', execution.dead_letter ? { text: 'yes', tone: 'bad' } : null],
    ['calls', targetOf(execution)],
    ['payload', execution.payload === undefined ? null : JSON.stringify(execution.payload)],
    ['answer', answer === null ? null : answerCell(answer)],
    ['retry of', execution.retry_of],
    ['graph run', execution.graph_run_id],
    ['worker', execution.worker_id],
  ]
}

// `carillon executions list` and `carillon executions get`.
import type {
  Attempt,
  Execution,
  ExecutionItem,
  ExecutionSearchQuery,
  SkippedSlot,
} from '@carillon/contract/execution.ts'
import { targetOf } from '@carillon/contract/executors/list.ts'
import type { Context } from './context.ts'
import { CliError, EXIT } from './exit-code.ts'
import { jobOf } from './find-job.ts'
import { present } from './present.ts'
import { presentList } from './present-list.ts'
import type { Cell, ColumnOf } from './table.ts'
import { cut } from './text.ts'
import { durationCell, instantCell, readInstant, writeAgo, writeDuration } from './times.ts'
import { statusCell } from './tone.ts'

const idColumn: ColumnOf<ExecutionItem> = { title: 'EXECUTION ID', cell: (item) => item.execution_id }

const factColumns: readonly ColumnOf<ExecutionItem>[] = [
  { title: 'STATUS', cell: (item) => statusCell(item.status) },
  { title: 'DUE', cell: (item, nowMs) => instantCell(item.scheduled_time, nowMs) },
  { title: 'TOOK', align: 'right', cell: (item) => durationCell(item.duration_ms) },
  { title: 'TRY', align: 'right', wideOnly: true, cell: (item) => String(item.attempt_number) },
  { title: 'KIND', wideOnly: true, cell: (item) => item.kind },
  { title: 'ERROR', flexible: true, spare: true, cell: (item) => errorCell(item.error) },
  { title: 'STARTED', wideOnly: true, cell: (item, nowMs) => instantCell(item.started_at, nowMs) },
  { title: 'FINISHED', wideOnly: true, cell: (item, nowMs) => instantCell(item.finished_at, nowMs) },
]

/** Of executions of a single job. */
export const executionColumns = [idColumn, ...factColumns]

const columnsWithJob: readonly ColumnOf<ExecutionItem & { job_name: string; job_id: string }>[] = [
  idColumn,
  { title: 'JOB', flexible: true, cell: (item) => item.job_name },
  ...factColumns,
  { title: 'JOB ID', wideOnly: true, cell: (item) => item.job_id },
]

function errorCell(error: ExecutionItem['error']): Cell {
  if (error === null) return ''
  return {
    text: error.http_status === null ? error.type : `HTTP ${error.http_status}`,
    exact: `${error.type}: ${error.message}`,
    tone: 'bad',
  }
}

export async function listExecutions(context: Context): Promise<undefined> {
  const { values, signal } = context
  const { client } = await context.connect()
  if (values.text('status') === 'SKIPPED') return listSkipped(context)
  const query = await readQuery(context)
  return presentList(context, {
    name: 'executions',
    list: (page) => client.executions.list({ ...query, ...page }, { signal }),
    columns: columnsWithJob,
    none: ['No execution matches.'],
  })
}

const skippedColumns: readonly ColumnOf<ExecutionItem | SkippedSlot>[] = [
  { title: 'SLOT', cell: (item) => item.scheduled_time },
  { title: 'STATUS', cell: (item) => statusCell(item.status) },
  {
    title: 'WHY',
    flexible: true,
    cell: (item) => ('reason' in item ? item.reason : (item.skipped?.message ?? '')),
  },
  { title: 'EXECUTION ID', wideOnly: true, cell: (item) => item.execution_id ?? '' },
]

/** Slots that have no execution, and executions that never got their turn: for a single job, as the API lists them. */
async function listSkipped(context: Context): Promise<undefined> {
  const { client } = await context.connect()
  const { job_id: jobId, ...query } = await readQuery(context)
  if (jobId === undefined)
    throw new CliError(EXIT.usage, 'executions list: --status skipped needs --job JOB.')
  return presentList(context, {
    name: 'executions',
    list: (page) => client.jobs.executions(jobId, { ...query, ...page }, { signal: context.signal }),
    columns: skippedColumns,
    none: ['No slot was skipped.'],
  })
}

/** The conditions of a list. */
async function readQuery(context: Context): Promise<ExecutionSearchQuery> {
  const { values } = context
  const names = { status: 'status', kind: 'kind', error: 'error_type', tag: 'tag', search: 'q' }
  const query: ExecutionSearchQuery = { ...(await jobOf(context)), ...values.fields(names) }
  if (values.flag('dead')) query.dead_letter = true
  const workerId = values.text('worker')
  if (workerId !== undefined) query.worker_id = workerId
  const since = values.text('since')
  if (since !== undefined) query.start_date = readInstant('since', since, 'past')
  const until = values.text('until')
  if (until !== undefined) query.end_date = readInstant('until', until, 'past')
  return query
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
          ? `\n${out.table(attemptColumns, execution.attempts, nowMs)}`
          : ''),
    }
  })
}

const attemptColumns: readonly ColumnOf<Attempt>[] = [
  { title: 'TRY', align: 'right', cell: (attempt) => String(attempt.attempt_number) },
  { title: 'OUTCOME', cell: (attempt) => statusCell(attempt.outcome.toUpperCase()) },
  { title: 'STARTED', cell: (attempt) => attempt.started_at ?? '' },
  { title: 'TOOK', align: 'right', cell: (attempt) => durationCell(attempt.duration_ms) },
  { title: 'HTTP', align: 'right', cell: (attempt) => String(attempt.http_status ?? '') },
  { title: 'USED', align: 'right', wideOnly: true, cell: ({ usage }) => usedText(usage) },
  { title: 'ERROR', flexible: true, cell: (attempt) => wholeErrorCell(attempt.error) ?? '' },
  { title: 'WORKER', wideOnly: true, cell: (attempt) => attempt.worker_id ?? '' },
]

/** CPU time of a command; bytes sent and received of a call. */
function usedText(usage: Attempt['usage']): string {
  const { cpu_ms: cpuMs = null, bytes_sent: sent = null, bytes_received: received = null } = usage ?? {}
  const parts = cpuMs === null ? [] : [`${writeDuration(cpuMs)} CPU`]
  if (sent !== null || received !== null) parts.push(`${sent ?? '?'}+${received ?? '?'} B`)
  return parts.join(', ')
}

function wholeErrorCell(error: Attempt['error']): Cell | null {
  return error === null ? null : { text: `${error.type}: ${error.message}`, tone: 'bad' }
}

const answerLengthMax = 200

function answerCell(answer: NonNullable<Execution['callback_response']>): Cell {
  const exact = `${answer.http_status} ${answer.body_preview ?? ''}`
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
    ['error', wholeErrorCell(error)],
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

// `carillon next`: when would this schedule run? For a person a sentence and a table; with --json the preview as
// the API gives it; with --stdin one JSON answer per JSON line, in order, for programs that ask thousands.
import type { Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import { previewSchedule } from '@carillon/server/domain/schedule/preview.ts'
import type { ScheduleError } from '@carillon/server/domain/schedule/schedule-error.ts'
import { epochMs } from '@carillon/server/lib/epoch.ts'
import { answerLines } from './next-lines.ts'

export interface NextStreams {
  stdin: AsyncIterable<Uint8Array | string>
  stdout: Writable
  stderr: Writable
}

const usage = `Usage: carillon next EXPR [--tz ZONE] [--from INSTANT] [--count N] [--json]
       carillon next --stdin

EXPR is cron, an ISO 8601 interval, or English: "every weekday at 9:00 in London".
--stdin reads lines {"expr","tz","from","count","dst_gap"?,"dst_fold"?}.
`

/** The exit code: 0, 1 when the schedule is refused, 2 when the command line is wrong. */
export async function runNext(args: string[], io: NextStreams): Promise<number> {
  let parsed: ReturnType<typeof readArgs>
  try {
    parsed = readArgs(args)
  } catch (error) {
    return misused(io, (error as Error).message)
  }
  const { values, positionals } = parsed
  if (values.help === true) {
    io.stdout.write(usage)
    return 0
  }
  if (values.stdin === true) {
    if (positionals.length > 0) return misused(io, '--stdin takes no expression')
    await answerLines(io, epochMs(Date.now()))
    return 0
  }
  if (positionals.length !== 1) return misused(io, 'give one expression, in quotes')
  const count = Number(values.count ?? '10')
  const preview = previewSchedule(
    { schedule: positionals[0]!, count, ...(values.from === undefined ? {} : { from: values.from }) },
    { now: epochMs(Date.now()), ...(values.tz === undefined ? {} : { timezone: values.tz }) },
  )
  if (!preview.ok) {
    if (values.json === true) io.stdout.write(`${JSON.stringify({ error: preview.error })}\n`)
    else io.stderr.write(writeError(preview.error, positionals[0]!))
    return 1
  }
  io.stdout.write(values.json === true ? `${JSON.stringify(preview.value)}\n` : writePreview(preview.value))
  return 0
}

function readArgs(args: string[]) {
  return parseArgs({
    args,
    allowPositionals: true,
    options: {
      tz: { type: 'string' },
      from: { type: 'string' },
      count: { type: 'string' },
      json: { type: 'boolean' },
      stdin: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  })
}

function misused(io: NextStreams, message: string): number {
  io.stderr.write(`carillon next: ${message}\n${usage}`)
  return 2
}

/** The message, and the expression with a mark under the character to blame. */
function writeError(error: ScheduleError, expression: string): string {
  const lines = [`${error.code}: ${error.message}`]
  if (error.position !== null && !/[\n\r]/.test(expression) && error.position <= expression.length) {
    lines.push(`  ${expression}`, `  ${' '.repeat(error.position)}^`)
  }
  if (error.allowed !== null) lines.push(`Allowed: ${error.allowed}`)
  if (error.suggestions.length > 0) lines.push('Try:', ...error.suggestions.map((one) => `  ${one}`))
  return `${lines.join('\n')}\n`
}

type Preview = Extract<ReturnType<typeof previewSchedule>, { ok: true }>['value']

function writePreview(preview: Preview): string {
  const { description, schedule, rule, next, warnings } = preview
  const what = schedule.cron_expression ?? schedule.interval ?? `${schedule.every_seconds} s`
  const rows = [
    ['UTC', 'local', ''],
    ...next.map((one) => [one.at, one.local, one.notes.map((note) => note.message).join(' ')]),
  ]
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]!.length)))
  const table = rows.map((row) =>
    `  ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ')}`.trimEnd(),
  )
  return [
    description,
    `${schedule.type}  ${what}  ${schedule.timezone ?? 'UTC'}`,
    rule.text,
    '',
    ...table,
    ...(warnings.length === 0 ? [] : ['', ...warnings.map((warning) => `! ${warning.message}`)]),
    '',
  ].join('\n')
}

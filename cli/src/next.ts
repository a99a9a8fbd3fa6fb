// `carillon next`: when would this schedule run? For a person a sentence and a table; with --json the preview as
// the API gives it; with --stdin one JSON answer per JSON line, in order, for programs that ask thousands.
import { previewSchedule } from '@carillon/server/domain/schedule/preview.ts'
import type { ScheduleError } from '@carillon/server/domain/schedule/schedule-error.ts'
import { epochMs } from '@carillon/server/lib/time/epoch.ts'
import type { Context } from './context.ts'
import { CliError, EXIT } from './exit-code.ts'
import { answerLines } from './next-lines.ts'

export async function runNext({ args, values, io, out }: Context): Promise<number> {
  const [expression] = args
  if (values.flag('stdin')) {
    if (expression !== undefined) throw misused('--stdin takes no expression.')
    await answerLines(io, epochMs(Date.now()))
    return EXIT.ok
  }
  if (expression === undefined) throw misused('give one expression, in quotes.')
  const from = values.text('from')
  const zone = values.text('zone')
  const preview = previewSchedule(
    {
      schedule: expression,
      count: Number(values.text('count') ?? '10'),
      ...(from === undefined ? {} : { from }),
    },
    { now: epochMs(Date.now()), ...(zone === undefined ? {} : { timezone: zone }) },
  )
  if (!preview.ok) {
    if (out.json) out.write(`${JSON.stringify({ error: preview.error })}\n`)
    else io.stderr.write(writeError(preview.error, expression))
    return EXIT.refused
  }
  out.write(out.json ? `${JSON.stringify(preview.value)}\n` : writePreview(preview.value))
  return EXIT.ok
}

function misused(message: string): CliError {
  return new CliError(EXIT.usage, `next: ${message}`, ['Usage: carillon next EXPR. Try carillon next --help'])
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

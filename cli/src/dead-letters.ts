// `carillon dead-letters list|redrive`: lists executions that failed for good, and runs them again.
import type { DeadLetter, DeadLetterListQuery, RedriveRequest } from '@carillon/contract/dead-letter.ts'
import type { Context } from './context.ts'
import { CliError, EXIT } from './exit-code.ts'
import { readFilter, writeFilter } from './filter.ts'
import { findJob, jobOf } from './find-job.ts'
import { runBulk } from './follow-operation.ts'
import { presentList } from './present-list.ts'
import { Progress } from './progress.ts'
import type { Cell, ColumnOf } from './table.ts'
import { instantCell, readInstant, writeAgo } from './times.ts'

const columns: readonly ColumnOf<DeadLetter>[] = [
  { title: 'EXECUTION ID', cell: (letter) => letter.execution_id },
  { title: 'JOB', flexible: true, cell: (letter) => letter.job_name },
  { title: 'GIVEN UP', cell: (letter, nowMs) => instantCell(letter.dlq_timestamp, nowMs) },
  { title: 'TRIES', align: 'right', cell: (letter) => String(letter.total_attempts) },
  { title: 'LAST ERROR', flexible: true, cell: lastErrorCell },
  { title: 'REASON', wideOnly: true, cell: (letter) => letter.dlq_reason },
  { title: 'JOB ID', wideOnly: true, cell: (letter) => letter.job_id },
]

export async function listDeadLetters(context: Context): Promise<undefined> {
  const { values, signal } = context
  const { client } = await context.connect()
  const since = values.text('since')
  const query: DeadLetterListQuery = {
    ...(await jobOf(context)),
    ...values.fields({ error: 'error_type', reason: 'reason' }),
    ...(since !== undefined && { start_date: readInstant('since', since, 'past') }),
  }
  return presentList(context, {
    name: 'dead_letters',
    list: (page) => client.deadLetters.list({ ...query, ...page }, { signal }),
    columns,
    none: ['No dead letters.'],
    facts: ({ oldest_at }) => ({ oldest_at }),
    remarks: ({ oldest_at: oldestAt, pagination: { total, total_capped: capped } }, nowMs) => {
      const oldest = oldestAt === null ? '' : `, the oldest ${writeAgo(Date.parse(oldestAt) - nowMs)}`
      return {
        before: `${total}${capped ? ' or more' : ''}${oldest}.`,
        after: 'Again: carillon dead-letters redrive ID, or --filter job=JOB, or --all',
      }
    },
  })
}

function lastErrorCell({ error_history: errors }: DeadLetter): Cell {
  const last = errors.at(-1)
  if (last === undefined) return ''
  const exact = `${last.type ?? ''}: ${last.message ?? ''}`
  return { text: last.http_status === null ? exact : `HTTP ${last.http_status}`, exact, tone: 'bad' }
}

const filterNames = {
  job: 'job_id',
  error: 'error_type',
  reason: 'reason',
  since: 'start_date',
  until: 'end_date',
}
/** In one call of the API. */
const redriveMax = 200

export async function redriveDeadLetters(context: Context): Promise<number | undefined> {
  const { out, args, values, signal } = context
  const filters = values.list('filter')
  const isBulk = filters.length > 0 || values.flag('all')
  if (isBulk === args.length > 0) {
    throw new CliError(
      EXIT.usage,
      isBulk
        ? 'give ids, or a --filter, not both.'
        : 'name the dead letters: by id, by --filter job=JOB, or --all.',
    )
  }
  const { client } = await context.connect()
  if (isBulk) {
    const filter = readFilter(filters, filterNames)
    if (filter['job_id'] !== undefined) filter['job_id'] = (await findJob(client, filter['job_id'])).job_id
    for (const [name, field] of [
      ['since', 'start_date'],
      ['until', 'end_date'],
    ] as const) {
      if (filter[field] !== undefined) filter[field] = readInstant(name, filter[field], 'past')
    }
    const rate = values.number('rate')
    const request = {
      filter: filter as NonNullable<RedriveRequest['filter']>,
      ...(rate === undefined ? {} : { rate_per_second: rate }),
    }
    return runBulk(context, client, {
      verb: 'Redrive',
      things: 'dead letters',
      which: writeFilter(filters),
      ask: ({ dryRun }) => client.deadLetters.redriveMany(request, { dryRun }),
    })
  }
  const dryRun = values.flag('dry-run')
  const reply = { redriven: [] as object[], not_found: [] as string[], job_deleted: [] as string[] }
  using bar = new Progress(context, 'Redrive')
  for (let i = 0; i < args.length; i += redriveMax) {
    const part = await client.deadLetters.redrive(args.slice(i, i + redriveMax), { dryRun, signal })
    reply.redriven.push(...part.redriven)
    reply.not_found.push(...part.not_found)
    reply.job_deleted.push(...part.job_deleted)
    bar.show(Math.min(i + redriveMax, args.length), args.length)
    if (out.json) continue
    for (const { execution_id: id, new_execution_id: next } of part.redriven)
      out.write(`${dryRun ? 'Would: ' : ''}${id} runs again: execution ${next}\n`)
    for (const id of part.not_found) out.say(`There is no dead letter ${id}.`, 'bad')
    for (const id of part.job_deleted)
      out.say(`The job of ${id} is deleted; the dead letter is kept.`, 'warn')
  }
  if (out.json) out.writeJson({ ...reply, dry_run: dryRun })
  if (reply.not_found.length > 0) return EXIT.notFound
  return reply.job_deleted.length > 0 ? EXIT.conflict : EXIT.ok
}

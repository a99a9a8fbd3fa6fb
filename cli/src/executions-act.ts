// `carillon executions logs|cancel|retry`.
import type { CancelManyRequest } from '@carillon/contract/operation.ts'
import type { Context } from './context.ts'
import { CliError, EXIT } from './exit-code.ts'
import { readFilter, writeFilter } from './filter.ts'
import { findJob } from './find-job.ts'
import { runBulk } from './follow-operation.ts'
import { readPayload } from './payload.ts'
import { cleanLines } from './text.ts'
import type { Tone } from './tone.ts'
import { waitForExecutions } from './wait-execution.ts'

const levelTones: Readonly<Record<string, Tone>> = { debug: 'dim', warn: 'warn', error: 'bad' }

export async function showLogs(context: Context): Promise<undefined> {
  const { out, args, values, signal } = context
  const { client } = await context.connect()
  const attempt = values.number('attempt')
  const follow = values.flag('follow')
  const query = { limit: 1_000, follow, ...(attempt === undefined ? {} : { attempt }) }
  let lines = 0
  for await (const line of client.executions.logs(args[0]!, query, { signal })) {
    lines++
    // A line of JSON each: a log that is followed has no end to put a bracket at.
    if (out.json) out.write(`${JSON.stringify(line)}\n`)
    else if (out.terminal) {
      const head = `${line.at}  ${line.attempt_number}  `
      const tone = levelTones[line.level]
      const message = cleanLines(line.message).replaceAll('\n', `\n${' '.repeat(head.length + 7)}`)
      out.write(`${out.paint(head, 'dim')}${out.paint(`${line.level.padEnd(5)}  ${message}`, tone)}\n`)
    } else {
      const message = cleanLines(line.message).replaceAll('\n', '\\n')
      out.write(`${line.at}\t${line.attempt_number}\t${line.level}\t${message}\n`)
    }
  }
  if (lines === 0) out.say('Its attempts have written no log lines.', 'dim')
  return
}

const filterNames = {
  job: 'job_id',
  status: 'status',
  kind: 'kind',
  error: 'error_type',
  tag: 'tag',
  search: 'q',
  q: 'q',
}

export async function cancelExecutions(context: Context): Promise<number | undefined> {
  const { out, args, values } = context
  const filters = values.list('filter')
  if (args.length > 0 === filters.length > 0)
    throw new CliError(EXIT.usage, 'name the executions: by id, or by --filter tag=TAG.')
  const { client } = await context.connect()
  if (filters.length > 0) {
    const filter = readFilter(filters, filterNames)
    if (filter['job_id'] !== undefined) filter['job_id'] = (await findJob(client, filter['job_id'])).job_id
    return runBulk(context, client, {
      verb: 'Cancel',
      things: 'executions',
      which: writeFilter(filters),
      ask: ({ dryRun }) =>
        client.executions.cancelMany({ filter: filter as CancelManyRequest['filter'] }, { dryRun }),
    })
  }
  const dryRun = values.flag('dry-run')
  const replies: object[] = []
  for (const id of args) {
    const reply = await client.executions.cancel(id, { dryRun })
    replies.push(reply)
    if (!out.json) out.write(`${dryRun ? 'Would: ' : ''}${id} is ${reply.status.toLowerCase()}.\n`)
  }
  if (out.json) out.writeJson({ executions: replies, dry_run: dryRun })
  return
}

export async function retryExecutions(context: Context): Promise<number | undefined> {
  const { out, args, values, io, signal } = context
  const { client } = await context.connect()
  const dryRun = values.flag('dry-run')
  const request = values.has('payload')
    ? { payload_override: await readPayload(values.text('payload')!, io) }
    : {}
  const replies: { execution_id: string }[] = []
  for (const id of args) {
    const reply = await client.executions.retry(id, request, { dryRun })
    replies.push(reply)
    if (!out.json) out.write(`${dryRun ? 'Would: ' : ''}${id} runs again: execution ${reply.execution_id}\n`)
  }
  if (!values.flag('wait') || dryRun) {
    if (out.json) out.writeJson({ executions: replies, dry_run: dryRun })
    return
  }
  const ids = replies.map(({ execution_id: id }) => id)
  const ended = await waitForExecutions(context, client, ids, signal)
  if (out.json) out.writeJson({ executions: ended, dry_run: false })
  return ended.every(({ status }) => status === 'SUCCEEDED') ? EXIT.ok : EXIT.failed
}

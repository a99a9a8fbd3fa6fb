// `carillon jobs pause|resume|delete|trigger`: of jobs by name, or of all that match a filter as one operation.
import type { Job } from '@carillon/contract/job.ts'
import type { BulkRequest } from '@carillon/contract/operation.ts'
import type { Client } from '@carillon/sdk'
import type { Command } from './command.ts'
import { confirm } from './confirm.ts'
import type { Context } from './context.ts'
import { CliError, EXIT } from './exit-code.ts'
import { readFilter, writeFilter } from './filter.ts'
import { findJobs, wordOf } from './find-job.ts'
import { runBulk } from './follow-operation.ts'
import { readPayload } from './payload.ts'
import { readInstant } from './times.ts'
import { waitForExecutions } from './wait-execution.ts'

const filterNames = { tag: 'tag', status: 'status', search: 'q', q: 'q' }
const verbs = { pause: 'Pause', resume: 'Resume', delete: 'Delete', trigger: 'Trigger' } as const
type Action = keyof typeof verbs

/** Parameters of the action besides its jobs. */
interface Request {
  reason?: string
  until?: string
  payload_override?: unknown
}

export function actOnJobs(action: Action): Awaited<ReturnType<Command['load']>> {
  return async (context) => {
    const { args, values } = context
    const filters = values.list('filter')
    const isBulk = filters.length > 0 || values.flag('all')
    if (isBulk === args.length > 0) {
      throw new CliError(
        EXIT.usage,
        isBulk
          ? 'name the jobs, or give a --filter, not both.'
          : 'name the job by id, key or name, or many by --filter tag=TAG.',
      )
    }
    const request = await readRequest(action, context)
    const { client } = await context.connect()
    if (isBulk && action === 'trigger' && values.has('count'))
      throw new CliError(EXIT.usage, '--count needs named jobs; it does not work with --filter or --all.')
    if (isBulk) {
      const filter = readFilter(filters, filterNames) as BulkRequest['filter']
      return runBulk(context, client, {
        verb: verbs[action],
        things: 'jobs',
        which: writeFilter(filters),
        ask: ({ dryRun }) => client.jobs.bulk({ action, filter, ...request }, { dryRun }),
      })
    }
    return actOnNamed(action, request, context, client)
  }
}

async function readRequest(action: Action, { values, io }: Context): Promise<Request> {
  const request: Request = {}
  if (action === 'pause') {
    const reason = values.text('reason')
    if (reason !== undefined) request.reason = reason
    const until = values.text('until')
    if (until !== undefined) request.until = readInstant('until', until, 'future')
  }
  if (action === 'trigger' && values.has('payload'))
    request.payload_override = await readPayload(values.text('payload')!, io)
  return request
}

async function actOnNamed(
  action: Action,
  request: Request,
  context: Context,
  client: Client,
): Promise<number | undefined> {
  const { out, args, values, signal } = context
  const jobs = await findJobs(client, args)
  const dryRun = values.flag('dry-run')
  if (action === 'delete' && !dryRun) await confirm(context, `Delete ${namesOf(jobs)}?`)
  const done: object[] = []
  const executionIds: string[] = []
  for (const job of jobs) {
    const { said, reply } = await actOnOne(action, job, request, { client, dryRun, context })
    if ('execution_id' in reply) executionIds.push(String(reply.execution_id))
    if ('execution_ids' in reply) executionIds.push(...(reply.execution_ids as string[]))
    done.push(reply)
    if (!out.json) out.write(`${out.paint(`${dryRun ? 'Would: ' : ''}${said}`, undefined)}\n`)
  }
  const waits = action === 'trigger' && values.flag('wait') && !dryRun
  if (!waits) {
    if (out.json) out.writeJson({ jobs: done, dry_run: dryRun })
    return
  }
  const ended = await waitForExecutions(context, client, executionIds, signal)
  if (out.json) out.writeJson({ jobs: done, executions: ended, dry_run: false })
  return ended.every(({ status }) => status === 'SUCCEEDED') ? EXIT.ok : EXIT.failed
}

async function actOnOne(
  action: Action,
  job: Job,
  request: Request,
  { client, dryRun, context }: { client: Client; dryRun: boolean; context: Context },
): Promise<{ said: string; reply: object }> {
  const { job_id: jobId } = job
  const word = wordOf(job)
  switch (action) {
    case 'pause': {
      const reply = await client.jobs.pause(jobId, request, { dryRun })
      const until = reply.pause?.until == null ? '' : ` until ${reply.pause.until}`
      return { said: `${word} is paused${until}.`, reply }
    }
    case 'resume': {
      const reply = await client.jobs.resume(jobId, { dryRun })
      return { said: `${word} is active; it runs next at ${reply.next_run_at ?? '(no time known)'}.`, reply }
    }
    case 'delete': {
      const cancelRunning = context.values.flag('cancel-running')
      const reply = await client.jobs.delete(jobId, { dryRun, cancelRunning })
      return { said: `${word} is deleted.`, reply }
    }
    case 'trigger': {
      const count = context.values.number('count')
      if (count !== undefined) return triggerMany(client, job, { ...request, count }, { dryRun })
      const reply = await client.jobs.trigger(jobId, request, { dryRun })
      return { said: `${word} is triggered: execution ${reply.execution_id}`, reply }
    }
  }
}

async function triggerMany(
  client: Client,
  job: Job,
  { count, ...request }: Request & { count: number },
  options: { dryRun: boolean },
): Promise<{ said: string; reply: object }> {
  const body =
    'payload_override' in request
      ? { payload_overrides: new Array<unknown>(count).fill(request.payload_override) }
      : { count }
  const reply = await client.jobs.triggerMany(job.job_id, body, options)
  const [first] = reply.execution_ids
  return { said: `${wordOf(job)} is triggered ${count} times: executions from ${first}`, reply }
}

function namesOf(jobs: readonly Job[]): string {
  const names = jobs.slice(0, 5).map(wordOf).join(', ')
  return jobs.length > 5 ? `${names} and ${jobs.length - 5} more` : names
}

// The options of `jobs create` and `jobs edit`, and the parts of a job that they become.
import {
  BACKOFFS,
  DEPENDENCY_RULES,
  executionDefaults,
  MISFIRE_POLICIES,
  OVERLAP_POLICIES,
} from '@carillon/contract/constants.ts'
import type { FieldsByName } from '@carillon/contract/executors/facts.ts'
import { EXECUTOR_FACTS, EXECUTORS, type Executor, fieldsOf } from '@carillon/contract/executors/list.ts'
import type { Client } from '@carillon/sdk'
import { list, number, type OptionSpecs, text } from './command.ts'
import type { Context } from './context.ts'
import { CliError, EXIT } from './exit-code.ts'
import { findJob } from './find-job.ts'
import type { Values } from './parse.ts'
import { readPayload } from './payload.ts'
import { readSeconds } from './times.ts'

export const jobFlags = {
  name: text('TEXT', 'the display name'),
  'job-key': text('KEY', 'your own unique identifier: a-z 0-9 . _ -'),
  description: text('TEXT', 'a note, shown with the job'),
  schedule: text('WHEN', 'cron, ISO 8601 or English ("weekdays at 9"); now or an instant: once', {
    short: 's',
  }),
  zone: text('ZONE', 'the time zone of the schedule, such as Europe/Berlin', { alias: 'tz' }),
  after: list('JOB[:RULE]', `run after this job; RULE: ${DEPENDENCY_RULES.join(', ')}`, { completes: 'job' }),
  ...executorFlags(),
  payload: text('JSON', 'the input: JSON, a text, @FILE, or - for stdin'),
  timeout: text('TIME', 'time-out of an attempt: 30s, 5m, 2h'),
  'total-timeout': text('TIME', 'total timeout, retries included'),
  'heartbeat-timeout': text('TIME', 'maximum time between heartbeats of an attempt'),
  retries: number('N', 'retries after the first attempt'),
  backoff: text('HOW', 'growth of the delay between attempts: fixed, linear, exponential', {
    choices: BACKOFFS,
  }),
  'retry-delay': text('TIME', 'delay before the first retry'),
  priority: number('N', '1 (highest) to 10'),
  tag: list('TAG', 'a tag to find the job by'),
  overlap: text(
    'POLICY',
    `policy while an earlier execution runs: ${OVERLAP_POLICIES.join(', ').toLowerCase()}`,
    { choices: OVERLAP_POLICIES },
  ),
  misfire: text('POLICY', `policy for missed slots: ${MISFIRE_POLICIES.join(', ').toLowerCase()}`, {
    choices: MISFIRE_POLICIES,
  }),
  jitter: text('TIME', 'delay slots by up to this'),
  concurrency: number('N', 'maximum number of executions at once'),
  metadata: list('NAME=VALUE', 'your own data; not interpreted'),
} as const satisfies OptionSpecs

type Part = Record<string, unknown>

/** The given options as a part of a job: a request when they are all there is, a merge patch otherwise. */
export async function readJobFlags({ values, io }: Context, client: () => Promise<Client>): Promise<Part> {
  const job: Part = {}
  const put = (target: Part, field: string, value: unknown) => {
    if (value !== undefined) target[field] = value
  }
  put(job, 'name', values.text('name'))
  put(job, 'key', values.text('job-key'))
  put(job, 'description', values.text('description'))
  put(job, 'schedule', await readSchedule(values))
  put(job, 'depends_on', await readParents(values, client))
  const execution = readTarget(values)
  if (values.has('payload')) execution['payload'] = await readPayload(values.text('payload')!, io)
  put(execution, 'timeout_seconds', secondsOf(values, 'timeout'))
  put(execution, 'total_timeout_seconds', secondsOf(values, 'total-timeout'))
  put(execution, 'heartbeat_timeout_seconds', secondsOf(values, 'heartbeat-timeout'))
  if (Object.keys(execution).length > 0) job['execution'] = execution
  const retryPolicy: Part = {}
  put(retryPolicy, 'max_retries', values.number('retries'))
  put(retryPolicy, 'backoff', values.text('backoff'))
  const delay = secondsOf(values, 'retry-delay')
  if (delay !== undefined) retryPolicy['initial_delay_ms'] = delay * 1_000
  if (Object.keys(retryPolicy).length > 0) job['retry_policy'] = retryPolicy
  put(job, 'priority', values.number('priority'))
  if (values.has('tag')) job['tags'] = values.list('tag')
  put(job, 'overlap_policy', values.text('overlap'))
  put(job, 'misfire_policy', values.text('misfire'))
  put(job, 'jitter_seconds', secondsOf(values, 'jitter'))
  put(job, 'concurrency_limit', values.number('concurrency'))
  if (values.has('metadata')) job['metadata'] = readPairs(values, 'metadata', '=')
  return job
}

async function readSchedule(values: Values): Promise<unknown> {
  const schedule = values.text('schedule')
  const zone = values.text('zone')
  const inZone = zone === undefined ? {} : { timezone: zone }
  if (schedule === undefined) return zone === undefined ? undefined : inZone
  if (schedule === 'now') return { type: 'IMMEDIATE' }
  if (/^\d{4}-\d\d-\d\dT[^/]*$/.test(schedule))
    return { type: 'ONE_TIME', scheduled_time: schedule, ...inZone }
  if (zone === undefined) return schedule
  // The API takes a zone only with a schedule object, not with a text: the text is compiled here, in that zone.
  const { compileSchedule } = await import('@carillon/server/domain/schedule/compile-schedule.ts')
  const { epochMs } = await import('@carillon/server/lib/time/epoch.ts')
  const answer = compileSchedule(schedule, { createdAt: epochMs(Date.now()), timezone: zone })
  if (answer.ok) return answer.value.definition
  const { message, suggestions } = answer.error
  throw new CliError(
    EXIT.refused,
    message,
    suggestions.length === 0 ? [] : [`Try: ${suggestions.join(' | ')}`],
  )
}

async function readParents(values: Values, client: () => Promise<Client>): Promise<unknown> {
  const words = values.list('after')
  if (words.length === 0) return undefined
  const found = await client()
  return Promise.all(
    words.map(async (word) => {
      const match = /^(.*):(\w+)$/s.exec(word)
      const rule =
        match !== null && (DEPENDENCY_RULES as readonly string[]).includes(match[2]!) ? match : null
      const { job_id } = await findJob(found, rule === null ? word : rule[1]!)
      return rule === null ? { job_id } : { job_id, on: rule[2] }
    }),
  )
}

function executorFlags(): OptionSpecs {
  const flags = EXECUTORS.flatMap(fieldsOf).flatMap(([, { shape, flag, ...field }]) => {
    if (flag === undefined) return []
    const { name, ...rest } = flag
    const choices = 'choices' in field && { choices: field.choices }
    return [[name, { kind: shape === 'text' ? 'text' : 'list', ...choices, ...rest }] as const]
  })
  return Object.fromEntries(flags)
}

/** The option that says which thing a job of this kind calls. */
export function targetFlag(type: Executor): string {
  const { fields, target } = EXECUTOR_FACTS[type]
  return (fields as FieldsByName)[target]!.flag!.name
}

function readTarget(values: Values): Part {
  const [type, ...more] = EXECUTORS.filter((kind) => values.has(targetFlag(kind)))
  if (type !== undefined && more.length > 0) {
    const given = [type, ...more].map(targetFlag).join(' or --')
    throw new CliError(EXIT.usage, `a job has one target: --${given}, not both.`)
  }
  const execution: Part = {}
  if (type !== undefined && type !== executionDefaults.type) execution['type'] = type
  for (const [name, field] of EXECUTORS.flatMap(fieldsOf)) {
    const option = field.flag?.name
    if (option === undefined || !values.has(option)) continue
    if (field.shape === 'text') execution[name] = values.text(option)
    else if (field.shape === 'list') execution[name] = values.list(option)
    else execution[name] = readPairs(values, option, field.separator)
  }
  return execution
}

function secondsOf(values: Values, option: string): number | undefined {
  const text = values.text(option)
  return text === undefined ? undefined : readSeconds(option, text)
}

function readPairs(values: Values, option: string, separator: string): Record<string, string> {
  return Object.fromEntries(
    values.list(option).map((text) => {
      const at = text.indexOf(separator)
      if (at < 1) throw new CliError(EXIT.usage, `--${option} is NAME${separator}VALUE, not "${text}".`)
      return [text.slice(0, at).trim(), text.slice(at + 1).trim()]
    }),
  )
}

// Other spellings of a job: the flat rows, field names and words of other schedulers, rewritten into the one form that
// the rest of the API knows. Pure, and before validation: a value that it does not understand stays, and is refused by
// the schema. Two spellings of one field must agree. docs/api.md has the table, which a test holds equal to the lists.
import { isDeepStrictEqual } from 'node:util'
import { retryDelayMsMax } from '@carillon/contract/constants.ts'
import { handlerForm } from '@carillon/contract/executors/worker.ts'
import { JobRequest } from '@carillon/contract/job.ts'
import { compileSchedule } from '../../domain/schedule/compile-schedule.ts'
import { knownZone } from '../../domain/schedule/zone.ts'
import { isObject } from '../../lib/is-object.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import { escapePointer, refuseField } from '../http/problem.ts'
import { foldWords, type WordTree, wordTreeOf } from '../http/words.ts'

type Fields = Record<string, unknown>
type Part = (typeof JOB_PARTS)[number]

interface Spelling {
  /** The field in this part of a job. */
  to: readonly [Part, string]
  /** The value there. Throws the refusal of a value that has none. */
  read?: (value: unknown, pointer: string) => unknown
  /** For the table of the documentation. */
  note?: string
}

/** Stands for CRON or INTERVAL until the other fields of the schedule are known. */
const recurring = 'RECURRING'

/** The fields of a job that may stand outside their part, or under another name, in the order in which they are read. */
export const OTHER_FIELDS: Readonly<Record<string, Spelling>> = {
  schedule_cron: { to: ['schedule', 'cron_expression'] },
  cron_expression: { to: ['schedule', 'cron_expression'] },
  scheduled_time: { to: ['schedule', 'scheduled_time'] },
  timezone: { to: ['schedule', 'timezone'], note: 'also beside a text' },
  schedule_type: { to: ['schedule', 'type'] },
  type: {
    to: ['schedule', 'type'],
    read: readType,
    note: '`one_time` is ONE_TIME, `recurring` is CRON or INTERVAL',
  },
  next_run_at: {
    to: ['schedule', 'scheduled_time'],
    note: 'of a job that runs once; otherwise it is computed, and refused',
  },
  executor_type: {
    to: ['execution', 'type'],
    read: readExecutorType,
    note: '`http_callback` is http, `kafka_topic` is kafka',
  },
  callback_url: { to: ['execution', 'callback_url'] },
  callback_method: { to: ['execution', 'method'] },
  headers: { to: ['execution', 'headers'] },
  handler: { to: ['execution', 'handler'], note: 'type worker; an http or https address is `callback_url`' },
  artifact_id: { to: ['execution', 'artifact_id'], note: 'type artifact' },
  entrypoint: { to: ['execution', 'entrypoint'] },
  payload: { to: ['execution', 'payload'] },
  timeout_seconds: { to: ['execution', 'timeout_seconds'] },
  timeout_sec: { to: ['execution', 'timeout_seconds'] },
  max_retries: { to: ['retry_policy', 'max_retries'] },
  max_attempts: {
    to: ['retry_policy', 'max_retries'],
    read: readAttempts,
    note: 'one less, because it counts the first attempt; also inside `retry_policy`',
  },
  retry_backoff: { to: ['retry_policy', 'backoff'] },
  retry_delay_ms: { to: ['retry_policy', 'initial_delay_ms'] },
  retry_delay_seconds: {
    to: ['retry_policy', 'initial_delay_ms'],
    read: readDelay,
    note: 'times 1,000; `max_delay_ms` becomes a day unless it is given, so that the delay can grow',
  },
  max_retry_delay_ms: { to: ['retry_policy', 'max_delay_ms'] },
}

/** `executor_config` has the fields of the execution, and these names for some of them. */
export const CONFIG_FIELDS: Readonly<Record<string, string>> = {
  url: 'callback_url',
  function_arn: 'function',
}

export const JOB_PARTS = ['schedule', 'execution', 'retry_policy'] as const
const otherNames = new Set([...Object.keys(OTHER_FIELDS), 'executor_config', 'status'])
const scheduleNames = Object.keys(OTHER_FIELDS).filter((name) => OTHER_FIELDS[name]!.to[0] === 'schedule')
const jobWords = wordTreeOf(JobRequest)

export interface JobReading {
  body: Fields
  /** Assumptions that the sender should know about. */
  warnings: readonly string[]
  /** Pointers into `body`, and the places that the values had in the request. */
  places: ReadonlyMap<string, string>
}

export interface ReadOptions {
  /** create: a new job; replace: one that may exist; patch: only fields that change, of which null removes one. */
  as: 'create' | 'replace' | 'patch'
  now: EpochMs
}

/** Null: there is nothing to rewrite. Throws the refusal of a body that contradicts itself. */
export function readOtherSpellings(given: unknown, options: ReadOptions): JobReading | null {
  const folded = foldWords(jobWords, given)
  if (!isObject(folded)) return null
  if (hasOtherFields(folded)) return rewrite(folded, options)
  return folded === given ? null : { body: folded, warnings: [], places: new Map() }
}

function hasOtherFields(body: Fields): boolean {
  for (const name of Object.keys(body)) if (otherNames.has(name)) return true
  const policy = body['retry_policy']
  return isObject(policy) && Object.hasOwn(policy, 'max_attempts')
}

/** A body on its way: the fields that are left of it, its parts, and the places that their values had. */
interface Rewriting {
  rest: Fields
  parts: Partial<Record<Part, Fields>>
  places: Map<string, string>
}

function rewrite(given: Fields, { as, now }: ReadOptions): JobReading {
  const body: Rewriting = { rest: { ...given }, parts: {}, places: new Map() }
  const isNew = as !== 'patch'
  if (isNew) dropNulls(body.rest)
  if (as === 'create') readStatus(body.rest)
  const hasOnlyPayload = isNew && Object.hasOwn(body.rest, 'payload') && !hasTarget(body.rest)
  for (const part of JOB_PARTS) openPart(body, part, now)
  for (const [name, spelling] of Object.entries(OTHER_FIELDS)) readField(body, name, spelling)
  readConfig(body)
  decideRecurring(body.parts)
  const warnings = hasOnlyPayload ? nameHandler(body) : []
  if (isNew) decideExecutor(body)
  return { body: { ...body.rest, ...body.parts }, warnings, places: body.places }
}

/** A column of a row that has no value. A payload of null is a payload. */
function dropNulls(rest: Fields): void {
  for (const name of otherNames) if (rest[name] === null && name !== 'payload') delete rest[name]
  if (rest['schedule'] === null && hasScheduleField(rest)) delete rest['schedule']
}

function hasScheduleField(rest: Fields): boolean {
  return scheduleNames.some((name) => rest[name] !== undefined)
}

/** A new job is active; a request may say so. */
function readStatus(rest: Fields): void {
  const { status } = rest
  if (status === undefined) return
  if (typeof status !== 'string' || !['active', 'scheduled'].includes(status.toLowerCase()))
    throw refuseField('/status', 'must be ACTIVE in a new job; PATCH /jobs/{job_id}/pause pauses it')
  delete rest['status']
}

const targets = [
  'execution',
  'executor_type',
  'executor_config',
  'callback_url',
  'handler',
  'artifact_id',
  'entrypoint',
]

function hasTarget(rest: Fields): boolean {
  return targets.some((name) => rest[name] !== undefined)
}

/** A part of the wrong type stays as it is, and validation refuses it. */
function openPart(body: Rewriting, part: Part, now: EpochMs): void {
  const given = body.rest[part]
  const opened = part === 'schedule' && typeof given === 'string' ? openText(body, given, now) : given
  if (!isObject(opened)) return
  const { max_attempts: attempts, ...fields } = opened
  const isPolicy = part === 'retry_policy' && attempts !== undefined
  body.parts[part] = isPolicy ? fields : { ...opened }
  delete body.rest[part]
  if (isPolicy) setField(body, [part, 'max_retries'], attempts, '/retry_policy/max_attempts', readAttempts)
}

/** The text as the object that it means, if a field beside it belongs into that object. */
function openText({ rest, places }: Rewriting, text: string, now: EpochMs): unknown {
  if (!hasScheduleField(rest)) return text
  const { timezone } = rest
  if (timezone !== undefined && (typeof timezone !== 'string' || knownZone(timezone) === null))
    throw refuseField('/timezone', 'must be the name of a time zone, such as Europe/Berlin')
  const answer = compileSchedule(text, { createdAt: now, timezone })
  if (!answer.ok) {
    // The text is refused where all are; without these fields, that is the only mistake it tells of.
    for (const name of scheduleNames) delete rest[name]
    return text
  }
  const { definition } = answer.value
  for (const name of Object.keys(definition)) places.set(`/schedule/${name}`, '/schedule')
  return definition
}

function readField(body: Rewriting, name: string, { to, read }: Spelling): void {
  const { rest, parts: opened } = body
  const value = rest[name]
  const [part] = to
  // Beside a part of the wrong type it stays, too.
  if (value === undefined || rest[part] !== undefined) return
  if (name === 'next_run_at') demandOnce(opened.schedule)
  const isAddress = name === 'handler' && typeof value === 'string' && /^https?:\/\//i.test(value)
  delete rest[name]
  setField(body, isAddress ? ['execution', 'callback_url'] : to, value, `/${name}`, read)
  if (name === 'retry_delay_seconds' && value !== null && rest['max_retry_delay_ms'] === undefined)
    opened.retry_policy!['max_delay_ms'] ??= retryDelayMsMax
}

function demandOnce({ type, ...schedule }: Fields = {}): void {
  const recurs = ['cron_expression', 'interval', 'every_seconds'].some((name) => schedule[name] !== undefined)
  if (!recurs && (type === undefined || type === 'ONE_TIME')) return
  throw refuseField('/next_run_at', 'is computed from the schedule; leave it out')
}

function readConfig(body: Rewriting): void {
  const config = body.rest['executor_config']
  if (config === undefined || body.rest['execution'] !== undefined) return
  if (!isObject(config)) throw refuseField('/executor_config', 'must be an object')
  delete body.rest['executor_config']
  for (const [name, value] of Object.entries(config)) {
    const field = Object.hasOwn(CONFIG_FIELDS, name) ? CONFIG_FIELDS[name]! : name
    setField(body, ['execution', field], value, `/executor_config/${escapePointer(name)}`)
  }
}

function decideRecurring({ schedule }: Rewriting['parts']): void {
  if (schedule?.['type'] !== recurring) return
  const isInterval = schedule['interval'] !== undefined || schedule['every_seconds'] !== undefined
  schedule['type'] = isInterval ? 'INTERVAL' : 'CRON'
}

const handlerName = new RegExp(handlerForm.pattern)

/** The warning about it. */
function nameHandler(body: Rewriting): string[] {
  const { name } = body.rest
  // Such a name is refused by the schema.
  if (typeof name !== 'string' || name === '') return []
  if (!handlerName.test(name)) {
    const detail = `is required: the request names nothing to call, and ${JSON.stringify(name.slice(0, 64))} cannot be the name of a handler`
    throw refuseField('/handler', detail)
  }
  setField(body, ['execution', 'handler'], name, '/name')
  return [
    `The request has a payload and names nothing to call, so the job runs the handler of its own name, ${name}. Give a handler or a callback_url to decide that yourself.`,
  ]
}

function decideExecutor({ parts: { execution }, places }: Rewriting): void {
  if (execution === undefined || execution['type'] !== undefined) return
  if (places.has('/execution/handler')) execution['type'] = 'worker'
  else if (places.has('/execution/artifact_id') || places.has('/execution/entrypoint'))
    execution['type'] = 'artifact'
}

function setField(
  { parts: opened, places }: Rewriting,
  [part, name]: Spelling['to'],
  value: unknown,
  place: string,
  read: Spelling['read'] = (same) => same,
): void {
  opened[part] ??= {}
  const fields = opened[part]
  const pointer = `/${part}/${escapePointer(name)}`
  const meant = value === null ? null : foldWords(wordsAt(part, name), read(value, place))
  const has = Object.hasOwn(fields, name)
  if (has && !isSame(name, fields[name], meant)) {
    throw refuseField(place, `contradicts ${places.get(pointer) ?? pointer}; give one of the two`)
  }
  if (!has) fields[name] = meant
  places.set(pointer, place)
}

const noWords = wordTreeOf({})

function wordsAt(...path: readonly string[]): WordTree {
  const child = (tree: WordTree, name: string) =>
    tree.fields.find(([field]) => field === name)?.[1] ?? noWords
  return path.reduce(child, jobWords)
}

function isSame(name: string, one: unknown, other: unknown): boolean {
  if (name === 'timezone' && typeof one === 'string' && typeof other === 'string')
    return (knownZone(one)?.id ?? one) === (knownZone(other)?.id ?? other)
  if (other === recurring) return one === 'CRON' || one === 'INTERVAL'
  return isDeepStrictEqual(one, other)
}

function readType(value: unknown): unknown {
  return typeof value === 'string' && value.toUpperCase() === recurring ? recurring : value
}

const executorTypes: Readonly<Record<string, string>> = { http_callback: 'http', kafka_topic: 'kafka' }

function readExecutorType(value: unknown): unknown {
  if (typeof value !== 'string') return value
  const type = value.toLowerCase()
  return Object.hasOwn(executorTypes, type) ? executorTypes[type] : type
}

/** The first attempt counts as one of them. */
function readAttempts(value: unknown, pointer: string): number {
  return wholeNumber(value, pointer, 101) - 1
}

function readDelay(value: unknown, pointer: string): number {
  return wholeNumber(value, pointer, retryDelayMsMax / 1_000) * 1_000
}

function wholeNumber(value: unknown, pointer: string, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max) return value
  throw refuseField(pointer, `must be a whole number from 1 to ${max}`)
}

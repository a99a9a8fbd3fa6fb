// Executions: the history of a job, and one execution with its attempts.
import Type from 'typebox'
import {
  ATTEMPT_OUTCOMES,
  ERROR_TYPES,
  EXECUTION_KINDS,
  EXECUTION_STATUSES,
  NODE_SKIP_REASONS,
  SKIP_REASONS,
} from './constants.ts'
import { targetFields } from './executor.ts'
import { EXECUTORS } from './executors/list.ts'
import { Parent } from './graph-run.ts'
import { Pagination, pageParameters } from './pagination.ts'
import {
  anyJson,
  describedObject,
  id,
  instant,
  instantOrNull,
  integerOrNull,
  numberOrNull,
  oneOf,
  optionalFlag,
  optionalText,
  orNull,
  strict,
  strictObject,
  textOrNull,
  texts,
  time,
  uuid,
  uuidGiven,
} from './shapes.ts'

const status = oneOf(EXECUTION_STATUSES)
const kind = oneOf(EXECUTION_KINDS, 'What made it.')

const conditions = {
  status: Type.Optional(status),
  kind: Type.Optional(kind),
  error_type: Type.Optional(oneOf(ERROR_TYPES, 'Of the latest attempt that ended.')),
  dead_letter: optionalFlag({ description: 'Only those that became a dead letter, or did not.' }),
  start_date: Type.Optional(
    time('The first UTC day of `scheduled_time` (YYYY-MM-DD), or an RFC 3339 instant.'),
  ),
  end_date: Type.Optional(
    time('The last UTC day of `scheduled_time`, or an RFC 3339 instant; it is included.'),
  ),
}

/** Query for the executions of a single job. */
export const ExecutionListQuery = strictObject({ ...conditions, ...pageParameters })
export type ExecutionListQuery = Type.Static<typeof ExecutionListQuery>

/** Of all jobs of the tenant. */
export const executionConditions = {
  ...conditions,
  job_id: Type.Optional(uuidGiven('Only of this job.')),
  tag: optionalText({ minLength: 1, maxLength: 64, description: 'Only of jobs that have this tag.' }),
  q: optionalText({
    minLength: 1,
    maxLength: 255,
    description: 'Part of the name, the key or a tag of the job, or of the error message.',
  }),
}
export const ExecutionSearchQuery = strictObject({ ...executionConditions, ...pageParameters })
export type ExecutionSearchQuery = Type.Static<typeof ExecutionSearchQuery>

const error = strictObject({
  type: oneOf(ERROR_TYPES),
  message: Type.String(),
  http_status: integerOrNull('What the target answered, if it did.'),
})
const errorOrNull = orNull(error, 'Why the latest attempt that ended failed; null when it did not.')

const skipped = strictObject({
  reason: oneOf(NODE_SKIP_REASONS),
  message: Type.String({ description: 'In words, with the job that it waited for.' }),
})

const common = {
  attempt_number: Type.Integer({ description: 'Of the latest attempt; 0 before the first.' }),
  kind,
  job_version: Type.Integer({ description: 'The version of the job that it runs.' }),
  enqueued_at: instant('When it became ready to run.'),
  started_at: instantOrNull(
    'Of the latest attempt; while it runs, when it was claimed if nothing else is known.',
  ),
  finished_at: instantOrNull('Of the latest attempt.'),
  duration_ms: integerOrNull('Of the latest attempt.'),
  error: errorOrNull,
  worker_id: textOrNull('Who ran the latest attempt.'),
  dead_letter: Type.Boolean({
    description:
      'It used up its retries and became a dead letter; true also when that was redriven or discarded since.',
  }),
  retry_at: instantOrNull('When the next attempt may start; null unless RETRYING.'),
  graph_run_id: textOrNull('The graph run that it belongs to; null: it runs alone.'),
  skipped: orNull(skipped, 'Why it did not run when its turn came; null unless SKIPPED.'),
}
const scheduledTime = instant('The slot, or when it was triggered.')

export const ExecutionItem = strictObject({
  execution_id: uuid,
  status,
  scheduled_time: scheduledTime,
  ...common,
})
export type ExecutionItem = Type.Static<typeof ExecutionItem>

/** A slot that has no execution. */
export interface SkippedSlot {
  execution_id: null
  status: 'SKIPPED'
  scheduled_time: string
  reason: (typeof SKIP_REASONS)[number]
}

/** One schema for both: a serialiser that must try alternatives is slow. */
const ListedExecution = Type.Unsafe<ExecutionItem | SkippedSlot>({
  ...ExecutionItem,
  properties: {
    ...ExecutionItem.properties,
    execution_id: { type: ['string', 'null'], format: 'uuid', description: 'Null for a skipped slot.' },
    reason: { type: 'string', enum: [...SKIP_REASONS], description: 'Why the slot has no execution.' },
  },
  required: ['execution_id', 'status', 'scheduled_time'],
  description:
    'An execution; or a slot without one, whose `execution_id` is null, which has a `reason` and nothing else.',
})

export const ExecutionList = describedObject('A page of the list.', {
  executions: Type.Array(ListedExecution),
  pagination: Pagination,
})
export type ExecutionList = Type.Static<typeof ExecutionList>

const FoundExecution = strictObject({
  execution_id: uuid,
  job_id: uuid,
  job_name: Type.String({ description: 'The present name of the job.' }),
  status,
  scheduled_time: scheduledTime,
  ...common,
})

export const ExecutionSearch = describedObject('A page of what was found, newest first.', {
  executions: Type.Array(FoundExecution),
  pagination: Pagination,
})
export type ExecutionSearch = Type.Static<typeof ExecutionSearch>

export const RetryRequest = Type.Object(
  {
    payload_override: Type.Optional(
      anyJson('Sent instead of the payload that it had; null is a payload too. At most 256 KB.'),
    ),
  },
  { ...strict, examples: [{}] },
)
export type RetryRequest = Type.Static<typeof RetryRequest>

export const RetryReply = describedObject('The execution that was made.', {
  execution_id: id('Of the new execution.'),
  retry_of: uuid,
  job_id: uuid,
  status: Type.Literal('PENDING'),
  scheduled_time: scheduledTime,
})
export type RetryReply = Type.Static<typeof RetryReply>

export const CancelReply = describedObject('It starts no attempt any more.', {
  execution_id: uuid,
  job_id: uuid,
  status: oneOf(
    ['CANCELLED', 'CANCELLING'],
    'CANCELLING: it was running, and ends as soon as its call has been stopped.',
  ),
})
export type CancelReply = Type.Static<typeof CancelReply>

export const Attempt = strictObject({
  attempt_number: Type.Integer(),
  outcome: oneOf(ATTEMPT_OUTCOMES, 'lost: its worker died; it spends no retry.'),
  worker_id: textOrNull('Who ran it.'),
  enqueued_at: instant('When it became ready to run.'),
  started_at: instantOrNull('When it began; if nobody said, when it was claimed.'),
  finished_at: instantOrNull('When it ended.'),
  duration_ms: integerOrNull('How long it took.'),
  http_status: integerOrNull('What the target answered.'),
  error: errorOrNull,
  response_preview: textOrNull('The first 4 KB of the answer, or of the result as JSON.'),
})
export type Attempt = Type.Static<typeof Attempt>

const progress = strictObject({
  fraction: numberOrNull('0 to 1.'),
  message: textOrNull('In words.'),
  at: instant('When the attempt was last heard of.'),
})

const callbackResponse = strictObject({
  http_status: Type.Integer(),
  body_preview: textOrNull('The first 4 KB.'),
})

export const Execution = describedObject('The execution.', {
  execution_id: uuid,
  job_id: uuid,
  status,
  scheduled_time: scheduledTime,
  ...common,
  idempotency_key: Type.String({ description: 'Sent with every attempt.' }),
  callback_response: orNull(
    callbackResponse,
    'What the target answered to the latest attempt; null when it did not.',
  ),
  executor: oneOf(EXECUTORS, 'How it is called.'),
  callback_url: textOrNull('Where it is sent; null unless it is called over HTTP.'),
  ...targetFields,
  progress: orNull(
    progress,
    'What its attempt said last; null when it runs none, or none that has said anything.',
  ),
  checkpoint: Type.Optional(
    anyJson('What its latest attempt has left for the next one; absent: nothing, or it has ended.'),
  ),
  metadata: texts({ maxProperties: 20, maxLength: 512, description: 'Of the job.' }),
  payload: Type.Optional(anyJson('What it is called with; absent: nothing.')),
  retry_of: textOrNull('The execution that this one repeats.'),
  parents: Type.Array(Parent, {
    description:
      'What it runs after, with their results as far as they have ended; empty: it runs alone, or after nothing.',
  }),
  attempts: Type.Array(Attempt, { description: 'Those that ended, oldest first.' }),
})
export type Execution = Type.Static<typeof Execution>

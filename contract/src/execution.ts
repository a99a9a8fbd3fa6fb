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
import { anyJson, instant, instantOrNull, integerOrNull, textOrNull, texts, uuidGiven } from './shapes.ts'

const strict = { additionalProperties: false } as const
const status = Type.Enum([...EXECUTION_STATUSES], { type: 'string' })
const kind = Type.Enum([...EXECUTION_KINDS], { type: 'string', description: 'What made it.' })
const day = (description: string) => Type.String({ minLength: 10, maxLength: 40, description })

const conditions = {
  status: Type.Optional(status),
  kind: Type.Optional(kind),
  error_type: Type.Optional(
    Type.Enum([...ERROR_TYPES], { type: 'string', description: 'Of the latest attempt that ended.' }),
  ),
  dead_letter: Type.Optional(
    Type.Boolean({ description: 'Only those that became a dead letter, or did not.' }),
  ),
  start_date: Type.Optional(
    day('The first UTC day of `scheduled_time` (YYYY-MM-DD), or an RFC 3339 instant.'),
  ),
  end_date: Type.Optional(
    day('The last UTC day of `scheduled_time`, or an RFC 3339 instant; it is included.'),
  ),
}

/** Query for the executions of a single job. */
export const ExecutionListQuery = Type.Object({ ...conditions, ...pageParameters }, strict)
export type ExecutionListQuery = Type.Static<typeof ExecutionListQuery>

/** Of all jobs of the tenant. */
export const executionConditions = {
  ...conditions,
  job_id: Type.Optional(uuidGiven('Only of this job.')),
  tag: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: 'Only of jobs that have this tag.' }),
  ),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Part of the name, the key or a tag of the job, or of the error message.',
    }),
  ),
}
export const ExecutionSearchQuery = Type.Object({ ...executionConditions, ...pageParameters }, strict)
export type ExecutionSearchQuery = Type.Static<typeof ExecutionSearchQuery>

const error = Type.Object(
  {
    type: Type.Enum([...ERROR_TYPES], { type: 'string' }),
    message: Type.String(),
    http_status: integerOrNull('What the target answered, if it did.'),
  },
  strict,
)
const errorOrNull = Type.Unsafe<Type.Static<typeof error> | null>({
  ...error,
  type: ['object', 'null'],
  description: 'Why the latest attempt that ended failed; null when it did not.',
})

const skipped = Type.Object(
  {
    reason: Type.Enum([...NODE_SKIP_REASONS], { type: 'string' }),
    message: Type.String({ description: 'In words, with the job that it waited for.' }),
  },
  strict,
)

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
  skipped: Type.Unsafe<Type.Static<typeof skipped> | null>({
    ...skipped,
    type: ['object', 'null'],
    description: 'Why it did not run when its turn came; null unless SKIPPED.',
  }),
}
const scheduledTime = instant('The slot, or when it was triggered.')

export const ExecutionItem = Type.Object(
  { execution_id: Type.String({ format: 'uuid' }), status, scheduled_time: scheduledTime, ...common },
  strict,
)
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

export const ExecutionList = Type.Object(
  { executions: Type.Array(ListedExecution), pagination: Pagination },
  { ...strict, description: 'A page of the list.' },
)
export type ExecutionList = Type.Static<typeof ExecutionList>

const FoundExecution = Type.Object(
  {
    execution_id: Type.String({ format: 'uuid' }),
    job_id: Type.String({ format: 'uuid' }),
    job_name: Type.String({ description: 'The present name of the job.' }),
    status,
    scheduled_time: scheduledTime,
    ...common,
  },
  strict,
)

export const ExecutionSearch = Type.Object(
  { executions: Type.Array(FoundExecution), pagination: Pagination },
  { ...strict, description: 'A page of what was found, newest first.' },
)
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

export const RetryReply = Type.Object(
  {
    execution_id: Type.String({ format: 'uuid', description: 'Of the new execution.' }),
    retry_of: Type.String({ format: 'uuid' }),
    job_id: Type.String({ format: 'uuid' }),
    status: Type.Literal('PENDING'),
    scheduled_time: scheduledTime,
  },
  { ...strict, description: 'The execution that was made.' },
)
export type RetryReply = Type.Static<typeof RetryReply>

export const CancelReply = Type.Object(
  {
    execution_id: Type.String({ format: 'uuid' }),
    job_id: Type.String({ format: 'uuid' }),
    status: Type.Enum(['CANCELLED', 'CANCELLING'], {
      type: 'string',
      description: 'CANCELLING: it was running, and ends as soon as its call has been stopped.',
    }),
  },
  { ...strict, description: 'It starts no attempt any more.' },
)
export type CancelReply = Type.Static<typeof CancelReply>

export const Attempt = Type.Object(
  {
    attempt_number: Type.Integer(),
    outcome: Type.Enum([...ATTEMPT_OUTCOMES], {
      type: 'string',
      description: 'lost: its worker died; it spends no retry.',
    }),
    worker_id: textOrNull('Who ran it.'),
    enqueued_at: instant('When it became ready to run.'),
    started_at: instantOrNull('When it began; if nobody said, when it was claimed.'),
    finished_at: instantOrNull('When it ended.'),
    duration_ms: integerOrNull('How long it took.'),
    http_status: integerOrNull('What the target answered.'),
    error: errorOrNull,
    response_preview: textOrNull('The first 4 KB of the answer, or of the result as JSON.'),
  },
  strict,
)
export type Attempt = Type.Static<typeof Attempt>

const progress = Type.Object(
  {
    fraction: Type.Unsafe<number | null>({ type: ['number', 'null'], description: '0 to 1.' }),
    message: textOrNull('In words.'),
    at: instant('When the attempt was last heard of.'),
  },
  strict,
)

const callbackResponse = Type.Object(
  { http_status: Type.Integer(), body_preview: textOrNull('The first 4 KB.') },
  strict,
)

export const Execution = Type.Object(
  {
    execution_id: Type.String({ format: 'uuid' }),
    job_id: Type.String({ format: 'uuid' }),
    status,
    scheduled_time: scheduledTime,
    ...common,
    idempotency_key: Type.String({ description: 'Sent with every attempt.' }),
    callback_response: Type.Unsafe<Type.Static<typeof callbackResponse> | null>({
      ...callbackResponse,
      type: ['object', 'null'],
      description: 'What the target answered to the latest attempt; null when it did not.',
    }),
    executor: Type.Enum([...EXECUTORS], { type: 'string', description: 'How it is called.' }),
    callback_url: textOrNull('Where it is sent; null unless it is called over HTTP.'),
    ...targetFields,
    progress: Type.Unsafe<Type.Static<typeof progress> | null>({
      ...progress,
      type: ['object', 'null'],
      description: 'What its attempt said last; null when it runs none, or none that has said anything.',
    }),
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
  },
  { ...strict, description: 'The execution.' },
)
export type Execution = Type.Static<typeof Execution>

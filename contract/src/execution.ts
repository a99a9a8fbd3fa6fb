// Executions: the history of a job, and one execution with its attempts.

import {
  ATTEMPT_OUTCOMES,
  ERROR_TYPES,
  EXECUTION_KINDS,
  EXECUTION_SKIP_REASONS,
  EXECUTION_STATUSES,
  SKIP_REASONS,
} from './constants.ts'
import { targetFields } from './executor.ts'
import { EXECUTORS } from './executors/list.ts'
import { Parent } from './graph-run.ts'
import { pageOf, pageParameters } from './pagination.ts'
import {
  anyJson,
  dayRange,
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
  requestObject,
  strictObject,
  textOrNull,
  texts,
  uuid,
  uuidGiven,
} from './shapes.ts'
import * as Type from './type.ts'

const status = oneOf(EXECUTION_STATUSES)
const kind = oneOf(EXECUTION_KINDS, 'The origin of the execution.')

const conditions = {
  status: Type.Optional(status),
  kind: Type.Optional(kind),
  error_type: Type.Optional(oneOf(ERROR_TYPES, 'Error type of the latest ended attempt.')),
  dead_letter: optionalFlag({
    description: 'true: only executions that became a dead letter; false: only the others.',
  }),
  ...dayRange('scheduled_time'),
}

/** Query for the executions of a single job. */
export const ExecutionListQuery = strictObject({ ...conditions, ...pageParameters })
export type ExecutionListQuery = Type.Static<typeof ExecutionListQuery>

/** Of all jobs of the tenant. */
export const executionConditions = {
  ...conditions,
  job_id: Type.Optional(uuidGiven('Only executions of this job.')),
  tag: optionalText({ minLength: 1, maxLength: 64, description: 'Only executions of jobs with this tag.' }),
  q: optionalText({
    minLength: 1,
    maxLength: 255,
    description: 'Part of the name, the key or a tag of the job, or of the error message.',
  }),
}
export const ExecutionSearchQuery = strictObject({
  ...executionConditions,
  worker_id: Type.Optional(
    uuidGiven('Only executions that this worker holds, or whose latest attempt it ran.'),
  ),
  ...pageParameters,
})
export type ExecutionSearchQuery = Type.Static<typeof ExecutionSearchQuery>

const error = strictObject({
  type: oneOf(ERROR_TYPES),
  message: Type.String(),
  http_status: integerOrNull('HTTP status of the response, if there was one.'),
})
const errorOrNull = orNull(error, 'Error of the latest ended attempt; null if it did not fail.')

const skipped = strictObject({
  reason: oneOf(
    EXECUTION_SKIP_REASONS,
    'quota: a slot that waited for the executions a minute of its tenant until its misfire window was over. The others: see graph runs.',
  ),
  message: Type.String({ description: 'The reason as a sentence, which names the job it waited for.' }),
})

const common = {
  attempt_number: Type.Integer({ description: 'Number of the latest attempt; 0 before the first.' }),
  kind,
  job_version: Type.Integer({ description: 'The version of the job that it runs.' }),
  enqueued_at: instant('When it became ready to run.'),
  started_at: instantOrNull(
    'Start of the latest attempt; while it runs, the time of its claim if its start is not known yet.',
  ),
  finished_at: instantOrNull('End of the latest attempt.'),
  duration_ms: integerOrNull('Duration of the latest attempt.'),
  error: errorOrNull,
  worker_id: textOrNull('The worker of the latest attempt.'),
  dead_letter: Type.Boolean({
    description:
      'Whether it used up its retries and became a dead letter; stays true after a redrive or discard.',
  }),
  retry_at: instantOrNull('Earliest start of the next attempt; null unless RETRYING.'),
  graph_run_id: textOrNull('The graph run that it belongs to; null: none.'),
  skipped: orNull(skipped, 'Why it was skipped; null unless SKIPPED.'),
}
const scheduledTime = instant('The slot, or the time of the trigger.')

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
    'An execution, or a skipped slot. A skipped slot has the `execution_id` null and a `reason`, and no further fields.',
})

export const ExecutionList = pageOf('A page of the list.', { executions: Type.Array(ListedExecution) })
export type ExecutionList = Type.Static<typeof ExecutionList>

const FoundExecution = strictObject({
  execution_id: uuid,
  job_id: uuid,
  job_name: Type.String({ description: 'The current name of the job.' }),
  status,
  scheduled_time: scheduledTime,
  ...common,
})

export const ExecutionSearch = pageOf('A page of the matching executions, newest first.', {
  executions: Type.Array(FoundExecution),
})
export type ExecutionSearch = Type.Static<typeof ExecutionSearch>

export const RetryRequest = requestObject([{}], {
  payload_override: Type.Optional(
    anyJson('Sent instead of the original payload; null is a payload too. At most 256 KB.'),
  ),
})
export type RetryRequest = Type.Static<typeof RetryRequest>

export const RetryReply = describedObject('The new execution.', {
  execution_id: id('The new execution.'),
  retry_of: uuid,
  job_id: uuid,
  status: Type.Literal('PENDING'),
  scheduled_time: scheduledTime,
})
export type RetryReply = Type.Static<typeof RetryReply>

export const CancelReply = describedObject('The cancelled execution; it starts no further attempt.', {
  execution_id: uuid,
  job_id: uuid,
  status: oneOf(
    ['CANCELLED', 'CANCELLING'],
    'CANCELLING: it was running, and ends as soon as its call is stopped.',
  ),
})
export type CancelReply = Type.Static<typeof CancelReply>

export const Attempt = strictObject({
  attempt_number: Type.Integer(),
  outcome: oneOf(ATTEMPT_OUTCOMES, 'lost: its worker died; this uses no retry.'),
  worker_id: textOrNull('The worker that ran it.'),
  enqueued_at: instant('When it became ready to run.'),
  started_at: instantOrNull('Start of the attempt; if it was not reported, the time of the claim.'),
  finished_at: instantOrNull('End of the attempt.'),
  duration_ms: integerOrNull('Duration of the attempt.'),
  http_status: integerOrNull('HTTP status of the response.'),
  error: errorOrNull,
  response_preview: textOrNull('The first 4 KB of the response, or of the result as JSON.'),
  usage: orNull(
    strictObject({
      cpu_ms: integerOrNull('CPU time of all processes of a shell command or a bundle.'),
      bytes_sent: integerOrNull('Bytes of the HTTP request with its head; TLS adds more.'),
      bytes_received: integerOrNull('Bytes of the response with its head, likewise.'),
    }),
    'The use of the attempt. Null: not known, as of a call that is completed later.',
  ),
})
export type Attempt = Type.Static<typeof Attempt>

const progress = strictObject({
  fraction: numberOrNull('0 to 1.'),
  message: textOrNull('Progress in words.'),
  at: instant('Time of the latest sign of life of the attempt.'),
})

const callbackResponse = strictObject({
  http_status: Type.Integer(),
  body_preview: textOrNull('The first 4 KB of the body.'),
})

export const Execution = describedObject('The execution.', {
  execution_id: uuid,
  job_id: uuid,
  status,
  scheduled_time: scheduledTime,
  ...common,
  idempotency_key: Type.String({ description: 'Sent with every attempt.' }),
  callback_response: orNull(callbackResponse, 'Response of the target to the latest attempt; null: none.'),
  executor: oneOf(EXECUTORS, 'The executor that runs it.'),
  callback_url: textOrNull('The URL that is called; null unless the executor is http.'),
  ...targetFields,
  progress: orNull(
    progress,
    'Latest report of the running attempt; null: no attempt runs, or it has reported nothing.',
  ),
  checkpoint: Type.Optional(
    anyJson('Data that the latest attempt left for the next one; absent: none, or the execution has ended.'),
  ),
  metadata: texts({ maxProperties: 20, maxLength: 512, description: 'Metadata of the job.' }),
  payload: Type.Optional(anyJson('The input of the execution; absent: none.')),
  retry_of: textOrNull('The execution that this one repeats.'),
  parents: Type.Array(Parent, {
    description:
      'The executions that it depends on, with the results of ended ones; empty: it depends on none.',
  }),
  attempts: Type.Array(Attempt, { description: 'Ended attempts, oldest first.' }),
})
export type Execution = Type.Static<typeof Execution>

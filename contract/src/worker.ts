// Workers, and the protocol of a worker in the user's own process: it registers, claims executions for its handlers,
// sends heartbeats with their progress, and reports their results. Clients in other languages are generated from this.

import { LOG_LEVELS, retryAfterMsMax } from './constants.ts'
import { handlerForm, labelForm } from './executors/worker.ts'
import { Parent } from './graph-run.ts'
import { pageParameters } from './pagination.ts'
import {
  anyJson,
  describedObject,
  instant,
  instantGiven,
  instantOrNull,
  integerOrNull,
  oneOf,
  oneOfWithDefault,
  optionalFlag,
  optionalInteger,
  optionalText,
  requestObject,
  strict,
  strictObject,
  textOrNull,
  uuid,
  uuidGiven,
} from './shapes.ts'
import * as Type from './type.ts'

/** Maximum executions in one claim or report. */
export const claimMax = 1_000
export const claimWaitSecondsMax = 25
export const logLinesMax = 1_000
/** Most workers in a page of GET /workers. */
export const workersPerPage = 1_000
/** LEFT: it deregistered. */
export const SHOWN_WORKER_STATUSES = ['ACTIVE', 'DRAINING', 'DEAD', 'LEFT'] as const

const workerId = uuidGiven('The id from the registration.')
const executionId = uuidGiven('The execution.')
const attemptNumber = Type.Integer({ minimum: 1, maximum: 32_767, description: 'As in the claim.' })
const fence = Type.Integer({
  minimum: 0,
  maximum: 2_147_483_647,
  description: 'As in the claim. A later claim of the same execution has another fence.',
})

export const WorkerItem = strictObject({
  worker_id: uuid,
  tenant_id: textOrNull('The tenant whose handlers it runs; null: it is a part of the installation.'),
  host: Type.String(),
  port: integerOrNull('Where its process listens for HTTP; null: it does not listen, or does not say.'),
  version: Type.String(),
  labels: Type.Array(Type.String()),
  executors: Type.Array(Type.String(), {
    description: 'The executors that it runs: http, worker, shell, artifact.',
  }),
  handlers: Type.Array(Type.String()),
  status: oneOf(
    SHOWN_WORKER_STATUSES,
    'DRAINING: it claims no more. DEAD: no heartbeat for 10 s; shown for an hour. LEFT: it deregistered; shown for 10 minutes.',
  ),
  capacity: Type.Integer({
    description:
      'Maximum number of executions that it runs at once. Claims of a worker that has registered never exceed it.',
  }),
  current_load: Type.Integer({ description: 'Executions that it has claimed and that have not ended.' }),
  registered_at: Type.String({ format: 'date-time' }),
  last_heartbeat: Type.String({ format: 'date-time' }),
  ended_at: instantOrNull('When it left or was declared dead; null: it is not gone.'),
})

/** GET /workers */
export const WorkerListQuery = strictObject({
  status: Type.Optional(oneOf(SHOWN_WORKER_STATUSES, 'Only workers with this status.')),
  limit: optionalInteger({
    minimum: 1,
    maximum: workersPerPage,
    default: workersPerPage,
    description: 'Maximum number of workers in a page.',
  }),
  cursor: pageParameters.cursor,
})
export type WorkerListQuery = Type.Static<typeof WorkerListQuery>

/** Numbers of workers, in GET /workers and GET /sla. */
export const workerCounts = {
  active: Type.Integer(),
  draining: Type.Integer({ description: 'They claim no more, and finish the executions that they hold.' }),
  dead_last_hour: Type.Integer({
    description: 'Without a heartbeat for 10 s, at some time in the last hour.',
  }),
}

export const WorkerList = strictObject({
  workers: Type.Array(WorkerItem),
  counts: describedObject('All workers that the caller may see, not only this page.', {
    ...workerCounts,
    capacity: Type.Integer({ description: 'Of the active and draining workers together.' }),
    running: Type.Integer({ description: 'Executions that they have claimed and that have not ended.' }),
  }),
  next_cursor: textOrNull(
    'Cursor of the next page; null on the last page. A page has at most 2 MiB, so it may be short without being the last.',
  ),
})
export type WorkerList = Type.Static<typeof WorkerList>

/** POST /workers */
export const RegisterRequest = requestObject(
  [{ handlers: ['send-report'], labels: ['eu-west'], capacity: 50 }],
  {
    handlers: Type.Array(Type.String(handlerForm), { minItems: 1, maxItems: 200 }),
    labels: Type.Optional(Type.Array(Type.String(labelForm), { maxItems: 32 })),
    capacity: optionalInteger({
      minimum: 1,
      maximum: 10_000,
      default: 50,
      description:
        'Maximum number of executions at once. Claims beyond it bring nothing until results are reported.',
    }),
    host: optionalText({ minLength: 1, maxLength: 255 }),
    port: optionalInteger({
      minimum: 1,
      maximum: 65_535,
      description: 'Where your process listens for HTTP, if it does; for people to see.',
    }),
    version: optionalText({ minLength: 1, maxLength: 64, description: 'The version of your program.' }),
  },
)
export type RegisterRequest = Type.Static<typeof RegisterRequest>

export const Registered = strictObject({
  worker_id: uuid,
  heartbeat_seconds: Type.Integer({ description: 'Interval of heartbeats.' }),
  lease_seconds: Type.Integer({
    description: 'A worker without a heartbeat for this long is dead, and its executions run elsewhere.',
  }),
})
export type Registered = Type.Static<typeof Registered>

/** POST /workers/claim */
export const ClaimRequest = strictObject({
  worker_id: workerId,
  limit: optionalInteger({ minimum: 1, maximum: claimMax, default: 50 }),
  wait_seconds: optionalInteger({
    minimum: 0,
    maximum: claimWaitSecondsMax,
    default: 0,
    description: 'Time to wait for an execution if there is none.',
  }),
  running: Type.Optional(
    Type.Array(executionId, {
      maxItems: 10_000,
      description:
        'All executions that the worker holds, including executions that it has not started and executions whose report was not answered. Needed after a claim whose response was lost: other executions recorded for this worker are handed back. Claims with this field must not run in parallel.',
    }),
  ),
})
export type ClaimRequest = Type.Static<typeof ClaimRequest>

export const ClaimedExecution = strictObject({
  execution_id: uuid,
  job_id: uuid,
  job_name: Type.String(),
  handler: Type.String(),
  kind: Type.String(),
  scheduled_time: instant('The slot, or the time of the trigger.'),
  attempt_number: Type.Integer(),
  fence: Type.Integer(),
  idempotency_key: Type.String({ description: 'The same for every attempt.' }),
  timeout_seconds: Type.Number({
    description:
      'Maximum duration of this attempt; shorter than the time-out of the job if `total_timeout_seconds` leaves less.',
  }),
  heartbeat_timeout_seconds: integerOrNull(
    'Maximum time between signs of life of the attempt; null: no limit.',
  ),
  payload: Type.Optional(anyJson('The input of the execution; absent: none.')),
  checkpoint: Type.Optional(anyJson('Data that the previous attempt left for this one; absent: none.')),
  graph_run_id: textOrNull('The graph run it belongs to; null: none.'),
  parents: Type.Optional(
    Type.Array(Parent, {
      description: 'The executions that it depends on, with their results; absent: none.',
    }),
  ),
})
export type ClaimedExecution = Type.Static<typeof ClaimedExecution>

export const ClaimReply = strictObject({ executions: Type.Array(ClaimedExecution) })
export type ClaimReply = Type.Static<typeof ClaimReply>

export const LogLineGiven = strictObject({
  at: Type.Optional(instantGiven('RFC 3339. Default now.')),
  level: Type.Optional(oneOfWithDefault(LOG_LEVELS, 'info')),
  message: Type.String({ maxLength: 8_192 }),
})

export const LogPartGiven = describedObject('Lines of the log. The first 256 KB of each attempt are kept.', {
  first_line: Type.Integer({
    minimum: 0,
    maximum: 999_000,
    description:
      'The number of the first line in the log of the attempt, from 0: an existing line is not written again.',
  }),
  lines: Type.Array(LogLineGiven, { minItems: 1, maxItems: logLinesMax }),
})
export type LogPartGiven = Type.Static<typeof LogPartGiven>

const mark = { execution_id: executionId, attempt_number: attemptNumber, fence }
const progress = Type.Number({ minimum: 0, maximum: 1, description: 'The finished fraction.' })
const progressText = Type.String({ maxLength: 255, description: 'Progress in words.' })
const checkpoint = anyJson('Data for the next attempt, if there is one. At most 64 KB.')

/** POST /workers/heartbeat */
export const WorkerHeartbeatRequest = strictObject({
  worker_id: workerId,
  status: Type.Optional(
    oneOfWithDefault(['ACTIVE', 'DRAINING'], 'ACTIVE', 'DRAINING: it claims no more executions.'),
  ),
  running: Type.Optional(
    Type.Array(
      strictObject({
        ...mark,
        running_ms: optionalInteger({
          minimum: 0,
          maximum: 2_147_483_647,
          description: 'Duration so far.',
        }),
        alive: optionalFlag({
          default: false,
          description:
            'Whether the handler itself, not only the worker, gave a sign of life since the last heartbeat.',
        }),
        progress: Type.Optional(progress),
        message: Type.Optional(progressText),
        checkpoint: Type.Optional(checkpoint),
        logs: Type.Optional(LogPartGiven),
      }),
      { maxItems: 10_000, description: 'All running executions.' },
    ),
  ),
})
export type WorkerHeartbeatRequest = Type.Static<typeof WorkerHeartbeatRequest>

export const WorkerHeartbeatReply = strictObject({
  cancelled: Type.Array(uuid, {
    description: 'Cancelled executions: stop them and report that they have ended.',
  }),
  lost: Type.Array(uuid, {
    description: 'Executions that this worker no longer holds: stop them; their results will be refused.',
  }),
})
export type WorkerHeartbeatReply = Type.Static<typeof WorkerHeartbeatReply>

const errorGiven = strictObject({
  type: Type.Optional(oneOfWithDefault(['HANDLER_ERROR', 'TIMEOUT'], 'HANDLER_ERROR')),
  message: Type.String({ maxLength: 8_192 }),
  final: optionalFlag({ default: false, description: 'Do not retry.' }),
  retry_after_ms: optionalInteger({
    minimum: 0,
    maximum: retryAfterMsMax,
    description: 'Minimum time until the next attempt.',
  }),
})
const result = anyJson('The result; the first 4 KB of its JSON are kept.')

/** POST /workers/report */
export const ReportRequest = Type.Object(
  {
    worker_id: workerId,
    results: Type.Array(
      strictObject({
        ...mark,
        status: oneOf(
          ['succeeded', 'failed', 'released'],
          'released: it was not started, or was stopped without side effects; another worker runs it, and no attempt is used.',
        ),
        duration_ms: optionalInteger({ minimum: 0, maximum: 2_147_483_647 }),
        result: Type.Optional(result),
        error: Type.Optional(errorGiven),
        logs: Type.Optional(LogPartGiven),
      }),
      { minItems: 1, maxItems: claimMax },
    ),
  },
  {
    ...strict,
    examples: [
      {
        worker_id: '01941f29-7c00-7000-8000-000000000001',
        results: [
          {
            execution_id: '01941f29-7c00-7000-8000-000000000000',
            attempt_number: 1,
            fence: 1,
            status: 'succeeded',
            duration_ms: 1_250,
            result: { rows: 42 },
          },
        ],
      },
    ],
  },
)
export type ReportRequest = Type.Static<typeof ReportRequest>

export const ReportReply = strictObject({
  accepted: Type.Integer(),
  cancelled: Type.Array(uuid, {
    description: 'Accepted, but they ended CANCELLED because they had been cancelled.',
  }),
  refused: Type.Array(uuid, {
    description:
      'This worker no longer held them (timed out, or run elsewhere since), or they have a different result on record.',
  }),
})
export type ReportReply = Type.Static<typeof ReportReply>

export const GoodbyeReply = strictObject({
  returned: Type.Integer({ description: 'Executions that were handed back without using an attempt.' }),
})
export type GoodbyeReply = Type.Static<typeof GoodbyeReply>

/** POST /executions/{execution_id}/complete, with the attempt's token */
export const CompleteRequest = requestObject([{ status: 'succeeded', result: { rows: 4200 } }], {
  status: oneOf(['succeeded', 'failed']),
  result: Type.Optional(result),
  error: Type.Optional(errorGiven),
})
export type CompleteRequest = Type.Static<typeof CompleteRequest>

export const CompleteReply = strictObject({
  execution_id: uuid,
  status: Type.String({
    description: 'The new status of the execution: SUCCEEDED, RETRYING, FAILED, CANCELLED.',
  }),
})
export type CompleteReply = Type.Static<typeof CompleteReply>

/** POST /executions/{execution_id}/heartbeat, with the attempt's token */
export const HeartbeatRequest = requestObject(
  [{ progress: 0.4, message: '400 of 1,000', checkpoint: { row: 400 } }, {}],
  {
    progress: Type.Optional(progress),
    message: Type.Optional(progressText),
    checkpoint: Type.Optional(checkpoint),
  },
)
export type HeartbeatRequest = Type.Static<typeof HeartbeatRequest>

export const HeartbeatReply = strictObject({
  execution_id: uuid,
  status: oneOf(['RUNNING', 'CANCELLING'], 'CANCELLING: the execution was cancelled; stop.'),
  checkpoint: Type.Optional(anyJson('The latest checkpoint of this or a previous attempt; absent: none.')),
})
export type HeartbeatReply = Type.Static<typeof HeartbeatReply>

/** POST /executions/{execution_id}/logs, with the attempt's token */
export const LogsRequest = LogPartGiven

export const LogList = strictObject({
  logs: Type.Array(
    strictObject({
      attempt_number: Type.Integer(),
      line: Type.Integer(),
      at: instant('Time of the line.'),
      level: oneOf(LOG_LEVELS),
      message: Type.String(),
    }),
  ),
  next_cursor: textOrNull(
    'Cursor of the next lines; null: there will be no more. A page has at most 2 MiB, so it may be short while more lines are there.',
  ),
})
export type LogList = Type.Static<typeof LogList>

/** GET /signing-key, POST /signing-key/rotate */
export const SigningKey = strictObject({
  key: Type.String({
    description: 'The key that signs callbacks, as in Standard Webhooks: `whsec_` and base64.',
  }),
  created_at: instant('Time of creation.'),
  previous_until: instantOrNull(
    'Until then callbacks are also signed with the previous key; null: there is none.',
  ),
})
export type SigningKey = Type.Static<typeof SigningKey>

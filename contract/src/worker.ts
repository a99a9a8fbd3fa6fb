// Workers, and the protocol of a worker in the user's own process: it registers, claims executions of its handlers,
// says every few seconds that it lives and how they go, and reports how they ended. Other languages generate from this.
import Type from 'typebox'
import { LOG_LEVELS, retryAfterMsMax } from './constants.ts'
import { handlerPattern, labelPattern } from './executors/worker.ts'
import { Parent } from './graph-run.ts'
import { anyJson, instant, instantOrNull, integerOrNull, textOrNull, uuidGiven } from './shapes.ts'

/** Executions in one claim or report, at most. */
export const claimMax = 1_000
export const claimWaitSecondsMax = 25
export const logLinesMax = 1_000

const strict = { additionalProperties: false } as const
const workerId = uuidGiven('As the registration answered.')
const executionId = uuidGiven('Of the execution.')
const attemptNumber = Type.Integer({ minimum: 1, maximum: 32_767, description: 'As it was claimed.' })
const fence = Type.Integer({
  minimum: 0,
  maximum: 2_147_483_647,
  description: 'As it was claimed; a claim that is no longer yours has another one.',
})

export const WorkerItem = Type.Object(
  {
    worker_id: Type.String({ format: 'uuid' }),
    tenant_id: textOrNull('Whose handlers it runs; null: it is a part of the installation.'),
    host: Type.String(),
    version: Type.String(),
    labels: Type.Array(Type.String()),
    executors: Type.Array(Type.String(), { description: 'What it runs: http, worker, shell, artifact.' }),
    handlers: Type.Array(Type.String()),
    status: Type.Enum(['ACTIVE', 'DRAINING', 'DEAD'], {
      type: 'string',
      description: 'DEAD: no beat for 10 s.',
    }),
    capacity: Type.Integer({ description: 'Executions it runs at once, at most.' }),
    current_load: Type.Integer(),
    registered_at: Type.String({ format: 'date-time' }),
    last_heartbeat: Type.String({ format: 'date-time' }),
  },
  strict,
)

export const WorkerList = Type.Object({ workers: Type.Array(WorkerItem) }, strict)
export type WorkerList = Type.Static<typeof WorkerList>

/** POST /workers */
export const RegisterRequest = Type.Object(
  {
    handlers: Type.Array(Type.String({ pattern: handlerPattern }), { minItems: 1, maxItems: 200 }),
    labels: Type.Optional(Type.Array(Type.String({ pattern: labelPattern }), { maxItems: 32 })),
    capacity: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_000,
        default: 50,
        description: 'Executions at once, at most.',
      }),
    ),
    host: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    version: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Of your program.' })),
  },
  { ...strict, examples: [{ handlers: ['send-report'], labels: ['eu-west'], capacity: 50 }] },
)
export type RegisterRequest = Type.Static<typeof RegisterRequest>

export const Registered = Type.Object(
  {
    worker_id: Type.String({ format: 'uuid' }),
    heartbeat_seconds: Type.Integer({ description: 'How often to send a heartbeat.' }),
    lease_seconds: Type.Integer({
      description: 'Without a heartbeat for this long the worker is dead, and what it held runs elsewhere.',
    }),
  },
  strict,
)
export type Registered = Type.Static<typeof Registered>

/** POST /workers/claim */
export const ClaimRequest = Type.Object(
  {
    worker_id: workerId,
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: claimMax, default: 50 })),
    wait_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: claimWaitSecondsMax,
        default: 0,
        description: 'When there is nothing: how long to wait for something before answering with nothing.',
      }),
    ),
    running: Type.Optional(
      Type.Array(executionId, {
        maxItems: 10_000,
        description:
          'Everything it holds, also what it has not started and what it has reported without an answer. Needed after a claim whose answer was lost: what the worker is thought to hold besides is handed back. Claims with it must follow each other.',
      }),
    ),
  },
  strict,
)
export type ClaimRequest = Type.Static<typeof ClaimRequest>

export const ClaimedExecution = Type.Object(
  {
    execution_id: Type.String({ format: 'uuid' }),
    job_id: Type.String({ format: 'uuid' }),
    job_name: Type.String(),
    handler: Type.String(),
    kind: Type.String(),
    scheduled_time: instant('The slot, or when it was triggered.'),
    attempt_number: Type.Integer(),
    fence: Type.Integer(),
    idempotency_key: Type.String({ description: 'The same for every attempt.' }),
    timeout_seconds: Type.Number({
      description:
        'How long this attempt may take; less than the job says when all attempts together have less left.',
    }),
    heartbeat_timeout_seconds: integerOrNull('For how long the attempt may be silent; null: for ever.'),
    payload: Type.Optional(anyJson('Absent: it has none.')),
    checkpoint: Type.Optional(anyJson('What the attempt before left for this one; absent: nothing.')),
    graph_run_id: textOrNull('The graph run it belongs to; null: it runs alone.'),
    parents: Type.Optional(
      Type.Array(Parent, { description: 'What it runs after, and how that ended; absent: nothing.' }),
    ),
  },
  strict,
)
export type ClaimedExecution = Type.Static<typeof ClaimedExecution>

export const ClaimReply = Type.Object({ executions: Type.Array(ClaimedExecution) }, strict)
export type ClaimReply = Type.Static<typeof ClaimReply>

export const LogLineGiven = Type.Object(
  {
    at: Type.Optional(Type.String({ minLength: 20, maxLength: 40, description: 'RFC 3339. Default now.' })),
    level: Type.Optional(Type.Enum([...LOG_LEVELS], { type: 'string', default: 'info' })),
    message: Type.String({ maxLength: 8_192 }),
  },
  strict,
)

export const LogPartGiven = Type.Object(
  {
    first_line: Type.Integer({
      minimum: 0,
      maximum: 999_000,
      description:
        'The number of its first line in the log of the attempt, from 0: a line that is there is not written again.',
    }),
    lines: Type.Array(LogLineGiven, { minItems: 1, maxItems: logLinesMax }),
  },
  { ...strict, description: 'Of each attempt the first 256 KB are kept.' },
)
export type LogPartGiven = Type.Static<typeof LogPartGiven>

const mark = { execution_id: executionId, attempt_number: attemptNumber, fence }
const progress = Type.Number({ minimum: 0, maximum: 1, description: 'How far it is.' })
const progressText = Type.String({ maxLength: 255, description: 'How far it is, in words.' })
const checkpoint = anyJson('For the next attempt, should there be one. At most 64 KB.')

/** POST /workers/heartbeat */
export const WorkerHeartbeatRequest = Type.Object(
  {
    worker_id: workerId,
    status: Type.Optional(
      Type.Enum(['ACTIVE', 'DRAINING'], {
        type: 'string',
        default: 'ACTIVE',
        description: 'DRAINING: it takes no more.',
      }),
    ),
    running: Type.Optional(
      Type.Array(
        Type.Object(
          {
            ...mark,
            running_ms: Type.Optional(
              Type.Integer({ minimum: 0, maximum: 2_147_483_647, description: 'For how long it has run.' }),
            ),
            alive: Type.Optional(
              Type.Boolean({
                default: false,
                description:
                  'The handler itself has given a sign since the last heartbeat, not only the worker.',
              }),
            ),
            progress: Type.Optional(progress),
            message: Type.Optional(progressText),
            checkpoint: Type.Optional(checkpoint),
            logs: Type.Optional(LogPartGiven),
          },
          strict,
        ),
        { maxItems: 10_000, description: 'Everything it runs.' },
      ),
    ),
  },
  strict,
)
export type WorkerHeartbeatRequest = Type.Static<typeof WorkerHeartbeatRequest>

export const WorkerHeartbeatReply = Type.Object(
  {
    cancelled: Type.Array(Type.String({ format: 'uuid' }), {
      description: 'Executions that somebody cancelled: stop them and report that they have ended.',
    }),
    lost: Type.Array(Type.String({ format: 'uuid' }), {
      description:
        'Executions that are not this worker’s any more: stop them; what comes of them counts for nothing.',
    }),
  },
  strict,
)
export type WorkerHeartbeatReply = Type.Static<typeof WorkerHeartbeatReply>

const errorGiven = Type.Object(
  {
    type: Type.Optional(
      Type.Enum(['HANDLER_ERROR', 'TIMEOUT'], { type: 'string', default: 'HANDLER_ERROR' }),
    ),
    message: Type.String({ maxLength: 8_192 }),
    final: Type.Optional(Type.Boolean({ default: false, description: 'Trying again is no use.' })),
    retry_after_ms: Type.Optional(
      Type.Integer({ minimum: 0, maximum: retryAfterMsMax, description: 'No next attempt before so long.' }),
    ),
  },
  strict,
)
const result = anyJson('What came of it; the first 4 KB of its JSON are kept.')

/** POST /workers/report */
export const ReportRequest = Type.Object(
  {
    worker_id: workerId,
    results: Type.Array(
      Type.Object(
        {
          ...mark,
          status: Type.Enum(['succeeded', 'failed', 'released'], {
            type: 'string',
            description:
              'released: it was not started, or is given up unharmed; another worker takes it, and no attempt is spent.',
          }),
          duration_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_147_483_647 })),
          result: Type.Optional(result),
          error: Type.Optional(errorGiven),
          logs: Type.Optional(LogPartGiven),
        },
        strict,
      ),
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

export const ReportReply = Type.Object(
  {
    accepted: Type.Integer(),
    cancelled: Type.Array(Type.String({ format: 'uuid' }), {
      description: 'Accepted, but they ended CANCELLED: somebody had cancelled them.',
    }),
    refused: Type.Array(Type.String({ format: 'uuid' }), {
      description:
        'They were not this worker’s any more (timed out, or run elsewhere since), or have another result on record.',
    }),
  },
  strict,
)
export type ReportReply = Type.Static<typeof ReportReply>

export const GoodbyeReply = Type.Object(
  { returned: Type.Integer({ description: 'Executions that were handed back, without an attempt spent.' }) },
  strict,
)
export type GoodbyeReply = Type.Static<typeof GoodbyeReply>

/** POST /executions/{execution_id}/complete, with the attempt's token */
export const CompleteRequest = Type.Object(
  {
    status: Type.Enum(['succeeded', 'failed'], { type: 'string' }),
    result: Type.Optional(result),
    error: Type.Optional(errorGiven),
  },
  { ...strict, examples: [{ status: 'succeeded', result: { rows: 4200 } }] },
)
export type CompleteRequest = Type.Static<typeof CompleteRequest>

export const CompleteReply = Type.Object(
  {
    execution_id: Type.String({ format: 'uuid' }),
    status: Type.String({ description: 'Of the execution now: SUCCEEDED, RETRYING, FAILED, CANCELLED.' }),
  },
  strict,
)
export type CompleteReply = Type.Static<typeof CompleteReply>

/** POST /executions/{execution_id}/heartbeat, with the attempt's token */
export const HeartbeatRequest = Type.Object(
  {
    progress: Type.Optional(progress),
    message: Type.Optional(progressText),
    checkpoint: Type.Optional(checkpoint),
  },
  { ...strict, examples: [{ progress: 0.4, message: '400 of 1,000', checkpoint: { row: 400 } }, {}] },
)
export type HeartbeatRequest = Type.Static<typeof HeartbeatRequest>

export const HeartbeatReply = Type.Object(
  {
    execution_id: Type.String({ format: 'uuid' }),
    status: Type.Enum(['RUNNING', 'CANCELLING'], {
      type: 'string',
      description: 'CANCELLING: somebody cancelled it; stop.',
    }),
    checkpoint: Type.Optional(
      anyJson('The latest one, of this attempt or one before; absent: there is none.'),
    ),
  },
  strict,
)
export type HeartbeatReply = Type.Static<typeof HeartbeatReply>

/** POST /executions/{execution_id}/logs, with the attempt's token */
export const LogsRequest = LogPartGiven

export const LogList = Type.Object(
  {
    logs: Type.Array(
      Type.Object(
        {
          attempt_number: Type.Integer(),
          line: Type.Integer(),
          at: instant('When it was said.'),
          level: Type.Enum([...LOG_LEVELS], { type: 'string' }),
          message: Type.String(),
        },
        strict,
      ),
    ),
    next_cursor: textOrNull('Where to go on reading; null: nothing more will come.'),
  },
  strict,
)
export type LogList = Type.Static<typeof LogList>

/** GET /signing-key, POST /signing-key/rotate */
export const SigningKey = Type.Object(
  {
    key: Type.String({
      description: '`whsec_` and base64: what callbacks are signed with, as Standard Webhooks say.',
    }),
    created_at: instant('When it was made.'),
    previous_until: instantOrNull(
      'Until then callbacks are signed with the key before, too; null: there is none.',
    ),
  },
  strict,
)
export type SigningKey = Type.Static<typeof SigningKey>

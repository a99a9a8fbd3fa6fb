// The target of a job: an HTTP URL, a handler in a worker, a command, a function of an artifact. One flat object for
// all of them, so that an error names the field and a serialiser need not try alternatives; the server decides which
// fields go together.
import Type from 'typebox'
import { artifactIdPattern } from './artifact.ts'
import { EXECUTORS, executionDefaults, METHODS } from './constants.ts'
import { anyJson, texts } from './shapes.ts'
import { handlerPattern, labelPattern } from './worker.ts'

/** Names and values together. */
export const headerBytesMax = 8 * 1024
export const envBytesMax = 8 * 1024
/** All arguments together. */
export const argBytesMax = 32 * 1024

const strict = { additionalProperties: false } as const

const type = Type.Enum([...EXECUTORS], {
  type: 'string',
  default: executionDefaults.type,
  description:
    'How it is called. http: callback_url, method, headers. worker: handler, labels. shell: command, args, env. artifact: artifact_id, sha256, entrypoint.',
})
const callbackUrl = Type.String({
  minLength: 1,
  maxLength: 2_048,
  description: 'http: where the execution is sent; http or https.',
})
const method = Type.Enum([...METHODS], {
  type: 'string',
  default: executionDefaults.method,
  description: 'http.',
})
const handler = Type.String({
  pattern: handlerPattern,
  description: 'worker: the name under which a worker registered it.',
})
const labels = Type.Array(Type.String({ pattern: labelPattern }), {
  maxItems: 32,
  description: 'worker: only a worker that has all of them runs it.',
})
const command = Type.String({
  pattern: '^/',
  maxLength: 4_096,
  description: 'shell: an absolute path that the operator has allowed. No shell reads it.',
})
const args = Type.Array(Type.String({ maxLength: 4_096 }), {
  maxItems: 100,
  description: 'shell: its arguments, 32 KB in all.',
})
const artifactId = Type.String({ pattern: artifactIdPattern, description: 'artifact: the bundle.' })
const sha256 = Type.String({
  pattern: '^[0-9a-fA-F]{64}$',
  description:
    'artifact: the required SHA-256 of the bundle; left out: the bundle that has this id when an attempt starts.',
})
const entrypoint = Type.String({
  minLength: 1,
  maxLength: 512,
  description: 'artifact: `file:function`, or the path of an executable in the bundle.',
})
const timeoutSeconds = Type.Integer({
  minimum: 1,
  maximum: 604_800,
  default: executionDefaults.timeout_seconds,
  description: 'The longest an attempt may take.',
})
const totalTimeoutSeconds = Type.Integer({
  minimum: 1,
  maximum: 2_592_000,
  description: 'The longest all attempts together may take, from the start of the first. Left out: no limit.',
})
const heartbeatTimeoutSeconds = Type.Integer({
  minimum: 5,
  maximum: 86_400,
  description:
    'An attempt without a heartbeat for longer than this is over. Left out: no heartbeats are needed.',
})

export const ExecutionRequest = Type.Object(
  {
    type: Type.Optional(type),
    callback_url: Type.Optional(callbackUrl),
    method: Type.Optional(method),
    headers: Type.Optional(
      texts({
        maxProperties: 50,
        maxLength: headerBytesMax,
        description: 'http: sent with every attempt. Values can be written but not read back. 8 KB in all.',
      }),
    ),
    handler: Type.Optional(handler),
    labels: Type.Optional(labels),
    command: Type.Optional(command),
    args: Type.Optional(args),
    env: Type.Optional(
      texts({
        maxProperties: 50,
        maxLength: envBytesMax,
        description:
          'shell: its environment. Values can be written but not read back. Names as in C, not CARILLON_*; 8 KB in all.',
      }),
    ),
    artifact_id: Type.Optional(artifactId),
    sha256: Type.Optional(sha256),
    entrypoint: Type.Optional(entrypoint),
    payload: Type.Optional(
      anyJson(
        'The input: over HTTP the JSON body, for a handler its argument, for a command its standard input. Absent: none. At most 256 KB; not with GET.',
      ),
    ),
    timeout_seconds: Type.Optional(timeoutSeconds),
    total_timeout_seconds: Type.Optional(totalTimeoutSeconds),
    heartbeat_timeout_seconds: Type.Optional(heartbeatTimeoutSeconds),
  },
  { ...strict, description: 'The target of the job.' },
)
export type ExecutionRequest = Type.Static<typeof ExecutionRequest>

/** The same as a job shows it. */
export const JobExecution = Type.Object(
  {
    type: Type.Enum([...EXECUTORS], { type: 'string' }),
    callback_url: Type.Optional(callbackUrl),
    method: Type.Optional(Type.Enum([...METHODS], { type: 'string' })),
    headers: Type.Optional(
      texts({ maxProperties: 50, maxLength: 3, description: 'The values are not shown.' }),
    ),
    handler: Type.Optional(Type.String()),
    labels: Type.Optional(Type.Array(Type.String())),
    command: Type.Optional(Type.String()),
    args: Type.Optional(Type.Array(Type.String())),
    env: Type.Optional(texts({ maxProperties: 50, maxLength: 3, description: 'The values are not shown.' })),
    artifact_id: Type.Optional(Type.String()),
    sha256: Type.Optional(Type.String()),
    entrypoint: Type.Optional(Type.String()),
    payload: Type.Optional(anyJson('As given; absent: none.')),
    timeout_seconds: Type.Integer(),
    total_timeout_seconds: Type.Optional(Type.Integer()),
    heartbeat_timeout_seconds: Type.Optional(Type.Integer()),
  },
  { ...strict, description: 'The target of the job, with the fields of its type.' },
)
export type JobExecution = Type.Static<typeof JobExecution>

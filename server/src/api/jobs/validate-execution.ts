// The execution part of a job, from a request to its stored form: the fields that its type needs and accepts, and the
// rules that a schema cannot express.
import { EXECUTOR_FIELDS, executionDefaults } from '@carillon/contract/constants.ts'
import { argBytesMax, type ExecutionRequest, envBytesMax } from '@carillon/contract/executor.ts'
import type { FieldError } from '@carillon/contract/problem.ts'
import type { Execution, Executor } from '../../domain/jobs/job.ts'
import type { Tier } from '../../domain/tenants/tenant.ts'
import { checkCallbackUrl } from '../../lib/http/callback-url.ts'
import { checkPayload, methodOf } from '../access/tier-limits.ts'
import { ApiError } from '../http/api-error.ts'
import { escapePointer, refuseField } from '../http/problem.ts'
import { checkHeaders } from './callback-headers.ts'

type Field = keyof ExecutionRequest

/** A name that is no field of a request does not compile. */
const ownFields: Record<Executor, { required: readonly Field[]; optional: readonly Field[] }> =
  EXECUTOR_FIELDS

/** Throws the refusal of an invalid execution. */
export function defineExecution(request: ExecutionRequest, tier: Tier): Execution {
  const { type = executionDefaults.type, payload } = request
  checkFields(request, type)
  const execution = { ...ofType(request, type), ...ofAll(request) } as Execution
  if (payload !== undefined) {
    checkPayload(payload, { pointer: '/execution/payload', method: methodOf(execution), tier })
  }
  return execution
}

function checkFields(request: ExecutionRequest, type: Executor): void {
  for (const [owner, { required, optional }] of Object.entries(ownFields)) {
    if (owner === type) continue
    const foreign = [...required, ...optional].find((field) => request[field] !== undefined)
    if (foreign !== undefined)
      throw refuseField(`/execution/${foreign}`, `belongs to ${owner}; the type is ${type}`)
  }
  const missing = ownFields[type].required.find((field) => request[field] === undefined)
  if (missing !== undefined) throw refuseField(`/execution/${missing}`, 'is required')
}

function ofAll(request: ExecutionRequest) {
  const { payload, timeout_seconds = executionDefaults.timeout_seconds } = request
  const { total_timeout_seconds: total, heartbeat_timeout_seconds: heartbeat } = request
  return {
    timeout_seconds,
    ...(payload === undefined ? {} : { payload }),
    ...(total === undefined ? {} : { total_timeout_seconds: total }),
    ...(heartbeat === undefined ? {} : { heartbeat_timeout_seconds: heartbeat }),
  }
}

function ofType(request: ExecutionRequest, type: Executor) {
  if (type === 'http') {
    const { callback_url: callbackUrl, method = executionDefaults.method, headers = {} } = request
    refuse(checkHeaders(headers))
    checkTarget(callbackUrl!)
    return { type, callback_url: callbackUrl, method, headers }
  }
  // Sorted and each once: the same labels are the same route.
  if (type === 'worker') {
    return { type, handler: request.handler, labels: [...new Set(request.labels)].toSorted() }
  }
  if (type === 'shell') {
    const { command, args = [], env = {} } = request
    refuse(checkArgs(args) ?? checkEnv(env))
    return { type, command, args, env }
  }
  const { artifact_id, entrypoint, sha256 } = request
  refuse(checkEntrypoint(entrypoint!))
  return { type, artifact_id, entrypoint, ...(sha256 === undefined ? {} : { sha256: sha256.toLowerCase() }) }
}

function refuse(wrong: FieldError | null): void {
  if (wrong !== null) throw refuseField(wrong.pointer, wrong.detail)
}

function checkTarget(callbackUrl: string): void {
  const detail = checkCallbackUrl(callbackUrl)
  if (detail === null) return
  const pointer = '/execution/callback_url'
  throw new ApiError('INVALID_REQUEST', `${pointer}: ${detail}.`, [{ pointer, detail }])
}

function checkArgs(args: readonly string[]): FieldError | null {
  const bytes = args.reduce((sum, one) => sum + Buffer.byteLength(one), 0)
  if (bytes <= argBytesMax) return null
  return { pointer: '/execution/args', detail: `must have at most ${argBytesMax} bytes in all` }
}

const envName = /^[A-Za-z_][A-Za-z0-9_]*$/

function checkEnv(env: Readonly<Record<string, string>>): FieldError | null {
  let bytes = 0
  for (const [name, value] of Object.entries(env)) {
    const ours = name.startsWith('CARILLON_')
    if (!envName.test(name) || ours) {
      const detail = ours ? 'is set by Carillon itself' : 'is not a valid name: letters, digits and _'
      return { pointer: `/execution/env/${escapePointer(name)}`, detail }
    }
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value)
  }
  if (bytes <= envBytesMax) return null
  return { pointer: '/execution/env', detail: `must have at most ${envBytesMax} bytes in all` }
}

const functionName = /^[A-Za-z_$][\w$]*$/

function checkEntrypoint(text: string): FieldError | null {
  const [path, name, ...more] = text.split(':')
  const isPath = path!.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
  const isName = name === undefined || functionName.test(name)
  if (isPath && isName && more.length === 0 && !text.includes('\\')) return null
  const detail = 'must be file:function, or a path in the bundle that does not leave it'
  return { pointer: '/execution/entrypoint', detail }
}

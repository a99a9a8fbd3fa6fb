// The execution part of a job, from a request to its stored form: the fields that its kind needs and accepts, and the
// rules that a schema cannot express.
import { executionDefaults } from '@carillon/contract/constants.ts'
import type { ExecutionRequest } from '@carillon/contract/executor.ts'
import type { Field } from '@carillon/contract/executors/facts.ts'
import { EXECUTORS, type FieldName, fieldsOf } from '@carillon/contract/executors/list.ts'
import { EXECUTOR_KINDS } from '../../domain/executors/list.ts'
import type { Execution, Executor } from '../../domain/jobs/job.ts'
import type { Tier } from '../../domain/tenants/tenant.ts'
import { checkPayload } from '../access/tier-limits.ts'
import { ApiError } from '../http/api-error.ts'
import { escapePointer, refuseField } from '../http/problem.ts'

/** Throws the refusal of an invalid execution. */
export function defineExecution(request: ExecutionRequest, tier: Tier): Execution {
  const { type = executionDefaults.type, payload } = request
  checkFields(request, type)
  const { check, normalize } = EXECUTOR_KINDS[type]
  const given = storedOf(request, type)
  const wrong = check?.(given) ?? null
  if (wrong !== null) {
    const { path, detail, isSentence = false } = wrong
    const pointer = `/execution/${path.map(escapePointer).join('/')}`
    if (!isSentence) throw refuseField(pointer, detail)
    throw new ApiError('INVALID_REQUEST', `${pointer}: ${detail}.`, [{ pointer, detail }])
  }
  checkSizes(request, type)
  const execution = normalize?.(given) ?? given
  if (payload !== undefined) checkPayload(payload, { pointer: '/execution/payload', execution, tier })
  return execution
}

function checkFields(request: ExecutionRequest, type: Executor): void {
  for (const owner of EXECUTORS) {
    if (owner === type) continue
    const [foreign] = fieldsOf(owner).find(([name]) => request[name] !== undefined) ?? []
    if (foreign !== undefined)
      throw refuseField(`/execution/${foreign}`, `belongs to ${owner}; the type is ${type}`)
  }
  const isMissing = ([name, { isRequired }]: [FieldName, Field]) => isRequired && request[name] === undefined
  const [missing] = fieldsOf(type).find(isMissing) ?? []
  if (missing !== undefined) throw refuseField(`/execution/${missing}`, 'is required')
}

function checkSizes(request: ExecutionRequest, type: Executor): void {
  for (const [name, { bytesMax }] of fieldsOf(type)) {
    if (bytesMax === undefined || bytesOf(request[name]) <= bytesMax) continue
    throw refuseField(`/execution/${name}`, `must have at most ${bytesMax} bytes in all`)
  }
}

function bytesOf(value: ExecutionRequest[FieldName]): number {
  const texts = Array.isArray(value) ? value : Object.entries(value ?? {}).flat()
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}

/** Of its kind, then of all kinds. A list and pairs are always stored, if only empty. */
function storedOf(request: ExecutionRequest, type: Executor): Execution {
  const own = fieldsOf(type).map(([name, field]) => {
    const empty = field.shape === 'list' ? [] : field.shape === 'pairs' ? {} : field.default
    return [name, request[name] ?? empty]
  })
  const { timeout_seconds = executionDefaults.timeout_seconds } = request
  const { payload, total_timeout_seconds, heartbeat_timeout_seconds } = request
  const all = { timeout_seconds, payload, total_timeout_seconds, heartbeat_timeout_seconds }
  const given = [...own, ...Object.entries(all)].filter(([, value]) => value !== undefined)
  return { type, ...Object.fromEntries(given) }
}

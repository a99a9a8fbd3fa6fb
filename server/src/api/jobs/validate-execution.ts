// The execution part of a job, from a request to its stored form: the fields that its kind needs and accepts, and the
// rules that a schema cannot express.
import { executionDefaults } from '@carillon/contract/constants.ts'
import type { ExecutionRequest } from '@carillon/contract/executor.ts'
import { EXECUTORS, type FieldName, fieldsOf } from '@carillon/contract/executors/list.ts'
import { EXECUTOR_KINDS } from '../../domain/executors/list.ts'
import type { Execution, Executor, JobVersion } from '../../domain/jobs/job.ts'
import type { Tier } from '../../domain/tenants/tenant.ts'
import { parseTarget } from '../../lib/http/callback-url.ts'
import type { HttpTarget } from '../../ports/http.ts'
import { checkPayload, defaultsOf } from '../access/tier-limits.ts'
import { ApiError } from '../http/api-error.ts'
import { escapePointer, refuseField } from '../http/problem.ts'
import { Refusals } from '../http/refusals.ts'

/** Why calls of the tenant to the target are refused on this server, as far as its URL says; null: they are not. */
export type CheckTarget = (tenantId: string, target: HttpTarget) => string | null

export interface ExecutionContext {
  tenantId: string
  tier: Tier
  checkTarget: CheckTarget
  /** The job as it is, which may be beyond the limits of its tier. Absent: it is new. */
  former?: JobVersion
}

/** Throws the refusal of an invalid execution, with all its mistakes. */
export function defineExecution(request: ExecutionRequest, context: ExecutionContext): Execution {
  const { tier, former } = context
  const { type = executionDefaults.type } = request
  const refusals = new Refusals()
  const execution = refusals.attempt(() => {
    checkFields(request, type)
    const given = storedOf(request, type, defaultsOf(tier))
    checkByKind(given)
    refuseTarget(given, context)
    return EXECUTOR_KINDS[type].normalize?.(given) ?? given
  })
  checkSizes(request, type, refusals)
  const { payload } = request
  const formerBytes = Buffer.byteLength(JSON.stringify(former?.execution.payload) ?? '')
  const place = { pointer: '/execution/payload', execution, tier, formerBytes }
  if (payload !== undefined) refusals.attempt(() => checkPayload(payload, place))
  refusals.throwAny()
  return execution!
}

function checkFields(request: ExecutionRequest, type: Executor): void {
  const refusals = new Refusals()
  for (const owner of EXECUTORS) {
    if (owner === type) continue
    for (const [name] of fieldsOf(owner))
      if (request[name] !== undefined)
        refusals.add(refuseField(`/execution/${name}`, `belongs to ${owner}; the type is ${type}`))
  }
  for (const [name, { isRequired }] of fieldsOf(type))
    if (isRequired && request[name] === undefined)
      refusals.add(refuseField(`/execution/${name}`, 'is required'))
  refusals.throwAny()
}

function checkByKind(given: Execution): void {
  const wrong = EXECUTOR_KINDS[given.type].check?.(given) ?? null
  if (wrong === null) return
  const { path, detail, isSentence = false } = wrong
  const pointer = `/execution/${path.map(escapePointer).join('/')}`
  if (!isSentence) throw refuseField(pointer, detail)
  throw new ApiError('INVALID_REQUEST', `${pointer}: ${detail}.`, [{ pointer, detail }])
}

// The workers check every call, by the addresses that a name has then. A target that cannot be called in any case is told now.
function refuseTarget(given: Execution, { tenantId, checkTarget }: ExecutionContext): void {
  const target = given.type === 'http' ? parseTarget(given.callback_url) : null
  const detail = target === null ? null : checkTarget(tenantId, target)
  if (detail === null) return
  const pointer = '/execution/callback_url'
  throw new ApiError('TARGET_FORBIDDEN', `${pointer}: ${detail}.`, [{ pointer, detail }])
}

function checkSizes(request: ExecutionRequest, type: Executor, refusals: Refusals): void {
  for (const [name, { bytesMax }] of fieldsOf(type)) {
    if (bytesMax === undefined || bytesOf(request[name]) <= bytesMax) continue
    refusals.add(refuseField(`/execution/${name}`, `must have at most ${bytesMax} bytes in all`))
  }
}

function bytesOf(value: ExecutionRequest[FieldName]): number {
  const texts = Array.isArray(value) ? value : Object.entries(value ?? {}).flat()
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}

/** Of its kind, then of all kinds. A list and pairs are always stored, if only empty. */
function storedOf(
  request: ExecutionRequest,
  type: Executor,
  defaults: { timeout_seconds: number },
): Execution {
  const own = fieldsOf(type).map(([name, field]) => {
    const empty = field.shape === 'list' ? [] : field.shape === 'pairs' ? {} : field.default
    return [name, request[name] ?? empty]
  })
  const { timeout_seconds = defaults.timeout_seconds } = request
  const { payload, total_timeout_seconds, heartbeat_timeout_seconds } = request
  const all = { timeout_seconds, payload, total_timeout_seconds, heartbeat_timeout_seconds }
  const given = [...own, ...Object.entries(all)].filter(([, value]) => value !== undefined)
  return { type, ...Object.fromEntries(given) }
}

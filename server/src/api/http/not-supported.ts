// Parts of the API that are specified and not built: refused by name before any other check, because ignoring one would
// run a job differently from the request of its owner.
import type { FastifyRequest } from 'fastify'
import { isObject } from '../../lib/is-object.ts'
import { ApiError } from './api-error.ts'
import { refuseRequest, sentenceOf } from './invalid-request.ts'

const jobFields = ['on_failure', 'on_late', 'region']
const executionFields = ['topic', 'key', 'endpoint', 'service_method', 'metadata', 'function']
const executionTypes = ['kafka', 'grpc', 'lambda']

/** A hook for everything that has the fields of a job. */
export async function refuseJobOptions(request: FastifyRequest): Promise<void> {
  const { body } = request
  if (!isObject(body)) return
  const { execution } = body
  refuseNotBuilt(request, [
    ...given(body, jobFields),
    ...(isObject(execution) && isOneOf(executionTypes, execution['type']) ? ['/execution/type'] : []),
    ...given(execution, executionFields, '/execution/'),
  ])
}

function given(fields: unknown, names: readonly string[], prefix = '/'): string[] {
  if (!isObject(fields)) return []
  return names.filter((name) => Object.hasOwn(fields, name)).map((name) => prefix + name)
}

function isOneOf(texts: readonly string[], value: unknown): boolean {
  return typeof value === 'string' && texts.includes(value.toLowerCase())
}

/** With all other mistakes of the request: it is judged no further. */
function refuseNotBuilt(request: FastifyRequest, pointers: readonly string[]): void {
  if (pointers.length === 0) return
  const detail = 'is not supported yet; it comes with a later version'
  const errors = pointers.map((pointer) => ({ pointer, detail }))
  throw refuseRequest(request, new ApiError('NOT_SUPPORTED_YET', sentenceOf(errors[0]!), errors))
}

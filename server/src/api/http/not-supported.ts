// Parts of the API that are specified and not built: refused by name before any other check, because ignoring one would
// run a job differently from the request of its owner.
import type { FastifyRequest } from 'fastify'
import { isObject } from '../../lib/is-object.ts'
import { ApiError } from './api-error.ts'

const jobFields = ['on_failure', 'on_late', 'region']
const executionFields = ['topic', 'key', 'endpoint', 'service_method', 'metadata', 'function']
const executionTypes = ['kafka', 'grpc', 'lambda']

/** A hook for everything that has the fields of a job. */
export async function refuseJobOptions({ body }: FastifyRequest): Promise<void> {
  if (!isObject(body)) return
  const { execution } = body
  refuseNotBuilt([
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

function refuseNotBuilt(pointers: readonly string[]): void {
  if (pointers.length === 0) return
  const detail = 'is not supported yet; it comes with a later version'
  throw new ApiError(
    'NOT_SUPPORTED_YET',
    `${pointers[0]} ${detail}.`,
    pointers.map((pointer) => ({ pointer, detail })),
  )
}

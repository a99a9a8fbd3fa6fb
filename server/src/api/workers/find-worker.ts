// The worker that a request of the worker protocol is about: one of the tenant's own.
import type { RegisteredWorker, Workers } from '../../ports/workers.ts'
import { ApiError } from '../http/api-error.ts'
import { readId } from '../http/path-id.ts'

export type OwnWorker = RegisteredWorker & { tenantId: string }

export async function requireWorker(
  workers: Pick<Workers, 'find'>,
  tenantId: string,
  given: string,
): Promise<OwnWorker> {
  const workerId = readId(given)
  const worker = workerId === null ? null : await workers.find(tenantId, workerId)
  if (worker === null) throw workerLost(given)
  return { ...worker, tenantId }
}

export function workerLost(given: string): ApiError {
  return new ApiError('WORKER_LOST', `There is no worker ${given.slice(0, 64)} any more.`)
}

// A worker of a tenant's own, as it speaks to the API in tests.
import assert from 'node:assert/strict'
import { type AttemptOfTenant, attemptTokenOf } from '../src/domain/queue/attempt-token.ts'
import { defaultTenantId } from '../src/domain/tenants/tenant.ts'
import { HmacSha256 } from '../src/lib/hmac.ts'
import type { setupApp } from './app.ts'

type App = Pick<Awaited<ReturnType<typeof setupApp>>, 'app' | 'call' | 'memory'>

export interface ClaimedHere {
  execution_id: string
  attempt_number: number
  fence: number
  [field: string]: unknown
}

/** `headers`: of its tenant's key; by default it is the operator for the default tenant. */
export function workerCalls({ call }: App, headers: Record<string, string> = {}) {
  const register = async (body: object = {}): Promise<string> => {
    const answer = await call('POST', '/workers', { handlers: ['report'], ...body }, headers)
    assert.equal(answer.statusCode, 201, answer.body)
    return answer.json().worker_id
  }
  const claim = (workerId: string, body: object = {}) =>
    call('POST', '/workers/claim', { worker_id: workerId, ...body }, headers)
  /** Returns the claimed executions. */
  const take = async (workerId: string, body: object = {}): Promise<ClaimedHere[]> => {
    const answer = await claim(workerId, body)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json().executions
  }
  const beat = (workerId: string, running: readonly object[] = [], more: object = {}) =>
    call('POST', '/workers/heartbeat', { worker_id: workerId, running, ...more }, headers)
  const report = (workerId: string, results: readonly object[]) =>
    call('POST', '/workers/report', { worker_id: workerId, results }, headers)
  const leave = (workerId: string) => call('DELETE', `/workers/${workerId}`, undefined, headers)
  return { register, claim, take, beat, report, leave }
}

export function markOf({ execution_id, attempt_number, fence }: ClaimedHere) {
  return { execution_id, attempt_number, fence }
}

/** A job that nothing waits behind, triggered so many times. */
export async function triggerMany(
  { call }: Pick<App, 'call'>,
  count: number,
  { headers = {}, ...changes }: { headers?: Record<string, string>; [field: string]: unknown } = {},
): Promise<{ jobId: string; executionIds: string[] }> {
  const execution = { type: 'worker', handler: 'report' }
  const request = { name: 'a', schedule: '@yearly', overlap_policy: 'ALLOW', execution, ...changes }
  const created = await call('POST', '/jobs', request, headers)
  assert.equal(created.statusCode, 201, created.body)
  const jobId: string = created.json().job_id
  const executionIds: string[] = []
  for (let i = 0; i < count; i++) {
    const answer = await call('POST', `/jobs/${jobId}/trigger`, undefined, headers)
    executionIds.push(answer.json().execution_id)
  }
  return { jobId, executionIds }
}

/** The token sent to its target; without a fence: nothing was handed back, so each claim is a new attempt. */
export async function tokenOf(
  { memory }: Pick<App, 'memory'>,
  one: Omit<AttemptOfTenant, 'tenantId' | 'fence'> & { tenantId?: string; fence?: number },
): Promise<string> {
  const key = new HmacSha256(await memory.secrets.tokenKey())
  return attemptTokenOf(key, { tenantId: defaultTenantId, fence: one.attempt, ...one })
}

// A tenant as a client of the API: counts the answers to its requests, and makes jobs to attack with.
import assert from 'node:assert/strict'
import { realTimers } from '../../src/lib/time/timers.ts'
import { callApi } from '../e2e/api.ts'

export interface CallerOptions {
  url: string
  operatorKey: string
  name: string
  tier: string
}

export class TenantCaller {
  readonly url: string
  readonly tenantId: string
  /** With every scope of a tenant. */
  readonly key: string
  /** Answers so far, by status; 0: there was none. */
  readonly statuses = new Map<number, number>()
  /** Received by `read`. */
  bytes = 0

  constructor(url: string, tenantId: string, key: string) {
    this.url = url
    this.tenantId = tenantId
    this.key = key
  }

  async call(method: string, path: string, body?: object): Promise<{ status: number; text: string }> {
    return this.send(path, {
      method,
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })
  }

  /** Does not fail: an attack goes on when a server resets its connection. */
  async send(path: string, request: RequestInit): Promise<{ status: number; text: string }> {
    const headers = { authorization: `Bearer ${this.key}`, ...request.headers }
    const answer = await fetch(`${this.url}/api/v1${path}`, { ...request, headers }).then(
      async (response) => ({ status: response.status, text: await response.text() }),
      () => ({ status: 0, text: '' }),
    )
    this.statuses.set(answer.status, this.answered(answer.status) + 1)
    return answer
  }

  /** Reads an answer without keeping it. */
  async read(path: string): Promise<void> {
    let status = 0
    try {
      const response = await fetch(`${this.url}/api/v1${path}`, {
        headers: { authorization: `Bearer ${this.key}` },
      })
      for await (const chunk of response.body!) this.bytes += chunk.length
      status = response.status
    } catch {
      // The server has closed the connection.
    }
    this.statuses.set(status, this.answered(status) + 1)
  }

  answered(status: number): number {
    return this.statuses.get(status) ?? 0
  }

  /** Repeats a request that is over the limit of requests a second, until it is answered well. */
  async make<T>(path: string, body: object): Promise<T> {
    while (true) {
      const { status, text } = await this.call('POST', path, body)
      if (status === 429) {
        await realTimers.wait(250)
        continue
      }
      assert(status >= 200 && status < 300, `POST ${path}: ${status} ${text}`)
      return JSON.parse(text) as T
    }
  }

  /** A job that runs by triggers only. Returns its id. */
  async createTriggered(url: string, execution: object = {}): Promise<string> {
    const { job_id: jobId } = await this.make<{ job_id: string }>('/jobs', {
      name: 'attack',
      schedule: { cron_expression: '0 0 1 1 *' },
      overlap_policy: 'ALLOW',
      execution: { callback_url: url, ...execution },
    })
    return jobId
  }

  trigger(jobId: string, count: number): Promise<unknown> {
    return this.make(`/jobs/${jobId}/triggers`, { count })
  }
}

export async function createTenant({ url, operatorKey, name, tier }: CallerOptions): Promise<TenantCaller> {
  const operator = callApi(url, operatorKey)
  const { tenant_id: tenantId } = await operator.post<{ tenant_id: string }>('/tenants', { name, tier }, 201)
  const ofTenant = callApi(url, operatorKey, tenantId)
  const { key } = await ofTenant.post<{ key: string }>('/api-keys', { name, scopes: ['admin'] }, 201)
  return new TenantCaller(url, tenantId, key)
}

/**
 * Makes the tier of attackers: the tier free without its limits on the number of executions, which would end most attacks
 * before they begin.
 */
export async function createAttackerTier(url: string, operatorKey: string): Promise<string> {
  const operator = callApi(url, operatorKey)
  const { name: _name, ...limits } = await operator.get<{ name: string }>('/tiers/free')
  const many = { executions_per_minute: null, concurrent_executions_max: null, waiting_executions_max: null }
  await operator.put('/tiers/attacker', { ...limits, ...many })
  return 'attacker'
}

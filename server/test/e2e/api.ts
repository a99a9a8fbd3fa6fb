// The API of a running program, called as a user would; and waits for outcomes.
import assert from 'node:assert/strict'
import { realTimers } from '../../src/lib/time/timers.ts'

export interface Api {
  post<T>(path: string, body: object, status?: number): Promise<T>
  put<T>(path: string, body: object): Promise<T>
  get<T>(path: string): Promise<T>
  /** With any answer. */
  send(method: string, path: string, body: object): Promise<Response>
}

/** `tenantId`: the tenant that an operator acts for. Default: the tenant of the key. */
export function callApi(url: string, key: string, tenantId?: string): Api {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    ...(tenantId !== undefined && { 'x-tenant-id': tenantId }),
  }
  const send = (method: string, path: string, body: object) =>
    fetch(`${url}/api/v1${path}`, { method, headers, body: JSON.stringify(body) })
  async function write<T>(method: string, path: string, body: object, status = 0): Promise<T> {
    const response = await send(method, path, body)
    const text = await response.text()
    assert(status === 0 ? response.ok : response.status === status, `${response.status} ${text}`)
    return JSON.parse(text) as T
  }
  return {
    send,
    post: (path, body, status) => write('POST', path, body, status),
    put: (path, body) => write('PUT', path, body),
    async get<T>(path: string): Promise<T> {
      const response = await fetch(`${url}/api/v1${path}`, { headers })
      const text = await response.text()
      assert.equal(response.status, 200, text)
      return JSON.parse(text) as T
    },
  }
}

/** Waits for an outcome, not a measurement: how long things take is bench/'s to say. */
export async function until<T>(read: () => Promise<T | null> | T | null, what: string): Promise<T> {
  for (let waitedMs = 0; waitedMs < 60_000; waitedMs += 50) {
    const value = await read()
    if (value !== null) return value
    await realTimers.wait(50)
  }
  assert.fail(`not within a minute: ${what}`)
}

export interface ExecutionItem {
  execution_id: string
  status: string
  scheduled_time: string
  attempt_number: number
  kind: string
  error: { type: string } | null
}

export async function untilStatus(api: Api, executionId: string, status: string): Promise<ExecutionItem> {
  return until(async () => {
    const item = await api.get<ExecutionItem>(`/executions/${executionId}`)
    return item.status === status ? item : null
  }, `${executionId} is ${status}`)
}

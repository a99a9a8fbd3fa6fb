// The API of our own server, as the demo world uses it: its jobs are made the way everybody makes jobs.
import { OperatingError } from '../lib/operating-error.ts'
import { realTimers } from '../lib/time/timers.ts'

const triesMax = 10
const againMs = 1_000

export interface DemoApi {
  post<Reply = unknown>(path: string, body: object): Promise<Reply>
  patch(path: string, body: object): Promise<unknown>
  /** `tenantId`: null for the default one. */
  put<Reply = unknown>(path: string, body: object, tenantId?: string | null): Promise<Reply>
  /** Its id, also when it is there. */
  makeTenant(tenant: { name: string; tier: string }): Promise<string>
}

export function openDemoApi({ url, key }: { url: string; key: string }): DemoApi {
  const call = (method: string, path: string, body?: object, tenantId?: string | null) =>
    fetch(`${url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body && { 'content-type': 'application/json' }),
        ...(tenantId && { 'x-tenant-id': tenantId }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
  const send = async <Reply>(...request: Parameters<typeof call>) => {
    const [method, path] = request
    let response = await call(...request)
    // A server that has just begun to write a month may be short of breath.
    for (let tries = 1; response.status === 503 && tries < triesMax; tries++) {
      await realTimers.wait(againMs)
      response = await call(...request)
    }
    const text = await response.text()
    if (!response.ok)
      throw new OperatingError(`--demo: ${method} ${path} answered ${response.status}: ${text}`)
    return (text === '' ? null : JSON.parse(text)) as Reply
  }
  return {
    post: (path, body) => send('POST', path, body),
    patch: (path, body) => send('PATCH', path, body),
    put: (path, body, tenantId) => send('PUT', path, body, tenantId),
    async makeTenant(tenant) {
      type Tenant = { tenant_id: string; name: string }
      const { tenants } = await send<{ tenants: Tenant[] }>('GET', '/tenants?limit=200')
      const known = tenants.find(({ name }) => name === tenant.name)
      return (known ?? (await send<Tenant>('POST', '/tenants', tenant))).tenant_id
    },
  }
}

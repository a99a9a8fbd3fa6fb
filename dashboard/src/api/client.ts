// Every request of the dashboard. The session is a cookie that scripts cannot read; the header says that the request
// comes from this page and not from a foreign one. A refusal by the server is thrown as an ApiProblem.
import type { FieldError, Problem } from '@carillon/contract/problem.ts'
import type { ApiRequest } from '../lib/api-request.ts'
import { noteServerTime } from '../lib/now.ts'
import { createStore } from '../lib/store.ts'

export const apiBase = '/api/v1'
const clientHeaders = { 'X-Carillon-Client': 'dashboard' }
const requestMsMax = 30_000

/** The tenant that an operator acts for; null: the one of the session. It is in the address: api/tenant.ts. */
export const chosenTenant = createStore<string | null>(null)
/** Counts the answers that said: not logged in. */
export const loggedOut = createStore(0)

export class ApiProblem extends Error {
  readonly status: number
  readonly code: string
  readonly help: string
  readonly fields: readonly FieldError[]

  constructor(status: number, problem: Partial<Problem>) {
    super(problem.detail ?? problem.title ?? `The server answered ${status}.`)
    this.name = 'ApiProblem'
    this.status = status
    this.code = problem.code ?? 'UNKNOWN'
    this.help = problem.help ?? ''
    this.fields = problem.errors ?? []
  }
}

export type Query = Record<string, string | number | boolean | null | undefined>

export interface RequestOptions {
  query?: Query
  body?: unknown
  /** The version that the change is based on; another one in the meantime is 412. */
  ifMatch?: number
  signal?: AbortSignal
  /** For operators: another tenant than the chosen one; null: that of the session. */
  tenantId?: string | null
}

export function apiHeaders(tenantId: string | null = chosenTenant.get()): Record<string, string> {
  return { ...clientHeaders, ...(tenantId !== null && { 'X-Tenant-ID': tenantId }) }
}

export function pathWithQuery(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') parameters.set(name, String(value))
  }
  return parameters.size === 0 ? path : `${path}?${parameters}`
}

export async function request<Reply>(
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<Reply> {
  const { body, ifMatch, query, signal, tenantId } = options
  const timeout = AbortSignal.timeout(requestMsMax)
  const response = await fetch(apiBase + pathWithQuery(path, query), {
    method,
    credentials: 'same-origin',
    headers: {
      ...(tenantId === undefined ? apiHeaders() : apiHeaders(tenantId)),
      Accept: 'application/json',
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(ifMatch !== undefined && { 'If-Match': `"${ifMatch}"` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
  }).catch((cause: unknown) => {
    if (signal?.aborted === true) throw cause
    const detail = timeout.aborted
      ? 'The server did not answer within 30 s.'
      : 'The server cannot be reached.'
    throw new ApiProblem(0, { detail, help: 'Retrying …' })
  })
  const date = response.headers.get('date')
  if (date !== null) noteServerTime(new Date(date).toISOString())
  if (response.status === 204) return undefined as Reply
  const text = await response.text()
  const parsed = parse(text)
  if (response.ok) return parsed as Reply
  if (response.status === 401 && path !== '/session') loggedOut.set(loggedOut.get() + 1)
  throw new ApiProblem(response.status, typeof parsed === 'object' && parsed !== null ? parsed : {})
}

export const api = {
  get: <Reply>(path: string, options?: RequestOptions) => request<Reply>('GET', path, options),
  post: <Reply>(path: string, body: unknown = {}, options?: RequestOptions) =>
    request<Reply>('POST', path, { ...options, body }),
  delete: <Reply>(path: string, options?: RequestOptions) => request<Reply>('DELETE', path, options),
}

/** The request of an action, as it is shown to programs. */
export function send<Reply>({ method, path, body = {}, ifMatch }: ApiRequest): Promise<Reply> {
  if (method === 'DELETE') return api.delete<Reply>(path)
  return request<Reply>(method, path, { body, ...(ifMatch !== undefined && { ifMatch }) })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

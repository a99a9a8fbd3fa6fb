// http: our own workers call an address. A job is refused at creation, not at its first run, if one of its headers is
// malformed, belongs to the connection, or is one that Carillon sets.
import { checkCallbackUrl } from '../../lib/http/callback-url.ts'
import { fieldsOfConnection, fieldValue, token } from '../../lib/http/fields.ts'
import type { AnyExecution } from '../jobs/job.ts'
import { isOwnHeader } from '../queue/own-headers.ts'
import type { ExecutorKind, WrongField } from './kind.ts'

export interface HttpExecution extends AnyExecution {
  type: 'http'
  callback_url: string
  method: string
  headers: Readonly<Record<string, string>>
}

export const serverRoute = 'server'

export const http: ExecutorKind<HttpExecution> = {
  route: serverRoute,
  isolates: false,
  nobodyText: () => 'no worker is registered',
  refusePayload: ({ method }) => (method === 'GET' ? 'cannot be sent with GET, which has no body' : null),
  check({ headers, callback_url: url }) {
    const wrong = checkHeaders(headers)
    if (wrong !== null) return wrong
    const detail = checkCallbackUrl(url)
    return detail === null ? null : { path: ['callback_url'], detail, isSentence: true }
  },
}

function checkHeaders(headers: Readonly<Record<string, string>>): WrongField | null {
  const seen = new Set<string>()
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase()
    const detail = checkName(name, lower) ?? (seen.has(lower) ? 'is given twice' : checkValue(value))
    if (detail !== null) return { path: ['headers', name], detail }
    seen.add(lower)
  }
  return null
}

function checkName(name: string, lower: string): string | null {
  if (!token.test(name)) return 'is not a valid header name'
  if (fieldsOfConnection.has(lower) || lower.startsWith('proxy-'))
    return 'belongs to the connection and cannot be set'
  if (isOwnHeader(lower)) return 'is set by Carillon itself'
  return null
}

function checkValue(value: string): string | null {
  return fieldValue.test(value) ? null : 'has a character that a header value cannot have'
}

// The cookie of a session. A browser sends it by itself, also when another site's page makes it call us; so it counts only
// with a header that such a page cannot send, and never beside the Origin of another site.
import { CLIENT_HEADER, SESSION_COOKIE } from '@carillon/contract/session.ts'
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../http/api-error.ts'

type Headers = Pick<FastifyRequest, 'headers'>

/** Null: there is none. */
export function readSessionCookie({ headers }: Headers): string | null {
  for (const part of (headers.cookie ?? '').split(';')) {
    const [name, ...value] = part.trim().split('=')
    if (name === SESSION_COOKIE && value.length > 0) return value.join('=')
  }
  return null
}

/** `publicUrl`: the address at which browsers reach us, if it differs from the host that they name. */
export function requireOwnPage(request: Headers, publicUrl: string | null): void {
  if (request.headers[CLIENT_HEADER.name] !== CLIENT_HEADER.value) {
    throw new ApiError(
      'UNAUTHENTICATED',
      'A session needs the header X-Carillon-Client: dashboard. Programs should send an API key.',
    )
  }
  refuseForeignOrigin(request, publicUrl)
}

export function refuseForeignOrigin({ headers }: Headers, publicUrl: string | null): void {
  const { origin, host } = headers
  if (origin === undefined) return
  const from = URL.canParse(origin) ? new URL(origin).host : null
  const own = [host?.toLowerCase(), publicUrl === null ? undefined : new URL(publicUrl).host]
  // A default port is named in neither of the two, or in the Host header only.
  if (from !== null && own.some((one) => one?.replace(/:(80|443)$/, '') === from)) return
  throw new ApiError('UNAUTHENTICATED', 'The Origin header names another site.')
}

export function writeSessionCookie({ headers }: Headers, value: string, forMs: number): string {
  const maxAge = Math.floor(forMs / 1_000)
  // The browser's own header decides; no header of a proxy is trusted.
  const secure = headers.origin?.startsWith('https:') ? '; Secure' : ''
  return `${SESSION_COOKIE}=${value}; Max-Age=${maxAge}; Path=/; HttpOnly; SameSite=Strict${secure}`
}

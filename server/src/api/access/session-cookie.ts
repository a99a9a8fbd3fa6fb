// The cookie of a session. A browser sends it by itself, also when another site's page makes it call us; so it counts only
// with a header that such a page cannot send, and never beside the Origin of another site.
import { createHmac } from 'node:crypto'
import { CLIENT_HEADER, SESSION_COOKIE } from '@carillon/contract/session.ts'
import type { FastifyRequest } from 'fastify'
import type { Secrets } from '../../ports/secrets.ts'
import { ApiError } from '../http/api-error.ts'

type Headers = Pick<FastifyRequest, 'headers'>

/**
 * The name of the cookie, one for each installation: a browser sends a cookie to every port of its host, so two servers
 * on a machine would overwrite each other's. All servers of an installation have the same.
 */
export type CookieName = () => Promise<string>

export function cookieNameOf(secrets: Pick<Secrets, 'tokenKey'>): CookieName {
  let found: string | null = null
  return async () => {
    found ??= `${SESSION_COOKIE}_${markOf(await secrets.tokenKey())}`
    return found
  }
}

/** 32 bits that say nothing about the key. */
function markOf(tokenKey: Uint8Array): string {
  return createHmac('sha256', tokenKey).update('session cookie').digest('hex').slice(0, 8)
}

/** Null: there is none. */
export async function readSessionCookie(
  { headers }: Headers,
  cookieName: CookieName,
): Promise<string | null> {
  if (headers.cookie === undefined) return null
  const wanted = await cookieName()
  for (const part of headers.cookie.split(';')) {
    const [name, ...value] = part.trim().split('=')
    if (name === wanted && value.length > 0) return value.join('=')
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

export function writeSessionCookie(
  { headers }: Headers,
  { name, value, forMs }: { name: string; value: string; forMs: number },
): string {
  const maxAge = Math.floor(forMs / 1_000)
  // The browser's own header decides; no header of a proxy is trusted.
  const secure = headers.origin?.startsWith('https:') ? '; Secure' : ''
  return `${name}=${value}; Max-Age=${maxAge}; Path=/; HttpOnly; SameSite=Strict${secure}`
}

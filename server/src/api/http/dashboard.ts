// The dashboard: its files from memory, compressed as the browser accepts them, and its page for every path that is one
// of its screens. Only built files are served, by exact name: there is no path that could lead elsewhere.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Answer } from './allowed-methods.ts'
import { pathOf } from './problem.ts'

export interface Dashboard {
  /** By path, such as `/index.html`. */
  files: ReadonlyMap<string, DashboardFile>
}

export interface DashboardFile {
  type: string
  etag: string
  plain: Buffer
  /** Null: it does not get smaller. */
  br: Buffer | null
  gzip: Buffer | null
  /** Its name changes with its content. */
  immutable: boolean
}

/** No inline script or style, nothing from another server, no framing. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const page = '/index.html'
const hidden = { schema: { hide: true } }

export function dashboardRoutes(app: FastifyInstance, { files }: Dashboard): void {
  app.get('/', hidden, (request, reply) => send(request, reply, files.get(page)!))
  // One route for all of them: their names would be as many labels of the metrics.
  app.get('/assets/*', hidden, (request, reply) => {
    const file = files.get(pathOf(request))
    return file === undefined ? reply.callNotFound() : send(request, reply, file)
  })
  for (const [path, file] of files) {
    if (!path.startsWith('/assets/')) app.get(path, hidden, (request, reply) => send(request, reply, file))
  }
}

/** A path that nobody serves may be a screen: then the answer is the page, which knows them. */
export function servePages({ files }: Dashboard, notFound: Answer): Answer {
  return (request, reply) =>
    isScreen(request) ? send(request, reply, files.get(page)!) : notFound(request, reply)
}

/** Paths that belong to other routes: an unknown path below them is not a screen. */
const taken = /^\/(?:api|docs|metrics|livez|readyz|openapi\.json|echo|assets)(?:\/|$)/

function isScreen(request: FastifyRequest): boolean {
  const path = pathOf(request)
  if (request.method !== 'GET' && request.method !== 'HEAD') return false
  return !path.includes('.') && !taken.test(path) && /\btext\/html\b/.test(request.headers.accept ?? '')
}

function send(request: FastifyRequest, reply: FastifyReply, file: DashboardFile): FastifyReply {
  const { body, encoding } = packed(file, String(request.headers['accept-encoding'] ?? ''))
  const etag = encoding === null ? `"${file.etag}"` : `"${file.etag}-${encoding}"`
  reply
    .header('content-security-policy', policy)
    .header('referrer-policy', 'no-referrer')
    .header('cross-origin-opener-policy', 'same-origin')
    .header('x-content-type-options', 'nosniff')
    .header('cache-control', file.immutable ? 'public, max-age=31536000, immutable' : 'no-cache')
    .header('vary', 'accept-encoding')
    .header('etag', etag)
  const known = String(request.headers['if-none-match'] ?? '').split(/\s*,\s*/)
  if (known.includes(etag) || known.includes(`W/${etag}`)) return reply.code(304).send()
  if (encoding !== null) reply.header('content-encoding', encoding)
  return reply.code(200).type(file.type).send(body)
}

function packed({ plain, br, gzip }: DashboardFile, accepted: string) {
  if (br !== null && takes(accepted, 'br')) return { body: br, encoding: 'br' }
  if (gzip !== null && takes(accepted, 'gzip')) return { body: gzip, encoding: 'gzip' }
  return { body: plain, encoding: null }
}

function takes(accepted: string, encoding: string): boolean {
  return new RegExp(`(?:^|[\\s,])${encoding}(?!\\s*;\\s*q=0(?:\\.0*)?(?:,|\\s|$))(?:[\\s,;]|$)`).test(
    accepted,
  )
}

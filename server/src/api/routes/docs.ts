// GET /docs: the API reference for people, and the style and script beside it. Nothing comes from elsewhere.
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { renderDocsPage } from '../docs-page.ts'
import type { Document } from '../docs-page-document.ts'

/** No inline script or style, nothing from another server, no framing, no calls. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function docsRoutes(app: FastifyInstance, readDocument: () => object): void {
  serve(app, '/docs', 'text/html; charset=utf-8', () => renderDocsPage(readDocument() as Document))
  serve(app, '/docs/page.css', 'text/css; charset=utf-8', () => readBeside('docs-page.css'))
  serve(app, '/docs/page.js', 'text/javascript; charset=utf-8', () => readBeside('docs-page.js'))
}

/** Made when it is first asked for, and kept: it does not change while the server runs. */
function serve(app: FastifyInstance, path: string, contentType: string, make: () => string): void {
  let made: { plain: Buffer; packed: Buffer } | null = null
  app.get(path, { schema: { hide: true } }, async (request, reply) => {
    if (made === null) {
      const plain = Buffer.from(make())
      made = { plain, packed: gzipSync(plain) }
    }
    return send(request, reply.type(contentType), made)
  })
}

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  { plain, packed }: { plain: Buffer; packed: Buffer },
): FastifyReply {
  reply
    .header('content-security-policy', policy)
    .header('referrer-policy', 'no-referrer')
    .header('cache-control', 'no-cache')
    .header('vary', 'accept-encoding')
  const takesPacked = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|\s|$))/.test(
    String(request.headers['accept-encoding'] ?? ''),
  )
  return takesPacked ? reply.header('content-encoding', 'gzip').send(packed) : reply.send(plain)
}

function readBeside(name: string): string {
  return readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')
}

// /docs: the pages of docs/ for people, their Markdown for programs, and the API reference that is made from the OpenAPI
// document, with the styles and scripts beside them. Nothing comes from elsewhere, and everything can be read without a key.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { renderDocsPage } from './docs-page.ts'
import type { Document } from './docs-page-document.ts'
import { type GuidePage, readGuide, readImage } from './guide-pages.ts'

/** No inline script or style, nothing from another server, no framing, no calls. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const types = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  markdown: 'text/markdown; charset=utf-8',
  text: 'text/plain; charset=utf-8',
}

interface Page {
  type: string
  make: () => string
  /** Made when it is first asked for, and kept: it does not change while the server runs. */
  made: { plain: Buffer; packed: Buffer; etag: string } | null
}

interface Guide {
  /** By their addresses. */
  pages: Map<string, Page>
  renderIndex: (document: Document) => Promise<string>
}

/** Read when the first page is asked for, once in a process. */
let guide: Promise<Guide> | null = null

export function docsRoutes(app: FastifyInstance, readDocument: () => object): void {
  const schema = { hide: true }
  const reference = pageOf(types.html, () => renderDocsPage(readDocument() as Document))
  const answer = async (request: FastifyRequest, reply: FastifyReply, path: string) => {
    guide ??= listPages()
    // A package without the docs has the reference still.
    const page = (await guide).pages.get(path) ?? (path === '/docs' ? reference : null)
    return page === null ? reply.callNotFound() : send(request, reply, page)
  }
  app.get('/docs/api', { schema }, async (request, reply) => send(request, reply, reference))
  let index: Promise<Page> | null = null
  const makeIndex = async () => {
    guide ??= listPages()
    const text = await (await guide).renderIndex(readDocument() as Document)
    return pageOf(types.js, () => text)
  }
  app.get('/docs/search-index.js', { schema }, async (request, reply) => {
    index ??= makeIndex().catch((error: unknown) => {
      // The next request tries again.
      index = null
      throw error
    })
    return send(request, reply, await index)
  })
  app.get('/docs', { schema }, async (request, reply) => answer(request, reply, '/docs'))
  app.get('/llms.txt', { schema }, async (request, reply) => answer(request, reply, '/llms.txt'))
  app.get<{ Params: { '*': string } }>('/docs/*', { schema }, async (request, reply) =>
    answer(request, reply, `/docs/${request.params['*']}`),
  )
  app.get<{ Params: { name: string } }>('/docs/images/:name', { schema }, async ({ params }, reply) => {
    const image = readImage(params.name)
    if (image === null) return reply.callNotFound()
    return withHeaders(reply.type('image/png')).send(image)
  })
}

async function listPages(): Promise<Guide> {
  // With the Markdown renderer, which a server that shows no docs never loads.
  const { addressOf, renderGuidePage, renderLlmsText } = await import('./guide-html.ts')
  const { renderSearchIndex } = await import('./search-index.ts')
  const sections = readGuide()
  const found = new Map<string, Page>()
  for (const page of sections.flatMap(({ pages }) => pages)) {
    const html = pageOf(types.html, () => renderGuidePage(sections, page))
    found.set(addressOf(page), html)
    const markdown = pageOf(types.markdown, () => page.text)
    for (const name of markdownNamesOf(page)) found.set(`/docs/${name}.md`, markdown)
  }
  const everyPage = ['guide.js', 'docs-tabs.js', 'docs-search-rank.js', 'docs-search.js']
  const beside: [string, string, string[]][] = [
    ['/docs/page.css', types.css, ['docs-page.css', 'docs-search.css']],
    ['/docs/guide.css', types.css, ['guide.css']],
    // The reference does all that a page of the docs does, and more.
    ['/docs/page.js', types.js, [...everyPage, 'docs-page.js']],
    ['/docs/guide.js', types.js, everyPage],
  ]
  for (const [path, type, files] of beside)
    found.set(
      path,
      pageOf(type, () => files.map(readBeside).join('\n')),
    )
  found.set(
    '/llms.txt',
    pageOf(types.text, () => renderLlmsText(sections)),
  )
  return { pages: found, renderIndex: (document) => renderSearchIndex(sections, document) }
}

function pageOf(type: string, make: () => string): Page {
  return { type, make, made: null }
}

/** Under the name of the page, and under that of its file. */
function markdownNamesOf({ name, file }: GuidePage): Set<string> {
  const stem = file.startsWith('docs/') ? file.slice('docs/'.length, -'.md'.length) : name
  return new Set([name === '' ? 'README' : name, stem])
}

function send(request: FastifyRequest, reply: FastifyReply, page: Page): FastifyReply {
  if (page.made === null) {
    const plain = Buffer.from(page.make())
    const hash = createHash('sha256').update(plain).digest('base64url').slice(0, 22)
    // Weak: the same for both codings.
    page.made = { plain, packed: gzipSync(plain), etag: `W/"${hash}"` }
  }
  const { plain, packed, etag } = page.made
  withHeaders(reply.type(page.type)).header('etag', etag)
  if (String(request.headers['if-none-match'] ?? '').includes(etag.slice(2))) return reply.code(304).send()
  const takesPacked = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|\s|$))/.test(
    String(request.headers['accept-encoding'] ?? ''),
  )
  return takesPacked ? reply.header('content-encoding', 'gzip').send(packed) : reply.send(plain)
}

function withHeaders(reply: FastifyReply): FastifyReply {
  return reply
    .header('content-security-policy', policy)
    .header('referrer-policy', 'no-referrer')
    .header('cache-control', 'no-cache')
    .header('vary', 'accept-encoding')
}

function readBeside(name: string): string {
  return readFileSync(new URL(`./${name}`, import.meta.url), 'utf8')
}

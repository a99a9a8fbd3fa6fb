import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import test from 'node:test'
import { gunzipSync } from 'node:zlib'
import { ERRORS } from '@carillon/contract/errors.ts'
import { setupApp } from '../../../test/app.ts'
import { addressOf } from './guide-html.ts'
import { readGuide } from './guide-pages.ts'

test('the reference shows every operation of the document and every error, without a key', async (t) => {
  const { get } = await setupApp(t)
  const answer = await get('/docs/api')
  assert.equal(answer.statusCode, 200)
  assert.match(String(answer.headers['content-type']), /^text\/html; charset=utf-8/)
  const shown = answer.body.replace(/<wbr>/g, '').replace(/<[^>]*>/g, ' ')
  const { paths } = (await get('/openapi.json')).json()
  for (const [path, item] of Object.entries<Record<string, { summary: string }>>(paths)) {
    assert(shown.includes(path), path)
    for (const { summary } of Object.values(item)) {
      assert(shown.includes(summary.replaceAll("'", '&#39;').replaceAll('"', '&quot;')), summary)
    }
  }
  for (const code of Object.keys(ERRORS)) assert(shown.includes(code), code)
  assert(!paths['/docs'], 'the page is no part of the API')
})

test('every link on it leads to a place on it or to this server', async (t) => {
  const { get } = await setupApp(t)
  const { body } = await get('/docs/api')
  const ids = [...body.matchAll(/ id="([^"]+)"/g)].map((match) => match[1]!)
  assert.equal(new Set(ids).size, ids.length, 'an id stands twice')
  const links = [...body.matchAll(/ (?:href|src)="([^"]+)"/g)].map((match) => match[1]!)
  assert(links.length > 20)
  for (const link of new Set(links)) {
    if (link.startsWith('#')) assert(ids.includes(link.slice(1)), link)
    else if (link !== 'data:,') assert.equal((await get(link)).statusCode, 200, link)
  }
})

test('nothing on it comes from elsewhere, and no script but its own can run', async (t) => {
  const { get } = await setupApp(t)
  for (const path of [
    '/docs/api',
    '/docs/page.css',
    '/docs/page.js',
    '/docs',
    '/docs/guide.css',
    '/docs/guide.js',
  ]) {
    const { statusCode, headers, body } = await get(path)
    assert.equal(statusCode, 200, path)
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/)
    assert.doesNotMatch(policy, /unsafe|https?:|\*/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.doesNotMatch(body, /<script>|<script [^>]*>[^<]|<style|\son\w+="|\sstyle="/)
    // The examples of the reference call the API; the page does not.
    const own = body.replace(/<pre[\s\S]*?<\/pre>/g, '')
    assert.doesNotMatch(own, /src="https?:|<link[^>]* href="https?:|url\(|@import|fetch\(|XMLHttpRequest/)
  }
})

test('a client that accepts gzip gets the page compressed, and any other client does not', async (t) => {
  const { app, get } = await setupApp(t)
  const plain = await get('/docs/api')
  assert.equal(plain.headers['content-encoding'], undefined)
  const packed = await app.inject({ url: '/docs/api', headers: { 'accept-encoding': 'gzip, br' } })
  assert.equal(packed.headers['content-encoding'], 'gzip')
  assert.equal(gunzipSync(packed.rawPayload).toString(), plain.body)
  assert(packed.rawPayload.length < plain.rawPayload.length / 4)
  const refused = await get('/docs/api', { 'accept-encoding': 'gzip;q=0' })
  assert.equal(refused.headers['content-encoding'], undefined)
})

const pages = readGuide().flatMap((section) => section.pages)

test('every page of docs/ is served as HTML and as Markdown, and is in the index for programs', async (t) => {
  const { get } = await setupApp(t)
  const index = (await get('/llms.txt')).body
  for (const file of ['docs/README.md', 'docs/quickstart.md', 'docs/schedules.md', 'docs/comparison.md'])
    assert(
      pages.some((page) => page.file === file),
      file,
    )
  for (const page of pages) {
    const answer = await get(addressOf(page))
    assert.equal(answer.statusCode, 200, page.file)
    assert.match(String(answer.headers['content-type']), /^text\/html/)
    const markdownPath = /<link rel="alternate" type="text\/markdown" href="([^"]+)">/.exec(answer.body)![1]!
    const markdown = await get(markdownPath)
    assert.match(String(markdown.headers['content-type']), /^text\/markdown/)
    assert.equal(markdown.body, page.text)
    assert(index.includes(`(${markdownPath})`), markdownPath)
  }
  assert.equal((await get('/docs/api.md')).body, pages.find(({ file }) => file === 'docs/api.md')!.text)
})

test('every link within the docs leads to a page, and its fragment to a place on it', async (t) => {
  const { get } = await setupApp(t)
  const bodies = new Map<string, string>()
  const read = async (path: string) => {
    if (!bodies.has(path)) {
      const { statusCode, body } = await get(path)
      assert.equal(statusCode, 200, path)
      bodies.set(path, body)
    }
    return bodies.get(path)!
  }
  for (const page of pages) {
    const address = addressOf(page)
    const body = await read(address)
    const ids = [...body.matchAll(/ id="([^"]+)"/g)].map((match) => match[1]!)
    assert.equal(new Set(ids).size, ids.length, `an id stands twice on ${address}`)
    assert.doesNotMatch(
      body,
      /<a href="\/docs[^>]*>[\w/-]+\.md<\/a>/,
      `${address} shows a file name for a page`,
    )
    for (const [, link] of body.matchAll(/ (?:href|src)="([^"]+)"/g)) {
      if (/^(https?:|mailto:|data:)/.test(link!) || link === '/') continue
      const [path, fragment] = link!.split('#', 2)
      const target = await read(path === '' ? address : path!)
      if (fragment) assert(target.includes(` id="${fragment}"`), `${page.file} links to ${link}`)
    }
  }
})

test('the pages and the reference name the variable of the API key in one way', async (t) => {
  const { get } = await setupApp(t)
  const reference = { file: 'the API reference', text: (await get('/docs/api')).body }
  for (const { file, text } of [...pages, reference])
    if (!file.includes('CHANGELOG')) assert.doesNotMatch(text, /\$KEY\b|\bCARILLON_KEY\b/, file)
})

test('the Markdown renderer is loaded with the first page of the docs, not with the API', () => {
  const script = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context) } })
    const count = () => loaded.filter((url) => url.includes('/markdown-it/')).length
    await import('${import.meta.resolve('../app.ts')}')
    const before = count()
    await import('${import.meta.resolve('./guide-html.ts')}')
    console.log(before, count())`
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  assert.equal(out, '0 1\n')
})

test('a path that is not in the docs is not found, in any spelling', async (t) => {
  const { get } = await setupApp(t)
  for (const path of [
    '/docs/nothing',
    '/docs/..%2fpackage.json',
    '/docs/images/..%2f..%2fREADME.md',
    '/docs/images/x.png',
  ])
    assert.equal((await get(path)).statusCode, 404, path)
})

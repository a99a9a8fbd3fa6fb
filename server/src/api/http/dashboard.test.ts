import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { assertProblem, setupApp } from '../../../test/app.ts'
import type { DashboardFile } from './dashboard.ts'

const page = '<!doctype html><title>The dashboard</title>'
const script = 'export const words = "'.concat('hello '.repeat(200), '"')

function fileOf(text: string, type: string, immutable: boolean): DashboardFile {
  const plain = Buffer.from(text)
  return { type, etag: 'abc', plain, br: brotliCompressSync(plain), gzip: gzipSync(plain), immutable }
}

async function setup(t: TestContext) {
  const files = new Map([
    ['/index.html', fileOf(page, 'text/html; charset=utf-8', false)],
    ['/favicon.svg', fileOf('<svg/>', 'image/svg+xml', false)],
    ['/assets/index-123.js', fileOf(script, 'text/javascript; charset=utf-8', true)],
  ])
  return setupApp(t, { dashboard: { files } })
}

test('the page allows no inline script, no other server and no frame, and is asked for anew each time', async (t) => {
  const { get } = await setup(t)
  const { statusCode, headers, body } = await get('/')
  assert.deepEqual([statusCode, body], [200, page])
  const policy = String(headers['content-security-policy'])
  assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self';/)
  assert.match(policy, /frame-ancestors 'none'/)
  assert.doesNotMatch(policy, /unsafe|http/)
  assert.deepEqual(
    [headers['cache-control'], headers['x-content-type-options'], headers['referrer-policy']],
    ['no-cache', 'nosniff', 'no-referrer'],
  )
})

test('files with names that change with their content are cached indefinitely', async (t) => {
  const { get } = await setup(t)
  const { headers } = await get('/assets/index-123.js')
  assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
  assert.equal((await get('/favicon.svg')).headers['cache-control'], 'no-cache')
})

test('each file comes packed as the browser takes it, with a mark of its own', async (t) => {
  const { app } = await setup(t)
  const ask = (accepted: string) =>
    app.inject({ url: '/assets/index-123.js', headers: { 'accept-encoding': accepted } })
  const br = await ask('gzip, deflate, br')
  assert.deepEqual([br.headers['content-encoding'], br.headers['vary']], ['br', 'accept-encoding'])
  assert.equal(brotliDecompressSync(br.rawPayload).toString(), script)
  const gzip = await ask('gzip, br;q=0')
  assert.equal(gzip.headers['content-encoding'], 'gzip')
  assert.equal(gunzipSync(gzip.rawPayload).toString(), script)
  for (const none of ['', 'identity', 'gzip;q=0, br;q=0.0', 'abrupt']) {
    const plain = await ask(none)
    assert.deepEqual([plain.headers['content-encoding'], plain.body], [undefined, script], none)
  }
  const marks = [br, gzip, await ask('')].map(({ headers }) => headers['etag'])
  assert.equal(new Set(marks).size, 3)
})

test('a page that the browser has already is not sent again', async (t) => {
  const { get } = await setup(t)
  const { headers } = await get('/')
  const mark = String(headers['etag'])
  for (const known of [mark, `W/${mark}`, `"other", ${mark}`]) {
    const again = await get('/', { 'if-none-match': known })
    assert.deepEqual([again.statusCode, again.body, again.headers['etag']], [304, '', mark])
  }
  assert.equal((await get('/', { 'if-none-match': '"other"' })).statusCode, 200)
})

test('every path that may be a screen is answered with the page, and no other', async (t) => {
  const { app, get } = await setup(t)
  const browser = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }
  for (const path of ['/jobs', '/jobs/0192/edit?tab=slots', '/executions', '/docsy', '/api-keys'])
    assert.equal((await get(path, browser)).body, page, path)
  const head = await app.inject({ method: 'HEAD', url: '/jobs', headers: browser })
  assert.equal(head.statusCode, 200)
  const others = [
    '/api',
    '/api/v2/jobs',
    '/docs/nothing',
    '/metrics/x',
    '/livez/x',
    '/assets/gone-1.js',
    '/a.js',
  ]
  for (const path of others) assertProblem(await get(path, browser), 'ROUTE_NOT_FOUND')
  assertProblem(await get('/jobs', { accept: '*/*' }), 'ROUTE_NOT_FOUND')
  assertProblem(await get('/jobs'), 'ROUTE_NOT_FOUND')
  const post = await app.inject({ method: 'POST', url: '/jobs', headers: browser })
  assertProblem(post, 'ROUTE_NOT_FOUND')
})

test('no path leads out of the built files', async (t) => {
  const { get } = await setup(t)
  const paths = [
    '/assets/..%2findex.html',
    '/assets/%2e%2e%2ffavicon.svg',
    '/assets//index-123.js',
    '/assets/',
  ]
  for (const path of paths) assertProblem(await get(path), 'ROUTE_NOT_FOUND')
})

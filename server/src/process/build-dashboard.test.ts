// Real Vite builds of a one-line dashboard.
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../test/cleanup.ts'
import { checkoutDir } from '../config/read.ts'
import { prepareDashboard } from './build-dashboard.ts'

async function setup(t: TestContext) {
  // Within the checkout, where Vite is found.
  const dir = await mkdtemp(join(checkoutDir, 'node_modules', '.dashboard-'))
  cleanUp(t, () => rm(dir, { recursive: true }))
  const write = (name: string, text: string) => writeFile(join(dir, name), text)
  await write('package.json', '{ "type": "module" }')
  await write('vite.config.ts', 'export default {}')
  await write('index.html', '<!doctype html><title>One</title><script type="module" src="/main.js"></script>')
  await write('main.js', 'document.title = "built"')
  const said: string[] = []
  const prepare = async (signal = new AbortController().signal) => {
    said.length = 0
    const onBuild = () => void said.push('building')
    const onFailure = (reason: string) => void said.push(reason)
    const { files } = await prepareDashboard({ dir, signal, onBuild, onFailure })
    return { said: [...said], names: [...files.keys()], page: files.get('/index.html')!.plain.toString() }
  }
  return { dir, write, prepare }
}

test('it is built when it is missing, not again while nothing changes, and again when a source does', async (t) => {
  const { dir, write, prepare } = await setup(t)
  const first = await prepare()
  assert.deepEqual(first.said, ['building'])
  assert(first.names.some((name) => /^\/assets\/index-\S+\.js$/.test(name)))
  assert.match(first.page, /<title>One/)
  assert.deepEqual((await prepare()).said, [])
  await write('index.html', '<!doctype html><title>Two</title>')
  const later = (await stat(join(dir, 'index.html'))).mtimeMs / 1_000 + 5
  await utimes(join(dir, 'index.html'), later, later)
  const second = await prepare()
  assert.deepEqual(second.said, ['building'])
  assert.match(second.page, /<title>Two/)
  // Vite keeps its own temporary directory there.
  assert.deepEqual(await readdir(join(dir, 'node_modules')), ['.vite-temp'])
})

test('a build that fails says why in one line, and the page says it too', async (t) => {
  const { write, prepare } = await setup(t)
  await write('main.js', 'import "./nowhere.js"')
  const { said, page } = await prepare()
  assert.equal(said[0], 'building')
  assert.equal(said.length, 2)
  assert.match(said[1]!, /^\S+ Could not resolve '\.\/nowhere\.js' in main\.js \(main\.js:1:8\)$/)
  assert.match(page, /The server runs\. The dashboard is not there: .*nowhere\.js/)
})

test('after a build that fails, the one before is served', async (t) => {
  const { dir, write, prepare } = await setup(t)
  await prepare()
  await write('main.js', 'import "./nowhere.js"')
  const later = (await stat(join(dir, 'main.js'))).mtimeMs / 1_000 + 5
  await utimes(join(dir, 'main.js'), later, later)
  const { said, page } = await prepare()
  assert.equal(said.length, 2)
  assert.match(page, /<title>One/)
})

test('without sources the existing build is served, and without any build a page that says so', async (t) => {
  const { dir, prepare } = await setup(t)
  await prepare()
  await rm(join(dir, 'vite.config.ts'))
  const built = await prepare()
  assert.deepEqual(built.said, [])
  assert.match(built.page, /<title>One/)
  await rm(join(dir, 'dist'), { recursive: true })
  const none = await prepare()
  assert.deepEqual(none.said, [])
  assert.match(none.page, /The dashboard is not there: it is not built\./)
})

test('two starts that build at once both serve a whole dashboard', async (t) => {
  const { prepare } = await setup(t)
  for (const { names } of await Promise.all([prepare(), prepare()])) assert.equal(names.length, 2)
})

test('a stop ends the build, and nothing is said of it', async (t) => {
  const { prepare } = await setup(t)
  const stop = new AbortController()
  const prepared = prepare(stop.signal)
  stop.abort()
  assert.deepEqual((await prepared).said, ['building'])
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { setupApp } from '../../../test/app.ts'
import type { Document } from './docs-page-document.ts'
import { search } from './docs-search-rank.js'
import { readGuide } from './guide-pages.ts'
import { makeSearchIndex, type SearchIndex } from './search-index.ts'

const sections = readGuide()

async function readIndex(get: Awaited<ReturnType<typeof setupApp>>['get']): Promise<SearchIndex> {
  const { body } = await get('/docs/search-index.js')
  return JSON.parse(/^export const index = (.*)$/m.exec(body)![1]!)
}

test('every guide, every call and every error is in the search index, at a place that exists', async (t) => {
  const { get } = await setupApp(t)
  const { pages, passages } = await readIndex(get)
  assert.equal(pages.length, sections.flatMap((section) => section.pages).length + 1)
  const bodies = new Map<string, string>()
  for (const [, path] of pages) bodies.set(path, (await get(path)).body)
  for (const [page, id, heading] of passages) {
    const path = pages[page]![1]
    assert(heading.length > 0, path)
    if (id !== '') assert(bodies.get(path)!.includes(` id="${id}"`), `${path}#${id}`)
  }
  const reference = bodies.get('/docs/api')!
  const operations = reference.match(/class="operation" id="(?!start)/g)!.length
  const errors = reference.match(/<tr id="error-/g)!.length
  const ofReference = passages.filter(([page]) => pages[page]![1] === '/docs/api')
  assert.equal(ofReference.length, operations + errors)
})

test('a query leads to the passage that answers it', async (t) => {
  const { get } = await setupApp(t)
  const index = await readIndex(get)
  for (const [query, address] of [
    ['how do I verify the signature', '/docs/receivers#verify-the-signature'],
    ['verifying signatures', '/docs/receivers#verify-the-signature'],
    ['pause a job', '/docs/api#patch-api-v1-jobs-job-id-pause'],
    ['JOB_DELETED', '/docs/api#error-JOB_DELETED'],
    ['Idempotency-Key', '/docs/api-by-example#idempotency-keys'],
    ['overlap policies', '/docs/api-by-example#overlap-policies'],
    ['POST /api/v1/jobs/bulk', '/docs/api#post-api-v1-jobs-bulk'],
    ['CARILLON_ARTIFACT_CPU_SECONDS', '/docs/config'],
    ['clock changes', '/docs/schedules#clock-changes'],
  ] as const) {
    const { all, results } = search(index, query)
    assert(all, query)
    const first = results.slice(0, 3).map((one: { address: string }) => one.address)
    assert(first.includes(address), `${query} leads to ${first.join(', ')}`)
  }
})

const small: SearchIndex = {
  pages: [
    ['Bells', '/docs/bells', 1],
    ['Old bells', '/docs/old', 0.4],
  ],
  passages: [
    [0, '', 'Bells', 'A bell rings (at noon) and retries.'],
    [0, 'tower', 'The tower', 'Ropes hang there. '.repeat(40)],
    [1, 'ring', 'Ring', 'A bell rings at noon and retries.'],
  ],
}

test('a query with words that nothing has shows the closest passages, and says so', () => {
  const { all, results } = search(small, 'noon elephant')
  assert.equal(all, false)
  assert.deepEqual(
    results.map((one: { address: string }) => one.address),
    ['/docs/bells', '/docs/old#ring'],
  )
  assert.deepEqual(search(small, 'elephant').results, [])
  assert.deepEqual(search(small, '  ').results, [])
})

test('an inflected word is found by its stem, and a query is never read as a pattern', () => {
  for (const query of ['retry', 'retried', '(at noon)', 'BELL'])
    assert.equal(search(small, query).results[0]?.address, '/docs/bells', query)
  for (const query of ['[', '(', '\\', '.*', '$&', '|', '?'.repeat(200), '(a+)+$'])
    assert.doesNotThrow(() => search(small, query), query)
})

test('a long passage is shown by the line of the first hit', () => {
  const result = search(small, 'hang').results[0]!
  const line = result.line.map(([text]: [string]) => text).join('')
  assert(line.length < 200, line)
  assert(result.line.some(([text, isHit]: [string, boolean]) => isHit && text === 'hang'))
})

test('the index is bounded: beyond its size a page is found by its headings only, the least important first', async () => {
  const none: Document = { info: { title: '', version: '' } }
  const whole = await makeSearchIndex(sections, none)
  assert(JSON.stringify(whole).length < 1_000_000, `${JSON.stringify(whole).length} characters`)
  const cut = await makeSearchIndex(sections, none, 100_000)
  assert.equal(cut.passages.length, whole.passages.length)
  const length = cut.passages.reduce((sum, [, , , text]) => sum + text.length, 0)
  assert(length <= 100_000)
  const lastPage = cut.passages.at(-1)!
  assert.equal(cut.pages[lastPage[0]]![2], 0.4)
  assert.equal(lastPage[3], '')
})

test('a browser that has the index is told so', async (t) => {
  const { get } = await setupApp(t)
  const first = await get('/docs/search-index.js')
  assert.match(String(first.headers['content-type']), /^text\/javascript/)
  const etag = String(first.headers['etag'])
  const again = await get('/docs/search-index.js', { 'if-none-match': etag })
  assert.equal(again.statusCode, 304)
  assert.equal(again.body, '')
  const other = await get('/docs/search-index.js', { 'if-none-match': '"another"' })
  assert.equal(other.statusCode, 200)
})

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, setupApp } from '../../../test/app.ts'

const execution = { callback_url: 'http://127.0.0.1:7420/echo' }

interface Page {
  jobs: { name: string }[]
  pagination: { next_cursor: string | null; total: number; page?: number }
}

/** With jobs of these names, the last one newest. */
async function setup(t: TestContext, jobs: Record<string, unknown>[]) {
  const parts = await setupApp(t)
  const ids: string[] = []
  for (const job of jobs) {
    const answer = await parts.call('POST', '/jobs', { schedule: '@daily', execution, ...job })
    assert.equal(answer.statusCode, 201, answer.body)
    ids.push(answer.json().job_id)
  }
  const list = async (query = ''): Promise<Page> => {
    const answer = await parts.call('GET', `/jobs?${query}`)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json()
  }
  const namesOf = (page: Page) => page.jobs.map(({ name }) => name)
  return { ...parts, ids, list, namesOf, find: async (query: string) => namesOf(await list(query)) }
}

const named = (...names: string[]) => names.map((name) => ({ name }))

test('jobs are listed newest first, without the deleted ones', async (t) => {
  const { call, ids, list, namesOf, find } = await setup(t, named('a', 'b', 'c'))
  await call('DELETE', `/jobs/${ids[1]}`)
  const page = await list()
  assert.deepEqual(namesOf(page), ['c', 'a'])
  assert.deepEqual(page.pagination, { limit: 50, total: 2, total_capped: false, next_cursor: null })
  const { stats: _, ...shown } = (await call('GET', `/jobs/${ids[2]}`)).json()
  assert.deepEqual(page.jobs[0], shown)
  assert.deepEqual(await find('status=DELETED'), ['b'])
})

test('a list is narrowed by status, tag, and part of name, key or tag', async (t) => {
  const jobs = [
    { name: 'Daily Report', tags: ['sales', 'pdf'] },
    { name: 'Cleanup', key: 'nightly-cleanup', tags: ['ops'] },
    { name: 'Weekly report', tags: ['ops'] },
  ]
  const { call, ids, find } = await setup(t, jobs)
  await call('PATCH', `/jobs/${ids[2]}/pause`)
  assert.deepEqual(await find('tag=ops'), ['Weekly report', 'Cleanup'])
  assert.deepEqual(await find('status=PAUSED'), ['Weekly report'])
  assert.deepEqual(await find('tag=ops&status=ACTIVE'), ['Cleanup'])
  assert.deepEqual(await find('q=REPORT'), ['Weekly report', 'Daily Report'])
  assert.deepEqual(await find('q=nightly'), ['Cleanup'])
  assert.deepEqual(await find('q=pdf'), ['Daily Report'])
  assert.deepEqual(await find('q=100%25'), [])
  assert.deepEqual(await find('tag=sal'), [])
})

test('pages follow each other by cursor, even when jobs are added meanwhile', async (t) => {
  const { call, list, namesOf } = await setup(t, named('a', 'b', 'c', 'd', 'e'))
  const seen: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: Page = await list(`limit=2${cursor}`)
    seen.push(...namesOf(page))
    await call('POST', '/jobs', { name: 'new', schedule: '@daily', execution })
    cursor = page.pagination.next_cursor === null ? null : `&cursor=${page.pagination.next_cursor}`
  }
  assert.deepEqual(seen, ['e', 'd', 'c', 'b', 'a'])
})

test('pages can be asked for by number, and a cursor leads on from one', async (t) => {
  const { list, namesOf } = await setup(t, named('a', 'b', 'c', 'd', 'e'))
  const second = await list('limit=2&page=2')
  assert.deepEqual(namesOf(second), ['c', 'b'])
  const { next_cursor: cursor, ...pagination } = second.pagination
  assert.deepEqual(pagination, { limit: 2, page: 2, total: 5, total_capped: false })
  assert.deepEqual(namesOf(await list(`limit=2&cursor=${cursor}`)), ['a'])
  assert.deepEqual(namesOf(await list('limit=2&page=9')), [])
  await list('limit=200&page=50')
})

test('each wrong question is refused by its parameter', async (t) => {
  const { call, list } = await setup(t, named('a', 'b'))
  const ask = (query: string) => call('GET', `/jobs?${query}`)
  const { next_cursor: good } = (await list('limit=1')).pagination
  assertProblem(await ask(`cursor=${good}&page=1`), 'INVALID_REQUEST', 'page')
  assertProblem(await ask('limit=200&page=51'), 'INVALID_REQUEST', 'page')
  for (const page of ['0', '-1', 'x', '10001', '1.5'])
    assertProblem(await ask(`page=${page}`), 'INVALID_REQUEST', 'page')
  for (const limit of ['0', '201']) assertProblem(await ask(`limit=${limit}`), 'INVALID_REQUEST', 'limit')
  assertProblem(await ask('status=running'), 'INVALID_REQUEST', 'status')
  assertProblem(await ask('q='), 'INVALID_REQUEST', 'q')
  assertProblem(await ask('name=a'), 'INVALID_REQUEST', 'name')
  const other = Buffer.from(JSON.stringify(['executions', '0192abcd-ef01-7000-8000-000000000001']))
  assertProblem(await ask(`cursor=${other.toString('base64url')}`), 'INVALID_CURSOR', 'cursor')
})

test('a list has payloads only if it is asked for them, and says which words it knows', async (t) => {
  const jobs = ['a', null, undefined].map((payload) => ({ name: 'x', execution: { ...execution, payload } }))
  const { call, list } = await setup(t, jobs)
  const payloadsOf = (page: Page) =>
    page.jobs.map((job) => (job as unknown as { execution: object }).execution)
  const without = { type: 'http', method: 'POST', headers: {}, timeout_seconds: 300, ...execution }
  assert.deepEqual(payloadsOf(await list()), [without, without, without])
  assert.deepEqual(payloadsOf(await list('include=payload')), [
    without,
    { ...without, payload: null },
    { ...without, payload: 'a' },
  ])
  for (const path of ['/jobs', '/dead-letters', '/jobs/01941f29-7c00-7000-8000-000000000000/versions'])
    assertProblem(await call('GET', `${path}?include=everything`), 'INVALID_REQUEST', 'include')
  assertProblem(await call('GET', '/jobs?include=payload&page=1'), 'INVALID_REQUEST', 'page')
})

test('a page of large payloads has at most 2 MiB, and its cursor goes on exactly there', async (t) => {
  const parts = await setupApp(t)
  const made: string[] = []
  for (let n = 0; n < 200; n++) {
    const payload = { n, text: 'é'.repeat(125_000) }
    const answer = await parts.call('POST', '/jobs', {
      name: 'large',
      schedule: '@daily',
      execution: { ...execution, payload },
    })
    assert.equal(answer.statusCode, 201, answer.body)
    made.push(answer.json().job_id)
  }
  const seen: string[] = []
  const sizes: number[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const answer = await parts.call('GET', `/jobs?limit=200&include=payload${cursor}`)
    sizes.push(Buffer.byteLength(answer.body))
    const { jobs, pagination } = answer.json()
    for (const job of jobs) {
      assert.equal(job.execution.payload.n, made.indexOf(job.job_id))
      seen.push(job.job_id)
    }
    cursor = pagination.next_cursor === null ? null : `&cursor=${pagination.next_cursor}`
  }
  assert.deepEqual(seen, made.toReversed())
  assert(Math.max(...sizes) <= 2 * 1024 * 1024, `${sizes}`)
  assert.equal(sizes.length, 25)
  assert(Buffer.byteLength((await parts.call('GET', '/jobs?limit=200')).body) < 300_000)
})

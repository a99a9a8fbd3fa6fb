// Lists of jobs by how they go.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, runAll, setupApp } from '../../../test/app.ts'

const execution = { callback_url: 'http://127.0.0.1:7420/echo' }
const broken = {
  outcome: 'failed',
  httpStatus: 503,
  error: { type: 'HTTP_ERROR', message: 'Callback returned 503 Service Unavailable' },
} as const

async function setup(t: TestContext) {
  const bundle = await setupApp(t)
  const { call, world } = bundle
  const ids: string[] = []
  for (const name of ['a', 'b', 'c', 'd']) {
    const made = await call('POST', '/jobs', { name, schedule: '@daily', execution })
    ids.push(made.json().job_id)
  }
  const run = async (name: string, end: object = {}) => {
    const made = await call('POST', `/jobs/${ids['abcd'.indexOf(name)]}/trigger`)
    assert.equal(made.statusCode, 202, made.body)
    await world.advance(1_000)
    await runAll(bundle, end)
    return made.json().execution_id as string
  }
  const list = async (query: string) => {
    const answer = await call('GET', `/jobs?${query}`)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json()
  }
  const namesOf = (page: { jobs: { name: string }[] }) => page.jobs.map(({ name }) => name).join('')
  return { ...bundle, ids, run, list, namesOf }
}

test('a list begins with the failing jobs, and each job has its last result', async (t) => {
  const { run, list, namesOf, call, ids } = await setup(t)
  await run('b')
  await run('a', broken)
  const since = (await list('health=failing')).jobs[0].last_execution.finished_at
  const last = await run('a', broken)
  await run('c', { ...broken, outcome: 'timed_out' })
  const page = await list('sort=failing_first')
  assert.equal(namesOf(page), 'cadb')
  const { health, last_execution, consecutive_failures, failing_since, recovered_at } = page.jobs[1]
  assert.deepEqual([health, consecutive_failures, failing_since, recovered_at], ['FAILING', 2, since, null])
  assert.deepEqual(last_execution, {
    execution_id: last,
    status: 'FAILED',
    finished_at: last_execution.finished_at,
    http_status: 503,
    error: broken.error,
  })
  const shown = page.jobs.map(
    ({ health, last_execution }: { health: string | null; last_execution: { status: string } | null }) => [
      health,
      last_execution?.status ?? null,
    ],
  )
  const failing = [
    ['FAILING', 'TIMED_OUT'],
    ['FAILING', 'FAILED'],
  ]
  assert.deepEqual(shown, [...failing, [null, null], ['HEALTHY', 'SUCCEEDED']])
  assert.deepEqual(page.jobs[3].last_execution.error, null)
  assert(page.health_as_of > since)
  const { stats: _, ...detail } = (await call('GET', `/jobs/${ids[0]}`)).json()
  assert.deepEqual(detail, page.jobs[1])
  assert.equal(namesOf(await list('')), 'dcba')
  const only = await list('health=FAILING')
  assert.deepEqual([namesOf(only), only.pagination.total], ['ca', 2])
  assert.equal(namesOf(await list('health=flaky')), '')
})

test('pages of such a list have every job once, and refuse the cursor of another list', async (t) => {
  const { run, list, namesOf, call } = await setup(t)
  await run('a', broken)
  await run('b', broken)
  let names = ''
  let cursor = ''
  for (let page = 0; page < 4; page++) {
    const found = await list(`sort=failing_first&limit=1${cursor}`)
    names += namesOf(found)
    assert.equal(found.pagination.total, 4)
    cursor = `&cursor=${found.pagination.next_cursor}`
  }
  assert.equal(names, 'badc')
  assert.equal(cursor, '&cursor=null')
  const { next_cursor: next } = (await list('sort=failing_first&limit=1')).pagination
  assertProblem(await call('GET', `/jobs?cursor=${next}`), 'INVALID_CURSOR', 'cursor')
  assertProblem(await call('GET', `/jobs?health=FAILING&cursor=${next}`), 'INVALID_CURSOR', 'cursor')
  for (const place of [
    '1',
    ' x',
    `99999999999999999 ${'0'.repeat(8)}-0000-7000-8000-000000000000`,
    7,
    null,
  ]) {
    const made = Buffer.from(JSON.stringify(['jobs_failing_first', place])).toString('base64url')
    assertProblem(await call('GET', `/jobs?sort=failing_first&cursor=${made}`), 'INVALID_CURSOR', 'cursor')
  }
})

test('conditions that contradict a list by health are refused by name', async (t) => {
  const { call } = await setup(t)
  assertProblem(await call('GET', '/jobs?health=HEALTHY'), 'INVALID_REQUEST', 'health')
  assertProblem(await call('GET', '/jobs?sort=name'), 'INVALID_REQUEST', 'sort')
  assertProblem(await call('GET', '/jobs?sort=failing_first&page=1'), 'INVALID_REQUEST', 'page')
  assertProblem(await call('GET', '/jobs?health=FAILING&page=1'), 'INVALID_REQUEST', 'page')
  assertProblem(await call('GET', '/jobs?health=FAILING&sort=newest'), 'INVALID_REQUEST', 'sort')
})

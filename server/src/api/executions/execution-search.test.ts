import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, runAll, setupApp } from '../../../test/app.ts'

const nobody = '0192abcd-ef01-7000-8000-000000000001'

async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const createJob = async (name: string, tags: string[] = []): Promise<string> => {
    const execution = { callback_url: 'http://127.0.0.1:7420/echo' }
    const request = { name, tags, schedule: '@daily', overlap_policy: 'ALLOW', execution }
    return (await parts.call('POST', '/jobs', request)).json().job_id
  }
  const run = async (jobId: string, change: Parameters<typeof runAll>[1] = {}): Promise<string> => {
    const { execution_id: executionId } = (await parts.call('POST', `/jobs/${jobId}/trigger`)).json()
    await runAll(parts, change)
    return executionId
  }
  const search = async (query = '') => {
    const answer = await parts.call('GET', `/executions?${query}`)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json()
  }
  const find = async (query: string): Promise<string[]> =>
    (await search(query)).executions.map((one: { execution_id: string }) => one.execution_id)
  return { ...parts, createJob, run, search, find }
}

const timeout = {
  outcome: 'timed_out',
  httpStatus: null,
  error: { type: 'TIMEOUT', message: 'no complete response in time' },
  preview: null,
} as const
const refused = {
  outcome: 'failed',
  httpStatus: 404,
  error: { type: 'HTTP_ERROR', message: 'Callback returned 404 Not Found' },
  preview: null,
  deadReason: 'NOT_RETRYABLE',
} as const

test('executions of all jobs are searched, with the job they belong to', async (t) => {
  const { createJob, run, search } = await setup(t)
  const report = await createJob('Daily Report')
  const first = await run(report)
  const second = await run(await createJob('Cleanup'), timeout)
  const { executions, pagination } = await search()
  assert.deepEqual(
    executions.map((one: Record<string, string>) => [one['execution_id'], one['job_name'], one['status']]),
    [
      [second, 'Cleanup', 'TIMED_OUT'],
      [first, 'Daily Report', 'SUCCEEDED'],
    ],
  )
  assert.equal(executions[1].job_id, report)
  assert.deepEqual(pagination, { limit: 50, total: 2, total_capped: false, next_cursor: null })
})

test('every condition that is given holds', async (t) => {
  const { call, createJob, run, find, world } = await setup(t)
  const report = await createJob('Daily Report', ['sales'])
  const cleanup = await createJob('Cleanup', ['ops'])
  const good = await run(report)
  const late = await run(cleanup, timeout)
  await world.advance(86_400_000)
  const dead = await run(cleanup, refused)
  assert.deepEqual(await find('status=SUCCEEDED'), [good])
  assert.deepEqual(await find('kind=trigger'), [dead, late, good])
  assert.deepEqual(await find('kind=slot'), [])
  assert.deepEqual(await find('error_type=TIMEOUT'), [late])
  assert.deepEqual(await find('dead_letter=true'), [dead])
  assert.deepEqual(await find('dead_letter=false'), [late, good])
  assert.deepEqual(await find(`job_id=${cleanup.toUpperCase()}`), [dead, late])
  assert.deepEqual(await find('tag=sales'), [good])
  assert.deepEqual(await find('q=report'), [good])
  assert.deepEqual(await find('q=404'), [dead])
  assert.deepEqual(await find('start_date=2026-01-02'), [dead])
  assert.deepEqual(await find('end_date=2026-01-01&tag=ops'), [late])
  assert.deepEqual(await find(`job_id=${nobody}`), [])
  const ofJob = (
    await call('GET', `/jobs/${cleanup}/executions?dead_letter=true&error_type=HTTP_ERROR`)
  ).json()
  assert.deepEqual(
    ofJob.executions.map((one: { execution_id: string }) => one.execution_id),
    [dead],
  )
  const none = (await call('GET', `/jobs/${cleanup}/executions?kind=retry`)).json()
  assert.deepEqual([none.executions, none.pagination.total], [[], 0])
})

test('search results come in consecutive pages', async (t) => {
  const { createJob, run, search } = await setup(t)
  const jobId = await createJob('a')
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.unshift(await run(jobId))
  const seen: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: { executions: { execution_id: string }[]; pagination: { next_cursor: string | null } } =
      await search(`limit=2${cursor}`)
    seen.push(...page.executions.map((one) => one.execution_id))
    cursor = page.pagination.next_cursor === null ? null : `&cursor=${page.pagination.next_cursor}`
  }
  assert.deepEqual(seen, ids)
})

test('each wrong question is refused by its parameter', async (t) => {
  const { call } = await setup(t)
  const ask = (query: string) => call('GET', `/executions?${query}`)
  const skipped = await ask('status=SKIPPED')
  assertProblem(skipped, 'INVALID_REQUEST', 'status')
  assert.match(skipped.json().detail, /\/jobs\/\{job_id\}\/executions/)
  for (const query of [
    'status=DONE',
    'kind=cron',
    'error_type=OOPS',
    'dead_letter=1',
    'job_id=x',
    'tag=',
    'q=',
  ])
    assertProblem(await ask(query), 'INVALID_REQUEST', query.split('=')[0])
  for (const query of ['limit=0', 'page=1', 'start_date=today', 'x=1'])
    assertProblem(await ask(query), 'INVALID_REQUEST', query.split('=')[0])
  assertProblem(await ask('cursor=nonsense'), 'INVALID_CURSOR', 'cursor')
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { addKey, addTenant } from '../../../test/access.ts'
import { assertProblem, setupApp } from '../../../test/app.ts'

const given = {
  name: 'report',
  schedule: { cron_expression: '0 9 * * *', timezone: 'Europe/London' },
  execution: { callback_url: 'https://example.com/report', headers: { authorization: 'secret' } },
}
const force = { 'if-match': '*' }

test('versions show each definition of a job and the key that made it, and hide its secrets', async (t) => {
  const { call } = await setupApp(t)
  const { job_id: jobId } = (await call('POST', '/jobs', given)).json()
  await call('PATCH', `/jobs/${jobId}`, { priority: 2, schedule: { cron_expression: '0 8 * * *' } }, force)
  const answer = await call('GET', `/jobs/${jobId}/versions`)
  assert.equal(answer.statusCode, 200, answer.body)
  const { versions, pagination } = answer.json()
  assert.deepEqual(
    versions.map((one: { version: number; created_by: string; created_at: string; job: object }) => [
      one.version,
      one.created_by,
      one.created_at,
    ]),
    [
      [2, 'operator', '2026-01-01T00:00:00Z'],
      [1, 'operator', '2026-01-01T00:00:00Z'],
    ],
  )
  assert.equal(pagination.total, 2)
  const [now, before] = versions
  assert.deepEqual([before.job.schedule.cron_expression, before.job.priority], ['0 9 * * *', 5])
  assert.deepEqual([now.job.schedule.cron_expression, now.job.priority], ['0 8 * * *', 2])
  assert.deepEqual(before.job.execution.headers, { authorization: '***' })
  assert.doesNotMatch(answer.body, /secret/)
  // All fields of the job, except the ones that belong to no version or to the present.
  const { schedule, stats: _, ...job } = (await call('GET', `/jobs/${jobId}`)).json()
  const { next_run_at: _next, last_run_at: _last, ...asGiven } = schedule
  for (const [name, value] of Object.entries({ ...now.job, schedule: asGiven }))
    assert.deepEqual(value, { ...job, schedule: asGiven }[name], name)
  assert.deepEqual(now.job.schedule, asGiven)
})

test('versions come in pages', async (t) => {
  const { call } = await setupApp(t)
  const { job_id: jobId } = (await call('POST', '/jobs', given)).json()
  for (const priority of [1, 2, 3, 4]) await call('PATCH', `/jobs/${jobId}`, { priority }, force)
  const numbers: number[] = []
  let cursor = ''
  for (let pages = 0; pages < 3; pages++) {
    const { versions, pagination } = (await call('GET', `/jobs/${jobId}/versions?limit=2${cursor}`)).json()
    numbers.push(...versions.map((one: { version: number }) => one.version))
    cursor = `&cursor=${pagination.next_cursor}`
  }
  assert.deepEqual(numbers, [5, 4, 3, 2, 1])
  assert.equal(cursor, '&cursor=null')
  assertProblem(await call('GET', `/jobs/${jobId}/versions?cursor=nonsense`), 'INVALID_CURSOR', 'cursor')
})

test('a job that is not there, or is of another tenant, has no versions to show', async (t) => {
  const { call } = await setupApp(t)
  const { job_id: jobId } = (await call('POST', '/jobs', given)).json()
  const { headers } = await addKey(call, await addTenant(call, 'sales'))
  assertProblem(await call('GET', `/jobs/${jobId}/versions`, undefined, headers), 'JOB_NOT_FOUND')
  assertProblem(await call('GET', '/jobs/nonsense/versions'), 'JOB_NOT_FOUND')
  // A deleted job is still there for a caller that knows its id.
  await call('DELETE', `/jobs/${jobId}`)
  assert.equal((await call('GET', `/jobs/${jobId}/versions`)).statusCode, 200)
})

test('a pruned version says so, and keeps its schedule and policies', async (t) => {
  const { call, memory, world } = await setupApp(t)
  const execution = { ...given.execution, payload: { a: 1 } }
  const { job_id: jobId } = (
    await call('POST', '/jobs', { ...given, execution, metadata: { a: 'b' } })
  ).json()
  await call('PATCH', `/jobs/${jobId}`, { priority: 2 }, force)
  await world.advance(120_000)
  await memory.jobVersions.prune(100)
  const answer = await call('GET', `/jobs/${jobId}/versions?include=payload`)
  assert.equal(answer.statusCode, 200, answer.body)
  const [now, before] = answer.json().versions
  assert.deepEqual([now.pruned_at, now.job.execution.payload], [null, { a: 1 }])
  assert.equal(before.pruned_at, '2026-01-01T00:02:00Z')
  assert.deepEqual([before.job.metadata, 'payload' in before.job.execution], [{}, false])
  assert.deepEqual([before.job.schedule, before.job.priority], [now.job.schedule, 5])
})

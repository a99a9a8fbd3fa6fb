import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { addKey, addTenant } from '../../../test/access.ts'
import { assertProblem, setupApp } from '../../../test/app.ts'

const newYear = { entries: [{ date: '2026-01-01' }] }

async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const { call } = parts
  const put = (name: string, body: unknown = newYear) => call('PUT', `/calendars/${name}`, body)
  const jobNaming = (...names: string[]) => ({
    name: 'a',
    key: 'k',
    schedule: { cron_expression: '@hourly', exclusions: names.map((calendar) => ({ calendar })) },
    execution: { callback_url: 'http://127.0.0.1:7420/echo' },
  })
  return { ...parts, put, jobNaming }
}

test('a calendar is created, replaced, shown and deleted', async (t) => {
  const { put, call, woken, world } = await setup(t)
  const body = {
    description: 'Days off',
    entries: [{ date: '2026-10-03' }, { from: '2026-12-24', to: '2026-12-26T12:00:00+01:00' }],
  }
  const made = await put('de.holidays', body)
  assert.equal(made.statusCode, 201, made.body)
  assert.equal(made.headers['location'], '/api/v1/calendars/de.holidays')
  const stamps = {
    created_at: '2026-01-01T00:00:00Z',
    created_by: 'operator',
    updated_at: '2026-01-01T00:00:00Z',
    updated_by: 'operator',
  }
  assert.deepEqual(made.json(), { name: 'de.holidays', ...body, revision: 1, ...stamps })
  assert.deepEqual((await call('GET', '/calendars/de.holidays')).json(), made.json())
  await world.advance(1_000)
  const replaced = await put('de.holidays', { entries: [] })
  assert.equal(replaced.statusCode, 200, replaced.body)
  assert.equal(replaced.headers['location'], undefined)
  assert.deepEqual(replaced.json(), {
    ...made.json(),
    description: null,
    entries: [],
    revision: 2,
    updated_at: '2026-01-01T00:00:01Z',
  })
  assert.deepEqual(woken, ['changes', 'changes'])
  const gone = await call('DELETE', '/calendars/de.holidays')
  assert.deepEqual([gone.statusCode, gone.body], [204, ''])
  assertProblem(await call('DELETE', '/calendars/de.holidays'), 'CALENDAR_NOT_FOUND')
  assertProblem(await call('GET', '/calendars/de.holidays'), 'CALENDAR_NOT_FOUND')
})

test('calendars are listed by name and in pages', async (t) => {
  const { put, call } = await setup(t)
  for (const name of ['b', 'c', 'a']) await put(name)
  const namesOf = (list: { calendars: { name: string }[] }) => list.calendars.map(({ name }) => name)
  const page = (await call('GET', '/calendars?limit=2')).json()
  assert.deepEqual(namesOf(page), ['a', 'b'])
  assert.equal(page.pagination.total, 3)
  const rest = (await call('GET', `/calendars?limit=2&cursor=${page.pagination.next_cursor}`)).json()
  assert.deepEqual(namesOf(rest), ['c'])
  assert.equal(rest.pagination.next_cursor, null)
})

test('a job that names a calendar does not run in it, also when it changes later', async (t) => {
  const { put, call, jobNaming } = await setup(t)
  await put('holidays')
  const made = await call('POST', '/jobs', jobNaming('holidays'))
  assert.equal(made.statusCode, 201, made.body)
  const { job_id: jobId, schedule } = made.json()
  assert.deepEqual(schedule.exclusions, [{ calendar: 'holidays' }])
  assert.equal(schedule.next_run_at, '2026-01-02T00:00:00Z')
  await put('holidays', { entries: [{ from: '2026-01-01', to: '2026-01-03' }] })
  const expected = '2026-01-04T00:00:00Z'
  const ifMatch = { 'if-match': '*' }
  const next = async (answer: ReturnType<typeof call>) => (await answer).json().schedule.next_run_at
  assert.equal(await next(call('GET', `/jobs/${jobId}`)), expected)
  assert.equal((await call('GET', '/jobs')).json().jobs[0].schedule.next_run_at, expected)
  assert.equal(await next(call('PATCH', `/jobs/${jobId}`, { priority: 1 }, ifMatch)), expected)
  const replaced = call('PUT', '/jobs/by-key/k', { ...jobNaming('holidays'), priority: 2 })
  assert.equal(await next(replaced), expected)
  await call('PATCH', `/jobs/${jobId}/pause`)
  const resumed = await call('PATCH', `/jobs/${jobId}/resume`)
  assert.equal(resumed.json().next_run_at, expected)
  const asked = { schedule: jobNaming('holidays').schedule }
  const { next: shown } = (await call('POST', '/schedules/preview', asked)).json()
  assert.equal(shown[0].notes[0].code, 'EXCLUDED')
})

test('a name that stands for nothing is refused, wherever a schedule is given', async (t) => {
  const { put, call, jobNaming } = await setup(t)
  await put('a')
  const { headers } = await addKey(call, await addTenant(call, 'other'), { scopes: ['read', 'write'] })
  await call('PUT', '/calendars/theirs', newYear, headers)
  const { job_id: jobId } = (await call('POST', '/jobs', jobNaming('a'))).json()
  const pointer = '/schedule/exclusions/1/calendar'
  for (const name of ['none', 'theirs', '__proto__']) {
    const body = { ...jobNaming('a', name), key: 'other' }
    const { schedule } = body
    const answers = [
      await call('POST', '/jobs', body),
      await call('PUT', '/jobs/by-key/other', body),
      await call('PUT', '/jobs/by-key/k', { ...body, key: 'k' }),
      await call('PATCH', `/jobs/${jobId}`, { schedule }, { 'if-match': '*' }),
      await call('POST', '/schedules/preview', { schedule }),
    ]
    for (const answer of answers) {
      assertProblem(answer, 'INVALID_SCHEDULE', pointer)
      assert.equal(answer.json().errors[0].code, 'UNKNOWN_CALENDAR')
    }
  }
})

test('a calendar that a job names cannot be deleted; when none names it any more, it can', async (t) => {
  const { put, call, jobNaming } = await setup(t)
  await put('a')
  const { job_id: jobId } = (await call('POST', '/jobs', jobNaming('a'))).json()
  assertProblem(await call('DELETE', '/calendars/a'), 'CALENDAR_IN_USE')
  await call('PATCH', `/jobs/${jobId}`, { schedule: { exclusions: null } }, { 'if-match': '*' })
  assert.equal((await call('DELETE', '/calendars/a')).statusCode, 204)
})

test('calendars belong to their tenant, and take the scope to read or to write', async (t) => {
  const { put, call } = await setup(t)
  await put('a')
  const tenantId = await addTenant(call, 'other')
  const reader = await addKey(call, tenantId, { scopes: ['read'] })
  const writer = await addKey(call, tenantId, { scopes: ['write'] })
  assertProblem(await call('GET', '/calendars/a', undefined, reader.headers), 'CALENDAR_NOT_FOUND')
  assertProblem(await call('DELETE', '/calendars/a', undefined, writer.headers), 'CALENDAR_NOT_FOUND')
  assert.equal((await call('PUT', '/calendars/a', { entries: [] }, writer.headers)).statusCode, 201)
  const { calendars } = (await call('GET', '/calendars', undefined, reader.headers)).json()
  assert.deepEqual(calendars[0].entries, [])
  assert.deepEqual((await call('GET', '/calendars/a')).json().entries, newYear.entries)
  assertProblem(await call('PUT', '/calendars/a', newYear, reader.headers), 'SCOPE_MISSING')
  assertProblem(await call('DELETE', '/calendars/a', undefined, reader.headers), 'SCOPE_MISSING')
  assertProblem(await call('GET', '/calendars', undefined, writer.headers), 'SCOPE_MISSING')
})

test('each wrong request is refused at its place', async (t) => {
  const { put, call, woken } = await setup(t)
  const entry = (one: unknown) => put('a', { entries: [{ date: '2026-01-01' }, one] })
  assertProblem(await put('a', {}), 'INVALID_REQUEST', '/entries')
  assertProblem(await put('a', { ...newYear, name: 'b' }), 'INVALID_REQUEST', '/name')
  assertProblem(
    await put('a', { ...newYear, description: 'x'.repeat(4_097) }),
    'INVALID_REQUEST',
    '/description',
  )
  assertProblem(
    await put('a', { entries: Array(501).fill({ date: '2026-01-01' }) }),
    'INVALID_REQUEST',
    '/entries',
  )
  assertProblem(await entry({ date: '2026-02-30' }), 'INVALID_REQUEST', '/entries/1/date')
  assertProblem(await entry({ date: 'tomorrow' }), 'INVALID_REQUEST', '/entries/1/date')
  assertProblem(await entry({ from: '2026-01-01', to: '2026-02-30' }), 'INVALID_REQUEST', '/entries/1/to')
  assertProblem(await entry({ from: '2026-01-02', to: '2026-01-01' }), 'INVALID_REQUEST', '/entries/1/to')
  assertProblem(await entry({ from: '2026-01-02' }), 'INVALID_REQUEST', '/entries/1')
  assertProblem(await entry({ calendar: 'b' }), 'INVALID_REQUEST', '/entries/1/calendar')
  assertProblem(await entry({}), 'INVALID_REQUEST', '/entries/1')
  for (const name of ['A', 'a%20b', 'x'.repeat(129), '%C3%A4']) {
    assertProblem(await put(name), 'INVALID_REQUEST', 'name')
    assertProblem(await call('GET', `/calendars/${name}`), 'CALENDAR_NOT_FOUND')
    assertProblem(await call('DELETE', `/calendars/${name}`), 'CALENDAR_NOT_FOUND')
  }
  assertProblem(await call('GET', '/calendars/%00'), 'CALENDAR_NOT_FOUND')
  assertProblem(await call('GET', '/calendars?limit=0'), 'INVALID_REQUEST', 'limit')
  for (const value of [
    ['jobs', 'a'],
    ['calendars', 'A'],
    ['calendars', 1],
  ]) {
    const cursor = Buffer.from(JSON.stringify(value)).toString('base64url')
    assertProblem(await call('GET', `/calendars?cursor=${cursor}`), 'INVALID_CURSOR', 'cursor')
  }
  assert.deepEqual(woken, [])
  assert.equal(
    (await put('x'.repeat(128), { entries: Array(500).fill({ date: '2026-01-01' }) })).statusCode,
    201,
  )
})

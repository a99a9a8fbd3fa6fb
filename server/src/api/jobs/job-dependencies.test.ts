import assert from 'node:assert/strict'
import test from 'node:test'
import { assertProblem } from '../../../test/app.ts'
import { setupGraphApp } from '../../../test/graph-app.ts'

const nobody = '0192abcd-ef01-7000-8000-000000000001'

test('a job that runs after another needs no schedule and has no slots', async (t) => {
  const { make, idOf, call, woken } = await setupGraphApp(t)
  const root = await make('a')
  assert.deepEqual(root.depends_on, [])
  woken.length = 0
  const job = await make('b', ['a'])
  const dependsOn = [{ job_id: idOf('a'), on: 'success' }]
  assert.deepEqual([job.schedule, job.depends_on, job.status], [null, dependsOn, 'ACTIVE'])
  assert(!('warnings' in job))
  // The root is fired otherwise from now on.
  assert.deepEqual(woken, ['changes'])
  const shown = (await call('GET', `/jobs/${idOf('b')}`)).json()
  assert.deepEqual([shown.schedule, shown.depends_on], [null, dependsOn])
  const slots = await call('GET', `/jobs/${idOf('b')}/slots?from=2026-01-01&to=2026-01-31`)
  assert.deepEqual(slots.json().slots, [])
  const why = await call('GET', `/jobs/${idOf('b')}/why`)
  assert.equal(why.statusCode, 200, why.body)
  const listed = (await call('GET', '/jobs')).json().jobs as { depends_on: unknown }[]
  assert.deepEqual(
    listed.map((one) => one.depends_on),
    [dependsOn, []],
  )
  // The version of the other job is unchanged.
  assert.equal((await call('GET', `/jobs/${idOf('a')}`)).headers['etag'], '"1"')
})

test('ids are taken in any case, and each rule as it is given', async (t) => {
  const { make, idOf, call, requestOf } = await setupGraphApp(t)
  for (const name of ['a', 'b', 'c']) await make(name)
  const request = requestOf('d', ['a:success', 'b:failure', 'c:completion'])
  const upper = request.depends_on!.map((one) => ({ ...one, job_id: one.job_id.toUpperCase() }))
  const answer = await call('POST', '/jobs', { ...request, depends_on: upper })
  assert.equal(answer.statusCode, 201, answer.body)
  assert.deepEqual(
    answer.json().depends_on.map((one: { job_id: string; on: string }) => [one.job_id, one.on]),
    [
      [idOf('a'), 'success'],
      [idOf('b'), 'failure'],
      [idOf('c'), 'completion'],
    ],
  )
})

test('a schedule of a job with dependencies is checked, kept and warned about', async (t) => {
  const { make, idOf, call, requestOf, change } = await setupGraphApp(t)
  await make('a')
  const job = await make('b', ['a'], { schedule: '0 4 * * *' })
  assert.equal(job.schedule.cron_expression, '0 4 * * *')
  assert.equal(job.schedule.next_run_at, null)
  assert.equal(job.warnings.length, 1)
  assert.match(job.warnings[0], /does not fire/)
  const slots = await call('GET', `/jobs/${idOf('b')}/slots?from=2026-01-01&to=2026-01-31`)
  assert.deepEqual(slots.json().slots, [])
  const bad = await call('POST', '/jobs', requestOf('c', ['a'], { schedule: '61 * * * *' }))
  assertProblem(bad, 'INVALID_SCHEDULE', '/schedule')
  const now = await call('POST', '/jobs', requestOf('c', ['a'], { schedule: { type: 'IMMEDIATE' } }))
  assertProblem(now, 'INVALID_REQUEST', '/schedule')
  // Without its dependencies it fires again, and there is nothing to warn of.
  const free = (await change('b', { depends_on: null })).json() as Record<string, unknown>
  assert.deepEqual(free['depends_on'], [])
  assert.equal((free['schedule'] as { next_run_at: string }).next_run_at, '2026-01-01T04:00:00Z')
  assert(!('warnings' in free))
})

test('roots with different schedules are warned about by name', async (t) => {
  const { make, idOf, change } = await setupGraphApp(t)
  await make('a')
  await make('b')
  assert(!('warnings' in (await make('c', ['a', 'b']))), 'both are daily')
  const { warnings } = (await change('b', { schedule: '@hourly' })).json() as { warnings: string[] }
  assert.equal(warnings.length, 1)
  for (const name of ['a', 'b']) assert(warnings[0]!.includes(`${name} (${idOf(name)})`), warnings[0]!)
  assert.match(warnings[0]!, /which have different schedules: each starts/)
  assert(!('warnings' in ((await change('b', { schedule: '@daily' })).json() as object)))
})

test('two equal intervals that count from different moments are told apart, and how to join them', async (t) => {
  const { make, idOf, change, world } = await setupGraphApp(t)
  const schedule = { type: 'INTERVAL', every_seconds: 3_600 }
  await make('a', [], { schedule })
  await world.advance(60_000)
  await make('b', [], { schedule })
  const { warnings } = (await make('c', ['a', 'b'])) as { warnings: string[] }
  assert.deepEqual(warnings, [
    `The graph of the job starts at a (${idOf('a')}) and at b (${idOf('b')}), which have the same interval, counted from when each job was made: each starts runs of its own, in which the other counts by its latest execution. Give both the same start_at, and they share their runs.`,
  ])
  const started = { schedule: { ...schedule, start_at: '2026-01-02T00:00:00Z' } }
  const { warnings: half } = (await change('a', started)).json() as { warnings: string[] }
  assert.match(half[0]!, /different schedules/)
  assert(!('warnings' in ((await change('b', started)).json() as object)))
})

test('each wrong dependency is refused at its place', async (t) => {
  const { make, idOf, call, change, requestOf } = await setupGraphApp(t)
  await make('a')
  const post = (dependsOn: unknown, more: object = {}) =>
    call('POST', '/jobs', { ...requestOf('b', []), schedule: undefined, depends_on: dependsOn, ...more })
  const a = { job_id: idOf('a') }
  assertProblem(await post([{ job_id: nobody }]), 'DEPENDENCY_NOT_FOUND', '/depends_on/0/job_id')
  const second = [a, { job_id: nobody.toUpperCase() }]
  assertProblem(await post(second), 'DEPENDENCY_NOT_FOUND', '/depends_on/1/job_id')
  assertProblem(await change('a', { depends_on: second }), 'DEPENDENCY_NOT_FOUND', '/depends_on/1/job_id')
  const twice = [a, { job_id: idOf('a').toUpperCase(), on: 'failure' }]
  assertProblem(await post(twice), 'INVALID_REQUEST', '/depends_on/1/job_id')
  assertProblem(await post([{ ...a, on: 'never' }]), 'INVALID_REQUEST', '/depends_on/0/on')
  assertProblem(await post([{ job_id: 'a' }]), 'INVALID_REQUEST', '/depends_on/0/job_id')
  assertProblem(await post([{ ...a, when: 1 }]), 'INVALID_REQUEST', '/depends_on/0/when')
  assertProblem(await post([{}]), 'INVALID_REQUEST', '/depends_on/0/job_id')
  assertProblem(await post(Array(1_000).fill(a)), 'INVALID_REQUEST', '/depends_on')
  assertProblem(await post([]), 'INVALID_REQUEST', '/schedule')
  assertProblem(await post(undefined), 'INVALID_REQUEST', '/schedule')
  assertProblem(await post(null), 'INVALID_REQUEST', '/depends_on')
  await call('DELETE', `/jobs/${idOf('a')}`)
  assertProblem(await post([a]), 'DEPENDENCY_NOT_FOUND', '/depends_on/0/job_id')
})

test('a cycle is refused and spelled out, and nothing is changed', async (t) => {
  const { make, idOf, change, call } = await setupGraphApp(t)
  await make('a')
  await make('b', ['a'])
  await make('c', ['b'])
  const answer = await change('a', { depends_on: [{ job_id: idOf('c') }] })
  assertProblem(answer, 'DEPENDENCY_CYCLE', '/depends_on')
  const { detail } = answer.json() as { detail: string }
  assert.match(detail, /a \(.*\) → b \(.*\) → c \(.*\) → a \(/)
  assertProblem(await change('a', { depends_on: [{ job_id: idOf('a') }] }), 'DEPENDENCY_CYCLE', '/depends_on')
  assert.deepEqual((await call('GET', `/jobs/${idOf('a')}`)).json().version, 1)
})

test('a patch replaces the dependencies as a whole, or takes them away', async (t) => {
  const { make, idOf, change } = await setupGraphApp(t)
  await make('a')
  await make('b')
  await make('c', ['a'])
  const shown = async (patch: object) => (await change('c', patch)).json() as Record<string, unknown>
  const second = await shown({ depends_on: [{ job_id: idOf('b'), on: 'completion' }] })
  assert.deepEqual(second['depends_on'], [{ job_id: idOf('b'), on: 'completion' }])
  assert.equal(second['version'], 2)
  assert.equal((await shown({ priority: 7 }))['version'], 3)
  assert.deepEqual((await shown({ priority: 8 }))['depends_on'], second['depends_on'])
  // It has nothing else that would make it run.
  for (const none of [null, []])
    assertProblem(await change('c', { depends_on: none }), 'INVALID_REQUEST', '/schedule')
  const free = await shown({ depends_on: [], schedule: '@hourly' })
  assert.deepEqual(free['depends_on'], [])
  assert.equal((free['schedule'] as { next_run_at: string }).next_run_at, '2026-01-01T01:00:00Z')
  const back = await shown({ depends_on: [{ job_id: idOf('a') }], schedule: null })
  assert.deepEqual([back['schedule'], back['status']], [null, 'ACTIVE'])
  assertProblem(await change('a', { schedule: null }), 'INVALID_REQUEST', '/schedule')
})

test('a job that ran once can be made to run after another', async (t) => {
  const { make, idOf, change } = await setupGraphApp(t)
  await make('a')
  await make('now', [], { schedule: { type: 'IMMEDIATE' } })
  const dependsOn = [{ job_id: idOf('a') }]
  assertProblem(await change('now', { depends_on: dependsOn }), 'INVALID_REQUEST', '/schedule')
  const job = (await change('now', { depends_on: dependsOn, schedule: null })).json() as Record<
    string,
    unknown
  >
  assert.deepEqual([job['status'], job['schedule']], ['ACTIVE', null])
})

test('PUT says all of it: without depends_on there is none', async (t) => {
  const { make, idOf, call, requestOf } = await setupGraphApp(t)
  await make('a')
  const put = (body: object) => call('PUT', '/jobs/by-key/report', body)
  const created = await put(requestOf('b', ['a']))
  assert.equal(created.statusCode, 201, created.body)
  const same = await put(requestOf('b', ['a']))
  assert.deepEqual([same.statusCode, same.json().version], [200, 1])
  const both = await put(requestOf('b', ['a'], { schedule: '@daily' }))
  assert.equal(both.json().warnings.length, 1)
  const free = await put(requestOf('b', []))
  assert.deepEqual([free.json().depends_on, free.json().version], [[], 3])
  const missing = await put({ ...requestOf('b', []), depends_on: [{ job_id: nobody }] })
  assertProblem(missing, 'DEPENDENCY_NOT_FOUND', '/depends_on/0/job_id')
  assert.equal((await call('GET', `/jobs/${idOf('a')}/graph`)).json().nodes.length, 1)
})

test('a job that others run after is not deleted, and its dependents are named', async (t) => {
  const { make, idOf, call } = await setupGraphApp(t)
  await make('a')
  await make('b', ['a'])
  const refused = await call('DELETE', `/jobs/${idOf('a')}`)
  assertProblem(refused, 'JOB_HAS_DEPENDENTS')
  assert(refused.json().detail.includes(`b (${idOf('b')})`))
  assert.equal((await call('DELETE', `/jobs/${idOf('b')}`)).statusCode, 200)
  assert.equal((await call('DELETE', `/jobs/${idOf('a')}`)).statusCode, 200)
})

test('a delete tells the store that the graph may change; a pause does not', async (t) => {
  const { make, idOf, call, memory } = await setupGraphApp(t)
  await make('a')
  const { mock } = t.mock.method(memory.jobs, 'change')
  await call('PATCH', `/jobs/${idOf('a')}/pause`)
  await call('DELETE', `/jobs/${idOf('a')}`)
  // The locks of the graph come before that of the job.
  assert.deepEqual(
    mock.calls.map(({ arguments: [target] }) => target.dependsOn),
    [undefined, []],
  )
})

test('the graph of a job has all that hangs together', async (t) => {
  const { make, idOf, call } = await setupGraphApp(t)
  await make('a')
  await make('b', ['a'])
  await make('c', ['a:failure'])
  await make('alone')
  for (const name of ['a', 'b', 'c']) {
    const { nodes } = (await call('GET', `/jobs/${idOf(name)}/graph`)).json() as {
      nodes: { job_id: string; job_name: string; status: string; depends_on: object[] }[]
    }
    const sorted = nodes.toSorted((one, other) => (one.job_name < other.job_name ? -1 : 1))
    assert.deepEqual(sorted, [
      { job_id: idOf('a'), job_name: 'a', status: 'ACTIVE', depends_on: [] },
      {
        job_id: idOf('b'),
        job_name: 'b',
        status: 'ACTIVE',
        depends_on: [{ job_id: idOf('a'), on: 'success' }],
      },
      {
        job_id: idOf('c'),
        job_name: 'c',
        status: 'ACTIVE',
        depends_on: [{ job_id: idOf('a'), on: 'failure' }],
      },
    ])
  }
  const { nodes } = (await call('GET', `/jobs/${idOf('alone')}/graph`)).json()
  assert.deepEqual(
    nodes.map((one: { job_id: string }) => one.job_id),
    [idOf('alone')],
  )
  assertProblem(await call('GET', `/jobs/${nobody}/graph`), 'JOB_NOT_FOUND')
  assertProblem(await call('GET', '/jobs/x/graph'), 'JOB_NOT_FOUND')
})

test('a job that runs after others cannot be backfilled; its root can', async (t) => {
  const { make, idOf, call } = await setupGraphApp(t)
  await make('a')
  await make('z')
  await make('b', ['a'])
  await make('c', ['b'], { schedule: { every_seconds: 60, after_completion: true } })
  await make('d', ['z', 'c'])
  const range = { from: '2025-12-30T00:00:00Z', to: '2025-12-31T00:00:00Z' }
  const refused = await call('POST', `/jobs/${idOf('c')}/backfill`, range)
  assertProblem(refused, 'BACKFILL_NOT_POSSIBLE')
  assert(refused.json().detail.includes(`a (${idOf('a')})`), refused.body)
  assert(!refused.json().detail.includes(idOf('z')), 'that does not lead to it')
  assert.equal((await call('POST', `/jobs/${idOf('a')}/backfill`, range)).statusCode, 202)
})

test('a repeated request makes its dependencies once', async (t) => {
  const { make, idOf, call, requestOf } = await setupGraphApp(t)
  await make('a')
  const request = requestOf('b', ['a'])
  const once = { 'idempotency-key': 'b' }
  const first = await call('POST', '/jobs', request, once)
  const again = await call('POST', '/jobs', request, once)
  assert.equal(again.headers['idempotency-replayed'], 'true')
  assert.equal(again.body, first.body)
  assert.equal((await call('GET', `/jobs/${idOf('a')}/graph`)).json().nodes.length, 2)
  const refused = { 'idempotency-key': 'c' }
  const missing = { ...request, depends_on: [{ job_id: nobody }] }
  assertProblem(await call('POST', '/jobs', missing, refused), 'DEPENDENCY_NOT_FOUND')
  // A refused request has not used its key.
  assert.equal((await call('POST', '/jobs', request, refused)).statusCode, 201)
})

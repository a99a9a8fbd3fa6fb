import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { addKey, addTenant } from '../../../test/access.ts'
import { assertProblem, setupApp, testWorker } from '../../../test/app.ts'
import { markOf, triggerMany, workerCalls } from '../../../test/worker-calls.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import { attemptFinished } from '../../telemetry/events.ts'

const nobody = '0192abcd-ef01-7000-8000-000000000001'

async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const show = async (id: string) => (await parts.call('GET', `/executions/${id}`)).json()
  return { ...parts, ...workerCalls(parts), trigger: triggerMany.bind(null, parts), show }
}

test('a worker registers, claims, reports and leaves', async (t) => {
  const { call, register, take, report, leave, trigger, show, woken } = await setup(t)
  const answer = await call('POST', '/workers', {
    ...{ handlers: ['b', 'report', 'b'], labels: ['z', 'a'], capacity: 7, host: 'h', port: 80, version: '2' },
  })
  assert.equal(answer.statusCode, 201, answer.body)
  const { worker_id: workerId, ...rest } = answer.json()
  assert.deepEqual(rest, { heartbeat_seconds: 3, lease_seconds: 10 })
  const [listed] = (await call('GET', '/workers')).json().workers
  const { registered_at: _at, last_heartbeat: _beat, tenant_id: tenantId, ...item } = listed
  assert.deepEqual(item, {
    ...{ worker_id: workerId, host: 'h', port: 80, version: '2', labels: ['a', 'z'], executors: ['worker'] },
    ...{ handlers: ['b', 'report'], status: 'ACTIVE', capacity: 7, current_load: 0, ended_at: null },
  })
  assert.match(tenantId, /^00000000-/)

  const execution = { type: 'worker', handler: 'report', payload: { n: 1 }, timeout_seconds: 60 }
  const { jobId, executionIds } = await trigger(1, { execution })
  const [claimed] = await take(workerId)
  const shown = await show(executionIds[0]!)
  assert.deepEqual(claimed, {
    execution_id: executionIds[0],
    job_id: jobId,
    job_name: 'a',
    handler: 'report',
    kind: 'trigger',
    scheduled_time: shown.scheduled_time,
    attempt_number: 1,
    fence: 1,
    idempotency_key: shown.idempotency_key,
    timeout_seconds: 60,
    heartbeat_timeout_seconds: null,
    graph_run_id: null,
    payload: { n: 1 },
  })
  assert.equal(shown.status, 'RUNNING')
  woken.length = 0
  const told = attemptFinished.next()
  const reported = await report(workerId, [
    { ...markOf(claimed!), status: 'succeeded', duration_ms: 250, result: { rows: 42 } },
  ])
  assert.deepEqual(reported.json(), { accepted: 1, cancelled: [], refused: [] })
  const ended = await show(executionIds[0]!)
  assert.deepEqual(
    [ended.status, ended.duration_ms, ended.worker_id, ended.attempts[0].response_preview],
    ['SUCCEEDED', 250, workerId, '{"rows":42}'],
  )
  const { executor, outcome, durationMs } = await told
  assert.deepEqual([executor, outcome, durationMs], ['worker', 'succeeded', 250])
  assert.deepEqual(woken, ['waiting'])

  assert.deepEqual((await leave(workerId)).json(), { returned: 0 })
  assertProblem(await leave(workerId), 'WORKER_LOST')
  assert.equal((await register()).length, 36)
})

test('a worker that is not there is told so in every call', async (t) => {
  const { claim, beat, report, leave, register, world } = await setup(t)
  const result = { execution_id: nobody, attempt_number: 1, fence: 1, status: 'succeeded' }
  for (const answer of [
    await claim(nobody),
    await beat(nobody),
    await report(nobody, [result]),
    await leave(nobody),
    await leave('nope'),
  ])
    assertProblem(answer, 'WORKER_LOST')
  const silent = await register()
  await world.advance(10_001)
  // Nobody has ended its lease yet, as after an outage: it lives, whichever of its calls comes first.
  assert.equal((await claim(silent)).statusCode, 200)
  assert.equal((await beat(silent)).statusCode, 200)
})

test('a report may be repeated, and a report that contradicts an earlier one is refused', async (t) => {
  const { register, take, report, trigger, show } = await setup(t)
  const workerId = await register()
  const { executionIds } = await trigger(2, { retry_policy: { max_retries: 0 } })
  const claimed = await take(workerId)
  assert.equal(claimed.length, 2)
  const [first, second] = claimed.map(markOf)
  const results = [
    { ...first!, status: 'succeeded' },
    { ...second!, status: 'failed', error: { message: 'no such table' } },
  ]
  const taken = { accepted: 2, cancelled: [], refused: [] }
  assert.deepEqual((await report(workerId, results)).json(), taken)
  assert.deepEqual((await report(workerId, results)).json(), taken)
  const failed = await show(executionIds[1]!)
  assert.deepEqual([failed.status, failed.dead_letter, failed.attempts.length], ['FAILED', true, 1])
  assert.deepEqual(failed.error, { type: 'HANDLER_ERROR', message: 'no such table', http_status: null })
  const other = await report(workerId, [{ ...second!, status: 'succeeded' }])
  assert.deepEqual(other.json(), { accepted: 0, cancelled: [], refused: [second!.execution_id] })
  const stranger = await register()
  const foreign = await report(stranger, [{ ...first!, status: 'succeeded' }])
  assert.deepEqual(foreign.json().refused, [first!.execution_id])
})

test('another result or error for an attempt that a worker has reported is refused', async (t) => {
  const { register, take, report, trigger, show } = await setup(t)
  const workerId = await register()
  await trigger(2, { retry_policy: { max_retries: 0 } })
  const [first, second] = (await take(workerId)).map(markOf)
  const succeed = (result: unknown) => ({ ...first!, status: 'succeeded', result })
  const fail = (message: string) => ({ ...second!, status: 'failed', error: { message } })
  assert.equal((await report(workerId, [succeed({ a: 1, b: 2 }), fail('one')])).json().accepted, 2)
  assert.equal((await report(workerId, [succeed({ b: 2, a: 1 }), fail('one')])).json().accepted, 2)
  const refused = [first!.execution_id, second!.execution_id]
  const answer = (await report(workerId, [succeed({ a: 2 }), fail('two')])).json()
  assert.deepEqual([answer.accepted, answer.refused.toSorted()], [0, refused.toSorted()])
  assert.equal((await show(first!.execution_id)).attempts[0].response_preview, '{"a":1,"b":2}')
})

test('a failure is retried as the policy and the worker say', async (t) => {
  const { register, take, report, trigger, show, woken } = await setup(t)
  const workerId = await register()
  const retry_policy = { max_retries: 1, backoff: 'FIXED', initial_delay_ms: 1_000 }
  const { executionIds } = await trigger(3, { retry_policy })
  const [plain, later, final] = (await take(workerId)).map(markOf)
  woken.length = 0
  const failed = (error: object) => ({ status: 'failed', error: { message: 'no', ...error } })
  const answer = await report(workerId, [
    { ...plain!, ...failed({ type: 'TIMEOUT' }) },
    { ...later!, ...failed({ retry_after_ms: 3_600_000 }) },
    { ...final!, ...failed({ final: true }) },
  ])
  assert.equal(answer.json().accepted, 3)
  assert.deepEqual(woken, ['waiting', 'retries'])
  const [first, second, third] = await Promise.all(executionIds.map(show))
  assert.deepEqual([first.status, first.attempts[0].outcome], ['RETRYING', 'timed_out'])
  assert.deepEqual([second.status, second.retry_at], ['RETRYING', '2026-01-01T01:00:00Z'])
  assert.deepEqual([third.status, third.dead_letter], ['FAILED', true])
})

test('a released execution runs elsewhere, under another fence, with no attempt spent', async (t) => {
  const { register, take, report, trigger, woken, show } = await setup(t)
  const [one, other] = [await register(), await register()]
  const { executionIds } = await trigger(1)
  const [claimed] = await take(one)
  woken.length = 0
  const released = { ...markOf(claimed!), status: 'released' }
  assert.equal((await report(one, [released])).json().accepted, 1)
  assert.deepEqual(woken, ['waiting', 'queue'])
  const [again] = await take(other)
  assert.deepEqual([again!.execution_id, again!.attempt_number], [executionIds[0], 1])
  assert(again!.fence > claimed!.fence)
  const late = await report(one, [{ ...markOf(claimed!), status: 'succeeded' }])
  assert.deepEqual(late.json().refused, [executionIds[0]])
  assert.equal((await show(executionIds[0]!)).status, 'RUNNING')
})

test('a result is kept up to 4 KB, cut between two characters, and a long message is cut', async (t) => {
  const { register, take, report, trigger, show } = await setup(t)
  const workerId = await register()
  const { executionIds } = await trigger(2, { retry_policy: { max_retries: 0 } })
  const [large, wordy] = (await take(workerId)).map(markOf)
  const answer = await report(workerId, [
    { ...large!, status: 'succeeded', result: 'ä'.repeat(4_000) },
    { ...wordy!, status: 'failed', error: { message: `${'x'.repeat(1_023)}😀` } },
  ])
  assert.equal(answer.statusCode, 200, answer.body)
  const preview: string = (await show(executionIds[0]!)).attempts[0].response_preview
  assert.equal(preview, `"${'ä'.repeat(2_047)}`)
  assert.equal((await show(executionIds[1]!)).error.message, `${'x'.repeat(1_023)}\ufffd`)
})

test('each part of a report that does not fit is refused at its place', async (t) => {
  const { register, report, beat } = await setup(t)
  const workerId = await register()
  const mark = { execution_id: nobody, attempt_number: 1, fence: 1 }
  const wrong: [object, string][] = [
    [{ status: 'failed' }, 'error'],
    [{ status: 'succeeded', error: { message: '' } }, 'error'],
    [{ status: 'failed', error: { message: '' }, result: 1 }, 'result'],
    [{ status: 'released', result: 1 }, 'result'],
    [{ status: 'done' }, 'status'],
    [
      { status: 'succeeded', logs: { first_line: 0, lines: [{ message: '', at: 'yesterday, I believe' }] } },
      'logs/lines/0/at',
    ],
  ]
  for (const [result, field] of wrong)
    assertProblem(await report(workerId, [{ ...mark, ...result }]), 'INVALID_REQUEST', `/results/0/${field}`)
  const twice = { ...mark, status: 'succeeded' }
  const upper = { ...twice, execution_id: nobody.toUpperCase() }
  assertProblem(await report(workerId, [twice, upper]), 'INVALID_REQUEST', '/results/1/execution_id')
  const large = { ...mark, checkpoint: 'x'.repeat(64 * 1024) }
  assertProblem(await beat(workerId, [large]), 'INVALID_REQUEST', '/running/0/checkpoint')
})

test('a heartbeat tells how executions go, and hears which to stop', async (t) => {
  const { register, take, beat, trigger, show, call } = await setup(t)
  const workerId = await register()
  const { executionIds } = await trigger(3)
  const [one, two] = (await take(workerId, { limit: 2 })).map(markOf)
  await call('POST', `/executions/${two!.execution_id}/cancel`)
  const strange = { ...one!, execution_id: executionIds[2] }
  const answer = await beat(workerId, [
    { ...one!, alive: true, progress: 0.5, message: 'half', checkpoint: { row: 5 } },
    two!,
    strange,
  ])
  assert.deepEqual(answer.json(), { cancelled: [two!.execution_id], lost: [executionIds[2]] })
  const shown = await show(one!.execution_id)
  assert.deepEqual(shown.progress, { fraction: 0.5, message: 'half', at: '2026-01-01T00:00:00Z' })
  assert.deepEqual(shown.checkpoint, { row: 5 })
  const [listed] = (await call('GET', '/workers')).json().workers
  // Two are claimed, although it says that it runs three.
  assert.equal(listed.current_load, 2)
  const old = await beat(workerId, [{ ...one!, fence: one!.fence + 1 }])
  assert.deepEqual(old.json().lost, [one!.execution_id])
})

test('the checkpoint of an attempt is handed to the next one', async (t) => {
  const { register, take, beat, report, trigger, world, memory } = await setup(t)
  const workerId = await register()
  await trigger(1, { retry_policy: { initial_delay_ms: 1 } })
  const [first] = await take(workerId)
  assert(!('checkpoint' in first!))
  await beat(workerId, [{ ...markOf(first!), checkpoint: { row: 7 } }])
  await report(workerId, [{ ...markOf(first!), status: 'failed', error: { message: 'no' } }])
  await world.advance(10)
  await memory.maintenance.wake(10)
  const [second] = await take(workerId)
  assert.deepEqual([second!.attempt_number, second!['checkpoint']], [2, { row: 7 }])
})

test('a cancelled execution ends as CANCELLED, regardless of the report of its worker', async (t) => {
  const { register, take, report, trigger, show, call } = await setup(t)
  const workerId = await register()
  await trigger(1)
  const [claimed] = await take(workerId)
  const { execution_id: id } = claimed!
  assert.equal((await call('POST', `/executions/${id}/cancel`)).statusCode, 202)
  const results = [{ ...markOf(claimed!), status: 'succeeded', result: 1 }]
  const cancelled = { accepted: 1, cancelled: [id], refused: [] }
  assert.deepEqual((await report(workerId, results)).json(), cancelled)
  assert.deepEqual((await report(workerId, results)).json(), cancelled)
  assert.equal((await show(id)).status, 'CANCELLED')
})

test('log lines come with heartbeats and reports, and only from the holder of the execution', async (t) => {
  const { register, take, beat, report, trigger, call } = await setup(t)
  const [workerId, stranger] = [await register(), await register()]
  const { executionIds } = await trigger(1)
  const [claimed] = await take(workerId)
  const lines = (first_line: number, ...messages: string[]) => ({
    logs: { first_line, lines: messages.map((message) => ({ message })) },
  })
  const read = async () =>
    (await call('GET', `/executions/${executionIds[0]}/logs`))
      .json()
      .logs.map((one: { message: string }) => one.message)
  await beat(stranger, [{ ...markOf(claimed!), ...lines(0, 'forged') }])
  await report(stranger, [{ ...markOf(claimed!), ...lines(0, 'forged'), status: 'succeeded' }])
  assert.deepEqual(await read(), [])
  await beat(workerId, [{ ...markOf(claimed!), ...lines(0, 'a', 'b') }])
  await report(workerId, [{ ...markOf(claimed!), ...lines(2, 'c'), status: 'succeeded' }])
  assert.deepEqual(await read(), ['a', 'b', 'c'])
})

test('the words of a worker are read in any case', async (t) => {
  const { call, register, take, beat, report, trigger, show } = await setup(t)
  const workerId = await register()
  await trigger(1)
  const [claimed] = await take(workerId)
  assert.equal((await beat(workerId, [markOf(claimed!)], { status: 'draining' })).statusCode, 200)
  const { workers } = (await call('GET', '/workers?status=draining')).json()
  assert.equal(workers[0].worker_id, workerId)
  const logs = { first_line: 0, lines: [{ level: 'INFO', message: 'a' }] }
  const error = { type: 'handler_error', message: 'no paper', final: true }
  const answer = await report(workerId, [{ ...markOf(claimed!), status: 'FAILED', error, logs }])
  assert.deepEqual(answer.json(), { accepted: 1, cancelled: [], refused: [] }, answer.body)
  assert.equal((await show(claimed!.execution_id)).status, 'FAILED')
  for (const path of ['/activity?step=HOUR', '/sla?window=24H'])
    assert.equal((await call('GET', path)).statusCode, 200, path)
})

test('executions that a worker holds when it leaves run elsewhere', async (t) => {
  const { register, take, leave, trigger, woken } = await setup(t)
  const [workerId, other] = [await register(), await register()]
  const { executionIds } = await trigger(2)
  await take(workerId)
  woken.length = 0
  assert.deepEqual((await leave(workerId)).json(), { returned: 2 })
  assert.deepEqual(woken, ['queue'])
  const ids = (await take(other)).map((one) => one.execution_id)
  assert.deepEqual(ids.toSorted(), executionIds.toSorted())
})

test('a claim that comes between the return and the end of a worker is handed back too', async (t) => {
  const { register, leave, trigger, take, memory } = await setup(t)
  const [workerId, other] = [await register(), await register()]
  const { unregister } = memory.leases
  let refusals = 0
  memory.leases.unregister = async (id) => {
    if (refusals++ === 0) throw new Error('it is still referenced')
    await unregister.call(memory.leases, id)
  }
  const { releaseUnknown } = memory.queue
  let returns = 0
  memory.queue.releaseUnknown = async (...given) => {
    const count = await releaseUnknown.apply(memory.queue, given)
    if (returns++ > 0) return count
    const lanes = [{ lane: 'shared', count: 1 }]
    const routes = await memory.routes.findWaiting(['worker '], 10)
    await memory.queue.claim({ workerId, routes, lanes, hosts: [], batchesMax: 1 })
    return count
  }
  const { executionIds } = await trigger(1)
  assert.deepEqual((await leave(workerId)).json(), { returned: 1 })
  assert.deepEqual(
    (await take(other)).map((one) => one.execution_id),
    executionIds,
  )
})

test("a tenant sees its own workers, and speaks for no other's", async (t) => {
  const parts = await setup(t)
  const { call, register } = parts
  const tenantId = await addTenant(call, 'sales')
  const { headers } = await addKey(call, tenantId)
  const sales = workerCalls(parts, headers)
  const [ours, theirs] = [await register(), await sales.register()]
  const ids = async (more: Record<string, string> = {}) =>
    (await call('GET', '/workers', undefined, more))
      .json()
      .workers.map((one: { worker_id: string }) => one.worker_id)
  assert.deepEqual(await ids(headers), [theirs])
  assert.deepEqual((await ids()).toSorted(), [ours, theirs].toSorted())
  assertProblem(await sales.claim(ours), 'WORKER_LOST')
  assertProblem(await sales.beat(ours), 'WORKER_LOST')
  assertProblem(await sales.leave(ours), 'WORKER_LOST')
  await triggerMany(parts, 1)
  assert.deepEqual(await sales.take(theirs), [])
})

test('a tenant has a bounded number of workers', async (t) => {
  const { call, memory } = await setup(t)
  const tenantId = defaultTenantId
  for (let at = 1; at < 10_000; at++)
    await memory.leases.register(testWorker({ workerId: `${at}`, tenantId }))
  assert.equal((await call('POST', '/workers', { handlers: ['a'] })).statusCode, 201)
  assertProblem(await call('POST', '/workers', { handlers: ['a'] }), 'TOO_MANY_WORKERS')
})

test('calls of the worker protocol are counted apart from other requests of a tenant', async (t) => {
  const parts = await setup(t)
  const tenantId = await addTenant(parts.call, 'sales', 'free')
  const { headers } = await addKey(parts.call, tenantId)
  const { register, beat } = workerCalls(parts, headers)
  const workerId = await register()
  for (let i = 0; i < 20; i++) await parts.call('GET', '/workers', undefined, headers)
  assertProblem(await parts.call('GET', '/workers', undefined, headers), 'RATE_LIMITED')
  const answer = await beat(workerId)
  assert.equal(answer.statusCode, 200)
  assert.equal(answer.headers['ratelimit-policy'], '"workers";q=5000;w=1')
})

test('workers that died or left are listed for a while, by status and a page at a time', async (t) => {
  const { register, leave, memory, call, beat } = await setup(t)
  const ids = [await register(), await register(), await register({ capacity: 7 })]
  await leave(ids[0]!)
  await memory.maintenance.reclaim({ holderId: ids[1]!, beats: 0 })
  const list = async (query = '') => (await call('GET', `/workers${query}`)).json()
  const first = await list('?limit=2')
  const statuses = first.workers.map((one: { status: string }) => one.status)
  assert.deepEqual([statuses, first.workers[1].ended_at], [['LEFT', 'DEAD'], '2026-01-01T00:00:00Z'])
  assert.deepEqual(first.counts, { active: 1, draining: 0, dead_last_hour: 1, capacity: 7, running: 0 })
  const { workers, next_cursor: next } = await list(`?limit=2&cursor=${first.next_cursor}`)
  assert.deepEqual([workers.map((one: { worker_id: string }) => one.worker_id), next], [[ids[2]], null])
  assert.deepEqual((await list('?status=DEAD')).workers.length, 1)
  assertProblem(await call('GET', '/workers?status=GONE'), 'INVALID_REQUEST', 'status')
  assertProblem(await call('GET', '/workers?cursor=x'), 'INVALID_CURSOR', 'cursor')
  assertProblem(await call('GET', '/workers?limit=1001'), 'INVALID_REQUEST', 'limit')
  // To be seen gives no right to act.
  for (const id of ids.slice(0, 2)) assertProblem(await beat(id), 'WORKER_LOST')
})

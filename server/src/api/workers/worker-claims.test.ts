import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import test, { type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { assertProblem, operatorKey, setupApp } from '../../../test/app.ts'
import { type ClaimedHere, markOf, triggerMany, workerCalls } from '../../../test/worker-calls.ts'
import { unlimitedTier } from '../../../testing/memory-store/first-tiers.ts'
import { Unavailable } from '../../lib/unavailable.ts'

async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const show = async (id: string) => (await parts.call('GET', `/executions/${id}`)).json()
  return { ...parts, ...workerCalls(parts), trigger: triggerMany.bind(null, parts), show }
}

test('a worker gets no more than it has room for, and nothing once it drains', async (t) => {
  const { register, take, beat, trigger } = await setup(t)
  const workerId = await register({ capacity: 3 })
  await trigger(8)
  const held = await take(workerId, { limit: 10 })
  assert.equal(held.length, 3)
  const running = held.map((one) => one.execution_id)
  assert.deepEqual(await take(workerId, { running }), [])
  assert.equal((await take(workerId, { running: running.slice(1) })).length, 1)
  await beat(workerId, [], { status: 'DRAINING' })
  assert.deepEqual(await take(workerId), [])
})

test('claims together bring no more than the capacity until a result is reported', async (t) => {
  const { register, take, report, trigger, call } = await setup(t)
  const execution = { type: 'worker', handler: 'cap2' }
  const workerId = await register({ handlers: ['cap2'], capacity: 2 })
  await trigger(7, { execution })
  const claims = []
  for (let i = 0; i < 4; i++) claims.push(await take(workerId, { limit: 50 }))
  assert.deepEqual(
    claims.map(({ length }) => length),
    [2, 0, 0, 0],
  )
  const [listed] = (await call('GET', '/workers')).json().workers
  assert.deepEqual([listed.current_load, listed.capacity], [2, 2])
  await report(workerId, [{ ...markOf(claims[0]![0]!), status: 'succeeded' }])
  assert.equal((await take(workerId, { limit: 50 })).length, 1)
  assert.equal((await take(workerId, { limit: 50 })).length, 0)
})

test('executions that come at once are shared by the workers that wait for them', async (t) => {
  const { memory, register, take, trigger, call } = await setup(t)
  const looks = t.mock.method(memory.routes, 'findWaiting').mock
  const claims: Promise<ClaimedHere[]>[] = []
  for (let n = 0; n < 3; n++) {
    const before = looks.callCount()
    claims.push(take(await register({ capacity: 12 }), { wait_seconds: 20, limit: 12 }))
    while (looks.callCount() === before) await setImmediate()
  }
  const { jobId } = await trigger(0)
  const answer = await call('POST', `/jobs/${jobId}/triggers`, { count: 12 })
  assert.equal(answer.statusCode, 202, answer.body)
  const sizes = (await Promise.all(claims)).map((executions) => executions.length)
  assert.deepEqual(sizes, [4, 4, 4])
})

test('the executions of a worker are listed by its id', async (t) => {
  const { register, take, report, trigger, call } = await setup(t)
  const [one, two] = [await register(), await register()]
  await trigger(3)
  const held = await take(one, { limit: 2 })
  await take(two)
  await report(one, [{ ...markOf(held[0]!), status: 'succeeded' }])
  const idsOf = async (query: string) =>
    (await call('GET', `/executions?${query}`))
      .json()
      .executions.map((item: ClaimedHere) => item.execution_id)
  const ids = held.map((item) => item.execution_id)
  assert.deepEqual((await idsOf(`worker_id=${one}`)).toSorted(), ids.toSorted())
  assert.deepEqual(await idsOf(`worker_id=${one.toUpperCase()}&status=RUNNING`), [ids[1]])
  assert.equal((await idsOf(`worker_id=${two}`)).length, 1)
  assertProblem(await call('GET', '/executions?worker_id=x'), 'INVALID_REQUEST', 'worker_id')
})

test('a claim of a full worker waits, and is answered as soon as a result is reported', async (t) => {
  const { register, take, claim, report, trigger, world } = await setup(t)
  const workerId = await register({ capacity: 1 })
  await trigger(2)
  const [first] = await take(workerId)
  const waiting = claim(workerId, { wait_seconds: 20 })
  const timedOut = take(workerId)
  assert.deepEqual(await timedOut, [])
  await report(workerId, [{ ...markOf(first!), status: 'succeeded' }])
  assert.equal((await waiting).json().executions.length, 1)
  assert.equal(world.clock.databaseNow(), Date.UTC(2026, 0, 1))
})

test('after a lost answer, a claim that lists the executions the worker holds hands back the rest', async (t) => {
  const { register, take, trigger, show } = await setup(t)
  const [workerId, other] = [await register(), await register()]
  await trigger(3)
  const [known] = await take(workerId, { limit: 1 })
  await take(workerId, { limit: 2 })
  assert.deepEqual(await take(other), [])
  await take(workerId, { limit: 1, running: [known!.execution_id] })
  assert.equal((await take(other)).length, 1)
  assert.equal((await show(known!.execution_id)).worker_id, workerId)
})

test('labels decide which worker gets an execution', async (t) => {
  const { register, take, trigger } = await setup(t)
  const [plain, fit] = [await register(), await register({ labels: ['gpu', 'eu'] })]
  const execution = { type: 'worker', handler: 'report', labels: ['gpu'] }
  await trigger(1, { execution })
  assert.deepEqual(await take(plain), [])
  assert.equal((await take(fit)).length, 1)
})

test('a claim waits for executions to come, and nothing is claimed for a client that has gone', async (t) => {
  const { app, memory, register, take, trigger, claim } = await setup(t)
  const [workerId, other] = [await register(), await register()]
  const { findWaiting } = memory.routes
  const looked = Promise.withResolvers<void>()
  memory.routes.findWaiting = async (...query) => {
    const found = await findWaiting.apply(memory.routes, query)
    looked.resolve()
    return found
  }
  await app.listen({ port: 0, host: '127.0.0.1' })
  const accepted = once(app.server, 'connection')
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  const body = JSON.stringify({ worker_id: workerId, wait_seconds: 20 })
  client.write(
    `POST /api/v1/workers/claim HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${operatorKey}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  const [socket] = (await accepted) as [Socket]
  await looked.promise
  client.destroy()
  await once(socket, 'close')
  const waiting = claim(other, { wait_seconds: 20 })
  const { executionIds } = await trigger(1)
  const [claimed] = (await waiting).json().executions
  assert.equal(claimed.execution_id, executionIds[0])
  assert.deepEqual(await take(workerId), [])
})

test('executions claimed for a client that went away before the answer are handed back', async (t) => {
  const { app, memory, register, take, trigger } = await setup(t)
  const [workerId, other] = [await register(), await register()]
  const { executionIds } = await trigger(1)
  const { definitions } = memory.queue
  const claiming = Promise.withResolvers<void>()
  const gone = Promise.withResolvers<void>()
  memory.queue.definitions = async (keys) => {
    claiming.resolve()
    await gone.promise
    return definitions.call(memory.queue, keys)
  }
  const { report } = memory.attempts
  const returned = Promise.withResolvers<void>()
  memory.attempts.report = async (reports) => {
    const answer = await report.call(memory.attempts, reports)
    returned.resolve()
    return answer
  }
  await app.listen({ port: 0, host: '127.0.0.1' })
  const accepted = once(app.server, 'connection')
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  const body = JSON.stringify({ worker_id: workerId })
  client.write(
    `POST /api/v1/workers/claim HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${operatorKey}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  const [socket] = (await accepted) as [Socket]
  await claiming.promise
  client.destroy()
  await once(socket, 'close')
  gone.resolve()
  await returned.promise
  const [claimed] = await take(other)
  assert.deepEqual([claimed!.execution_id, claimed!.attempt_number], [executionIds[0], 1])
})

/** A graph in which `b` runs after `a`; its root was triggered and has ended with this result. */
async function setupGraph(t: TestContext, result: unknown) {
  const parts = await setup(t)
  const { call, memory, world, register, take, report } = parts
  const workerId = await register()
  const create = async (more: object): Promise<string> => {
    const request = { name: 'a', execution: { type: 'worker', handler: 'report' }, ...more }
    const created = await call('POST', '/jobs', request)
    assert.equal(created.statusCode, 201, created.body)
    return created.json().job_id
  }
  const parentId = await create({ schedule: '@yearly' })
  const childId = await create({ depends_on: [{ job_id: parentId }] })
  const triggered = (await call('POST', `/jobs/${parentId}/trigger`)).json()
  const runId: string = triggered.graph_run_id
  const tools = { newExecutionId: () => world.ids.nextBatch(), laneOf: () => 'shared' }
  const step = () => memory.runSteps.step([runId], tools)
  await step()
  const [root] = await take(workerId)
  await report(workerId, [{ ...markOf(root!), status: 'succeeded', result }])
  await step()
  return { ...parts, workerId, parentId, childId, runId, root: root! }
}

test('an execution that runs after others is handed out with their results', async (t) => {
  const { take, workerId, parentId, childId, runId, root } = await setupGraph(t, { rows: 3 })
  assert.deepEqual([root['graph_run_id'], 'parents' in root], [runId, false])
  const [child] = await take(workerId)
  assert.deepEqual([child!['job_id'], child!['kind'], child!['graph_run_id']], [childId, 'dependency', runId])
  assert.deepEqual(child!['parents'], [
    {
      job_id: parentId,
      job_key: null,
      execution_id: root.execution_id,
      status: 'SUCCEEDED',
      result: { rows: 3 },
    },
  ])
})

test('an execution is handed back unstarted when the results of its parents cannot be read', async (t) => {
  const { memory, claim, take, workerId } = await setupGraph(t, 'x')
  const { parentsOf } = memory.graphRuns
  const { report } = memory.attempts
  const returned = Promise.withResolvers<void>()
  memory.attempts.report = async (reports) => {
    const answer = await report.call(memory.attempts, reports)
    returned.resolve()
    return answer
  }
  memory.graphRuns.parentsOf = async () => {
    throw new Unavailable('the database is away')
  }
  assertProblem(await claim(workerId), 'UNAVAILABLE')
  await returned.promise
  memory.graphRuns.parentsOf = parentsOf
  const [child] = await take(workerId)
  assert.equal(child!.attempt_number, 1)
  assert.equal((child!['parents'] as { result: unknown }[])[0]!.result, 'x')
})

test('workers of a tenant run no more than its tier lets run at once, all together, and go on with each result', async (t) => {
  const { register, take, claim, report, trigger, memory, world } = await setup(t)
  await memory.tiers.put({ ...unlimitedTier, concurrentExecutionsMax: 3 })
  const [one, two] = [await register({ capacity: 50 }), await register({ capacity: 50 })]
  const { executionIds } = await trigger(5)
  const first = await take(one, { limit: 2 })
  assert.equal(first.length, 2)
  const second = await take(two, { limit: 10 })
  assert.equal(second.length, 1)
  assert.deepEqual(await take(one), [])
  const waiting = claim(two, { wait_seconds: 20 })
  await world.advance(2_000)
  await report(one, [{ ...markOf(first[0]!), status: 'succeeded' }])
  await world.advance(200)
  const third = (await waiting).json().executions
  assert.deepEqual(
    third.map((item: ClaimedHere) => item.execution_id),
    [executionIds[3]],
  )
  assert.equal([...memory.store.live.values()].filter(({ state }) => state === 'ready').length, 1)
})

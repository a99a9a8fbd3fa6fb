import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import test, { type TestContext } from 'node:test'
import { operatorKey, setupApp } from '../../../test/app.ts'
import { triggerMany, workerCalls } from '../../../test/worker-calls.ts'

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

test('after a lost answer a claim that says what the worker holds gives back the rest', async (t) => {
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

test('labels decide who gets what', async (t) => {
  const { register, take, trigger } = await setup(t)
  const [plain, fit] = [await register(), await register({ labels: ['gpu', 'eu'] })]
  const execution = { type: 'worker', handler: 'report', labels: ['gpu'] }
  await trigger(1, { execution })
  assert.deepEqual(await take(plain), [])
  assert.equal((await take(fit)).length, 1)
})

test('a claim waits for what comes, and nothing is claimed for a client that has gone', async (t) => {
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

test('what was claimed for a client that went away before the answer is handed back', async (t) => {
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

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, setupApp } from '../../../test/app.ts'
import { markOf, tokenOf, triggerMany, workerCalls } from '../../../test/worker-calls.ts'
import { attemptRefused } from '../../telemetry/events.ts'

async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const { call, memory } = parts
  const refused: string[] = []
  const subscription = attemptRefused.subscribe(
    (one) => void refused.push(`${one.executionId} ${one.workerId}`),
  )
  t.after(() => subscription[Symbol.dispose]())
  const calls = workerCalls(parts)
  async function logOf(executionId: string): Promise<string[]> {
    const answer = await call('GET', `/executions/${executionId}/logs`)
    assert.equal(answer.statusCode, 200, answer.body)
    const { logs } = answer.json() as { logs: { attempt_number: number; level: string; message: string }[] }
    return logs.map((one) => `${one.attempt_number} ${one.level} ${one.message}`)
  }
  async function reclaim(workerId: string): Promise<void> {
    const beat = (await memory.maintenance.watch()).find(({ holderId }) => holderId === workerId)
    assert.notEqual(await memory.maintenance.reclaim(beat!), 'alive')
  }
  return {
    ...parts,
    ...calls,
    refused,
    logOf,
    reclaim,
    trigger: (count: number) => triggerMany(parts, count),
  }
}

const lateOf = (workerId: string, said: string) =>
  `1 warn A late result of attempt 1 (${said}) from worker ${workerId} was refused: the execution had been taken from it.`

test('late results of a worker that was declared dead are refused, and the logs of their executions say so, once', async (t) => {
  const { register, take, report, reclaim, trigger, logOf, refused, call } = await setup(t)
  const paused = await register()
  const { executionIds } = await trigger(2)
  const marks = (await take(paused)).map(markOf)
  const results = [
    { ...marks[0]!, status: 'succeeded' },
    { ...marks[1]!, status: 'failed', error: { message: 'no' } },
  ]
  await reclaim(paused)
  for (let times = 0; times < 2; times++) assertProblem(await report(paused, results), 'WORKER_LOST')
  assert.deepEqual(await logOf(marks[0]!.execution_id), [lateOf(paused, 'SUCCEEDED')])
  assert.deepEqual(await logOf(marks[1]!.execution_id), [lateOf(paused, 'FAILED')])
  assert.deepEqual(new Set(refused), new Set(executionIds.map((id) => `${id} ${paused}`)))
  // Another worker runs them, and its results are the ones on record.
  const other = await register()
  const again = (await take(other)).map(markOf)
  const { accepted } = (
    await report(
      other,
      again.map((one) => ({ ...one, status: 'succeeded' })),
    )
  ).json()
  assert.equal(accepted, 2)
  for (const id of executionIds) {
    const { status, worker_id: by, attempts } = (await call('GET', `/executions/${id}`)).json()
    assert.deepEqual([status, by, attempts.length], ['SUCCEEDED', other, 2])
  }
})

test('a worker that never held an attempt writes nothing into its log, regardless of its reports', async (t) => {
  const { register, take, report, reclaim, trigger, logOf, refused } = await setup(t)
  const paused = await register()
  await trigger(1)
  const [mark] = (await take(paused)).map(markOf)
  const stranger = await register()
  const forged = { ...mark!, status: 'succeeded' }
  assert.deepEqual((await report(stranger, [forged])).json().refused, [mark!.execution_id])
  await reclaim(paused)
  assert.deepEqual((await report(stranger, [forged])).json().refused, [mark!.execution_id])
  // Not even the one that had it, of an attempt that there was not.
  assertProblem(await report(paused, [{ ...forged, attempt_number: 7 }]), 'WORKER_LOST')
  assertProblem(await report(paused, [{ ...mark!, status: 'released' }]), 'WORKER_LOST')
  assert.deepEqual(await logOf(mark!.execution_id), [])
  assert.deepEqual(refused, [])
})

test('a completion by the token of an attempt that is over is refused, and the log says so', async (t) => {
  const { app, call, memory, logOf, refused } = await setup(t)
  const execution = { type: 'http', callback_url: 'https://slow.example/', timeout_seconds: 60 }
  const { executionIds } = await triggerMany({ call }, 1, { execution })
  const [executionId] = executionIds
  const workerId = '019b7a00-4c00-7000-8000-0000000000b1'
  const worker = { workerId, tenantId: null, host: 'h', port: null, version: '1', handlers: [], capacity: 1 }
  await memory.leases.register({ ...worker, labels: [], executors: ['http'] })
  const { lanes } = await memory.queue.waiting(['server'], 10)
  const share = lanes.map(({ lane }) => ({ lane, count: 1 }))
  await memory.queue.claim({ workerId, routes: ['server'], lanes: share, hosts: [], batchesMax: 10 })
  const [beat] = await memory.maintenance.watch()
  await memory.maintenance.reclaim(beat!)
  const token = await tokenOf({ memory }, { executionId: executionId!, attempt: 1 })
  const answer = await app.inject({
    method: 'POST',
    url: `/api/v1/executions/${executionId}/complete`,
    headers: { 'x-carillon-token': token },
    payload: { status: 'succeeded' },
  })
  assertProblem(answer, 'ATTEMPT_OVER')
  assert.deepEqual(await logOf(executionId!), [
    '1 warn A late result of attempt 1 (SUCCEEDED) from its target was refused: the attempt was over.',
  ])
  assert.deepEqual(refused, [`${executionId} token`])
})

test('a log that cannot be written changes nothing about the answer', async (t) => {
  const { register, take, report, reclaim, trigger, memory, refused } = await setup(t)
  const paused = await register()
  await trigger(1)
  const [mark] = (await take(paused)).map(markOf)
  await reclaim(paused)
  memory.logs.append = async () => {
    throw new Error('the disk is full')
  }
  assertProblem(await report(paused, [{ ...mark!, status: 'succeeded' }]), 'WORKER_LOST')
  assert.equal(refused.length, 1)
})

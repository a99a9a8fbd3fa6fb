// Lists of many small items that a tenant may make large: no answer has more than the bytes of a page, and all come.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { pageBytesMax } from '@carillon/contract/constants.ts'
import { bearer } from '../../../test/access.ts'
import { operatorKey, runAll, setupApp, testWorker } from '../../../test/app.ts'
import { EventReader } from '../../../test/event-reader.ts'
import { messageLengthMax } from '../../domain/queue/attempt.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'

const attemptsMade = 10
const linesOfAttempt = 31

/** An execution that has ended, with a log of 2.5 MB. */
async function setupLog(t: TestContext) {
  const parts = await setupApp(t)
  const { call, memory, world } = parts
  const execution = { callback_url: 'http://127.0.0.1:9/' }
  const job = await call('POST', '/jobs', { name: 'a', schedule: '0 0 1 1 *', execution })
  const triggered = await call('POST', `/jobs/${job.json().job_id}/trigger`)
  const executionId: string = triggered.json().execution_id
  const line = { at: world.clock.databaseNow(), level: 'info', message: 'x'.repeat(8_192) } as const
  for (let attempt = 1; attempt <= attemptsMade; attempt++) {
    const place = { tenantId: defaultTenantId, executionId, attempt, firstLine: 0 }
    await memory.logs.append([{ ...place, lines: new Array<typeof line>(linesOfAttempt).fill(line) }])
  }
  await runAll(parts)
  return { ...parts, executionId }
}

test('a page of a long log has at most 2 MiB, and its cursor leads to every other line', async (t) => {
  const { call, executionId } = await setupLog(t)
  const counts: number[] = []
  for (let cursor = ''; ; ) {
    const answer = await call('GET', `/executions/${executionId}/logs?limit=1000${cursor}`)
    const bytes = Buffer.byteLength(answer.body)
    assert(bytes <= pageBytesMax, `${bytes} bytes`)
    const { logs, next_cursor: next } = answer.json()
    counts.push(logs.length)
    if (next === null) break
    cursor = `&cursor=${next}`
  }
  assert.deepEqual(counts, [251, 59])
})

test('a stream tells every line of a long log, in events of at most 2 MiB', async (t) => {
  const { app, world, executionId } = await setupLog(t)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const path = `${url}/api/v1/events?watch=${executionId}`
  const reader = await EventReader.open(t, path, bearer(operatorKey))
  const counts: number[] = []
  for (let seen = 0; seen < attemptsMade * linesOfAttempt; ) {
    const { lines } = await reader.data('log')
    const bytes = Buffer.byteLength(JSON.stringify(lines))
    assert(bytes <= pageBytesMax, `${bytes} bytes`)
    counts.push(lines.length)
    seen += lines.length
    await world.advance(1_000)
  }
  assert.deepEqual(counts, [251, 59])
})

test('a page of executions with the longest errors has at most 2 MiB, all 200 of them', async (t) => {
  const { call, memory, world } = await setupApp(t)
  const execution = { callback_url: 'http://127.0.0.1:9/' }
  const settings = { schedule: '0 0 1 1 *', overlap_policy: 'ALLOW', execution }
  const job = await call('POST', '/jobs', { name: 'a', ...settings })
  const { job_id: jobId } = job.json()
  // JSON writes each as six bytes.
  const message = '\u0001'.repeat(messageLengthMax)
  const error = { type: 'HANDLER_ERROR', message } as const
  const failed = { outcome: 'failed', error, deadReason: 'NOT_RETRYABLE' } as const
  // A few at once, as many together are not in the shared lane.
  for (let n = 0; n < 20; n++) {
    await call('POST', `/jobs/${jobId}/triggers`, { count: 10 })
    await runAll({ memory, world }, failed)
    await world.advance(1_000)
  }
  for (const path of ['/executions', `/jobs/${jobId}/executions`, '/dead-letters']) {
    const answer = await call('GET', `${path}?limit=200`)
    const bytes = Buffer.byteLength(answer.body)
    assert(bytes > 200 * message.length * 6 && bytes <= pageBytesMax, `${path}: ${bytes} bytes`)
  }
})

test('a page of workers with many handlers has at most 2 MiB, and its cursor leads to every other one', async (t) => {
  const { call, memory } = await setupApp(t)
  const handlers = Array.from({ length: 200 }, (_, at) => `${'h'.repeat(125)}${100 + at}`)
  const ids = Array.from({ length: 100 }, (_, at) => `00000000-0000-7000-8000-${100_000_000_000 + at}`)
  for (const workerId of ids) await memory.leases.register(testWorker({ workerId, handlers }))
  const pages: string[][] = []
  for (let cursor = ''; ; ) {
    const answer = await call('GET', `/workers?${cursor}`)
    const bytes = Buffer.byteLength(answer.body)
    assert(bytes <= pageBytesMax, `${bytes} bytes`)
    const { workers, next_cursor: next } = answer.json()
    pages.push(workers.map((one: { worker_id: string }) => one.worker_id))
    if (next === null) break
    cursor = `cursor=${next}`
  }
  assert.deepEqual(pages.flat(), ids)
  assert.equal(pages.length, 2)
})

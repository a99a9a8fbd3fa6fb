// A running worker: claims, heartbeats, reports, and the failures of each.
import assert from 'node:assert/strict'
import test from 'node:test'
import { problem } from '../test/scripted-api.ts'
import { until } from '../test/scripted-workers.ts'
import { gate, startWorker } from '../test/start-worker.ts'
import { NonRetriableError, RetryAfterError } from './job-errors.ts'

test('a worker runs its claimed executions, several at once, and reports them together', async (t) => {
  const { api } = await startWorker(t, (payload, ctx) => ({ payload, by: ctx.idempotencyKey }))
  const ids = api.enqueue(30, { payload: { n: 1 } })
  await until(() => api.results.length === 30)
  assert.deepEqual(new Set(api.results.map((one) => one.execution_id)), new Set(ids))
  const { status, result, attempt_number, fence } = api.results[0]!
  assert.deepEqual([status, attempt_number, fence], ['succeeded', 1, 1])
  assert.deepEqual(result, { payload: { n: 1 }, by: 'a-key' })
  assert(api.reports[0]! > 1, `${api.reports}`)
})

test('a handler knows its graph run, its parents, and their outcomes', async (t) => {
  const { api } = await startWorker(t, (_, { graphRunId, parents }) => ({ graphRunId, parents }))
  const parents = [
    { job_id: 'a', job_key: 'extract', execution_id: 'e', status: 'SUCCEEDED', result: { rows: 3 } },
    { job_id: 'b', job_key: null, execution_id: null, status: 'SKIPPED' },
  ] as const
  api.enqueue(1, { kind: 'dependency', graph_run_id: 'r', parents: [...parents] })
  await until(() => api.results.length === 1)
  assert.deepEqual(api.results[0]!.result, {
    graphRunId: 'r',
    parents: [
      { jobId: 'a', jobKey: 'extract', executionId: 'e', status: 'SUCCEEDED', result: { rows: 3 } },
      { jobId: 'b', jobKey: null, executionId: null, status: 'SKIPPED' },
    ],
  })
  api.enqueue(1)
  await until(() => api.results.length === 2)
  assert.deepEqual(api.results[1]!.result, { graphRunId: null, parents: [] })
})

test('it runs no more at once than it was allowed, and asks for no more than it has room for', async (t) => {
  const { run, running, open } = gate()
  const { api, worker } = await startWorker(t, run, { concurrency: 3 })
  const ids = api.enqueue(5)
  await until(() => running.size === 3)
  assert.equal(worker.running, 3)
  assert.equal(api.parked, 0)
  assert.deepEqual(api.claims, [{ limit: 3 }])
  open(ids[1]!)
  await until(() => running.size === 4)
  assert.equal(api.claims[1]!.limit, 1)
})

test('one heartbeat tells of everything that runs', async (t) => {
  const { run, running } = gate()
  const { api } = await startWorker(t, run)
  const ids = api.enqueue(3)
  await until(() => running.size === 3)
  running.get(ids[0]!)!.progress(0.25, 'a quarter')
  running.get(ids[1]!)!.log.info('said')
  running.get(ids[2]!)!.heartbeat()
  await until(() => api.entries.some((entry) => entry.alive === true))
  const heard = api.beats.length
  await until(() => api.beats.length > heard)
  const entriesOf = (id: string) => api.entries.filter((entry) => entry.execution_id === id)
  const all = api.beats.at(-1)!.running!.map((entry) => entry.execution_id)
  assert.deepEqual(all.sort(), [...ids].sort())
  const progress = entriesOf(ids[0]!).filter((entry) => entry.progress !== undefined)
  assert.deepEqual(
    progress.map(({ progress, message }) => [progress, message]),
    [[0.25, 'a quarter']],
    'said once',
  )
  const [log] = entriesOf(ids[1]!).flatMap((entry) => entry.logs ?? [])
  assert.deepEqual([log!.first_line, log!.lines[0]!.level, log!.lines[0]!.message], [0, 'info', 'said'])
})

test('a checkpoint is saved when the server has it, not before', async (t) => {
  const order: string[] = []
  const { api } = await startWorker(
    t,
    async (_, ctx) => {
      await ctx.saveCheckpoint({ row: 1 })
      order.push('saved')
      return 'done'
    },
    {},
    (api) => {
      api.fault = ({ path, body }) => {
        if (!path.endsWith('/heartbeat') || !JSON.stringify(body).includes('checkpoint')) return null
        order.push('heard')
        return order.length < 3 ? 'break' : null
      }
    },
  )
  api.enqueue(1)
  await until(() => api.results.length === 1)
  assert.deepEqual(order, ['heard', 'heard', 'heard', 'saved'])
  assert.deepEqual(api.entries.find((entry) => entry.checkpoint !== undefined)!.checkpoint, { row: 1 })
})

test('a checkpoint that nobody awaited goes ahead of the report of a failure', async (t) => {
  const { api } = await startWorker(t, (_, ctx) => {
    void ctx.saveCheckpoint('half')
    throw new Error('broken')
  })
  api.enqueue(1)
  await until(() => api.results.length === 1)
  const kinds = api.asked.map(({ path }) => path.split('/').at(-1))
  const beat = api.asked.findIndex(({ body }) => JSON.stringify(body).includes('"checkpoint":"half"'))
  assert(beat >= 0 && beat < kinds.indexOf('report'))
  assert.deepEqual(api.results[0]!.error, { message: 'broken' })
})

test('a cancelled execution is stopped, and its end is reported', async (t) => {
  const { run, running } = gate()
  const { api } = await startWorker(t, run)
  const [id] = api.enqueue(1)
  await until(() => running.size === 1)
  api.cancelled.add(id!)
  await until(() => api.results.length === 1)
  assert.equal(running.get(id!)!.signal.reason.message, 'Somebody cancelled this execution.')
  assert.equal(api.results[0]!.status, 'failed')
})

test('an execution that the worker no longer owns is stopped and never reported', async (t) => {
  const { run, running } = gate()
  const { api, worker, events } = await startWorker(t, run)
  const [id] = api.enqueue(1)
  await until(() => running.size === 1)
  const saved = running.get(id!)!.saveCheckpoint(1)
  api.fault = ({ path }) => (path.endsWith('/heartbeat') ? { body: { cancelled: [], lost: [id] } } : null)
  await until(() => events.some((event) => event.type === 'ended' && event.status === 'lost'))
  assert.equal(running.get(id!)!.signal.aborted, true)
  await saved
  await assert.rejects(running.get(id!)!.saveCheckpoint(2), /not this worker’s any more/)
  assert.equal(worker.running, 0)
  await worker.stop()
  assert.deepEqual(api.results, [])
})

test('an attempt that takes longer than it may is stopped and reported as such', async (t) => {
  const { run, running } = gate()
  const { api } = await startWorker(t, run)
  const [id] = api.enqueue(1, { timeout_seconds: 0.05 })
  await until(() => api.results.length === 1)
  assert.equal(running.get(id!)!.signal.reason.name, 'TimeoutError')
  assert.deepEqual(api.results[0]!.error, { type: 'TIMEOUT', message: 'It took longer than 0.05 s.' })
})

test('final errors and errors with a retry delay are reported as such', async (t) => {
  const { api } = await startWorker(t, (payload) => {
    throw payload === 'final' ? new NonRetriableError('x') : new RetryAfterError('x', 7_000)
  })
  api.enqueue(1, { payload: 'final' })
  api.enqueue(1, { payload: 'later' })
  await until(() => api.results.length === 2)
  assert.deepEqual(
    api.results.map((one) => one.error),
    [
      { message: 'x', final: true },
      { message: 'x', retry_after_ms: 7_000 },
    ],
  )
})

test('while the API is away results are kept, and sent when it answers', async (t) => {
  let isAway = false
  const { run, running, open } = gate()
  const { api, types } = await startWorker(t, run, {}, (api) => {
    api.fault = () => (isAway ? 'break' : null)
  })
  const ids = api.enqueue(2)
  await until(() => running.size === 2)
  isAway = true
  open(ids[0]!, 'one')
  open(ids[1]!, 'two')
  await until(() => types().includes('unreachable'))
  const before = api.asked.length
  await until(() => api.asked.filter(({ path }, at) => at >= before && path.endsWith('/report')).length >= 2)
  isAway = false
  await until(() => api.results.length === 2)
  assert.deepEqual(api.results.map(({ result }) => result).sort(), ['one', 'two'])
  await until(() => types().includes('reachable'))
  assert.equal(types().filter((type) => type === 'unreachable').length, 1, 'told once')
})

test('after a claim with a lost answer the worker reports the executions it holds, so that the rest goes to others', async (t) => {
  const { run, running } = gate()
  let isLost = false
  const { api } = await startWorker(t, run, {}, (api) => {
    api.fault = ({ path }) => {
      if (!path.endsWith('/claim') || !isLost) return null
      isLost = false
      return 'break'
    }
  })
  const claims = () => api.asked.filter(({ path }) => path.endsWith('/claim')).map(({ body }) => body)
  const ids = [...api.enqueue(1)]
  await until(() => running.size === 1 && api.parked === 1)
  isLost = true
  ids.push(...api.enqueue(1))
  await until(() => running.size === 2 && claims().length === 4)
  ids.push(...api.enqueue(1))
  await until(() => running.size === 3 && claims().length === 5)
  const told = claims().map((body) => (body as { running?: string[] }).running)
  assert.deepEqual(told, [undefined, undefined, undefined, ids.slice(0, 2), undefined])
})

test('results are given up when the API has been away for too long', async (t) => {
  const { api, events, worker } = await startWorker(
    t,
    () => 'x',
    { outageSeconds: 0 },
    (api) => {
      api.fault = ({ path }) => (path.endsWith('/report') ? 'break' : null)
    },
  )
  api.enqueue(1)
  await until(() => events.some((event) => event.type === 'refused'))
  assert.equal(worker.running, 0)
})

test('a result that the server cannot take holds up no other, and its attempt still counts', async (t) => {
  const { api } = await startWorker(
    t,
    (payload) => payload,
    {},
    (api) => {
      api.fault = ({ path, body }) =>
        path.endsWith('/report') && JSON.stringify(body).includes('"result":"bad"')
          ? problem(400, 'INVALID_NUMBER')
          : null
    },
  )
  api.enqueue(5, { payload: 'good' })
  const [bad] = api.enqueue(1, { payload: 'bad' })
  api.enqueue(5, { payload: 'good' })
  await until(() => api.results.length === 11)
  assert.equal(api.results.filter(({ result }) => result === 'good').length, 10)
  const { status, result } = api.results.find((one) => one.execution_id === bad)!
  assert.deepEqual([status, result], ['succeeded', undefined])
})

test('a checkpoint that the server cannot take costs its handler an error, and the worker nothing', async (t) => {
  const { api } = await startWorker(
    t,
    (payload, ctx) => (payload === 'bad' ? ctx.saveCheckpoint('bad') : ctx.saveCheckpoint('good')),
    {},
    (api) => {
      api.fault = ({ path, body }) => {
        if (!path.endsWith('/heartbeat')) return null
        const { running } = body as { running: { checkpoint?: unknown }[] }
        const at = running.findIndex(({ checkpoint }) => checkpoint === 'bad')
        if (at < 0) return null
        return problem(400, 'NESTED_TOO_DEEP', {
          errors: [{ pointer: `/running/${at}/checkpoint`, detail: 'x' }],
        })
      }
    },
  )
  api.enqueue(1, { payload: 'good' })
  const [bad] = api.enqueue(1, { payload: 'bad' })
  await until(() => api.results.length === 2)
  const failed = api.results.filter(({ status }) => status === 'failed')
  assert.deepEqual(
    failed.map((one) => [one.execution_id, one.error!.message]),
    [[bad, 'The checkpoint was not saved: It is NESTED_TOO_DEEP.']],
  )
})

test('all lines of a talkative handler arrive, each once', async (t) => {
  const { api } = await startWorker(t, (_, ctx) => {
    for (let line = 0; line < 2_500; line++) ctx.log.info(`line ${line}`)
  })
  api.enqueue(1)
  await until(() => api.results.length === 1)
  const parts = [...api.entries, ...api.results].flatMap(({ logs }) => logs ?? [])
  const messages = parts.flatMap((part) => part.lines.map(({ message }) => message))
  assert.deepEqual(
    messages,
    Array.from({ length: 2_500 }, (_, line) => `line ${line}`),
  )
  assert.deepEqual(
    parts.map((part) => part.first_line),
    [0, 1_000, 2_000],
  )
})

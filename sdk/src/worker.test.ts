// How a worker begins and ends: by itself, by a refusal, and when the server takes it for dead.
import assert from 'node:assert/strict'
import test from 'node:test'
import { problem } from '../test/scripted-api.ts'
import { lostWorker, until } from '../test/scripted-workers.ts'
import { gate, startWorker } from '../test/start-worker.ts'
import { defineJob } from './define-job.ts'
import { createWorker } from './worker.ts'

test('a worker that was taken for dead stops everything, registers anew and goes on', async (t) => {
  const { run, running, open } = gate()
  const { api, events, types, worker } = await startWorker(t, run)
  const [id] = api.enqueue(1)
  await until(() => running.size === 1)
  const first = worker.workerId
  api.fault = ({ path, body }) =>
    path !== '/api/v1/workers' && (body as { worker_id?: string } | null)?.worker_id === first
      ? lostWorker()
      : null
  await assert.rejects(running.get(id!)!.saveCheckpoint(1), /not this worker’s any more/)
  await until(() => api.workers.length === 2)
  await until(() => worker.workerId === api.workers[1])
  assert.equal(running.get(id!)!.signal.aborted, true)
  assert.deepEqual(
    events.find(({ type }) => type === 'lost'),
    { type: 'lost', workerId: first, running: 1 },
  )
  assert.equal(types().filter((type) => type === 'lost').length, 1)
  const [next] = api.enqueue(1)
  await until(() => running.size === 2)
  open(next!, 'again')
  await until(() => api.results.length === 1)
  assert.equal(api.results[0]!.execution_id, next)
})

test('a stopping worker claims no more, waits for running attempts, and signs off', async (t) => {
  const { run, running, open } = gate()
  const { api, worker, types } = await startWorker(t, run)
  const [id] = api.enqueue(1)
  await until(() => running.size === 1 && api.parked === 1)
  const stopped = worker.stop()
  await until(() => api.beats.at(-1)?.status === 'DRAINING')
  assert.deepEqual(api.signedOff, [])
  open(id!, 'in time')
  await stopped
  await worker.stop()
  await worker.stopped
  assert.deepEqual(
    api.results.map(({ status, result }) => [status, result]),
    [['succeeded', 'in time']],
  )
  assert.deepEqual(api.signedOff, [api.workers[0]])
  assert.equal(api.claims.length, 2)
  assert.deepEqual(types().slice(-2), ['ended', 'stopped'])
})

test('an attempt that does not end in time is asked to stop and is handed back with its checkpoint', async (t) => {
  const { api, worker } = await startWorker(t, async (_, ctx) => {
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    void ctx.saveCheckpoint('where I was')
    throw ctx.signal.reason
  })
  const [id] = api.enqueue(1)
  await until(() => api.entries.length > 0)
  await worker.stop({ drainSeconds: 0 })
  assert.deepEqual(
    api.results.map((one) => [one.execution_id, one.status]),
    [[id, 'released']],
  )
  assert(api.entries.some(({ checkpoint }) => checkpoint === 'where I was'))
  assert.deepEqual(api.signedOff, [api.workers[0]])
})

test('jobs that have a schedule are put by their key, others and on request none', async (t) => {
  const jobs = [
    defineJob({ key: 'nightly', schedule: '0 2 * * *', run() {} }),
    defineJob({ key: 'work', run() {} }),
  ]
  const { api, worker } = await startWorker(t, () => {}, {
    jobs,
    labels: ['eu'],
    concurrency: 7,
    version: '1.2.3',
  })
  const put = api.asked.filter(({ method }) => method === 'PUT')
  assert.deepEqual(
    put.map(({ path, body }) => [path, body]),
    [
      [
        '/api/v1/jobs/by-key/nightly',
        { name: 'nightly', schedule: '0 2 * * *', execution: { type: 'worker', handler: 'nightly' } },
      ],
    ],
  )
  assert.deepEqual([...worker.jobIds], [['nightly', 'job of nightly']])
  const { host, ...registered } = api.asked.find(({ path }) => path === '/api/v1/workers')!.body as {
    host: string
  }
  assert.deepEqual(registered, {
    handlers: ['nightly', 'work'],
    labels: ['eu'],
    capacity: 7,
    version: '1.2.3',
  })
  assert(host.length > 0)
  const quiet = await startWorker(t, () => {}, { jobs, register: false })
  assert(!quiet.api.asked.some(({ method }) => method === 'PUT'))
})

test('a start waits for an API that is away, and ends when it is refused', async (t) => {
  let tries = 0
  const { worker } = await startWorker(
    t,
    () => {},
    {},
    (api) => {
      api.fault = () => (++tries < 3 ? 'break' : null)
    },
  )
  assert.match(worker.workerId, /^01941f29/)
  await assert.rejects(
    startWorker(
      t,
      () => {},
      {},
      (api) => {
        api.fault = () => problem(401, 'UNAUTHENTICATED')
      },
    ),
    { code: 'UNAUTHENTICATED' },
  )
  const controller = new AbortController()
  const away = startWorker(
    t,
    () => {},
    { signal: controller.signal },
    (api) => {
      api.fault = () => {
        controller.abort(new Error('enough'))
        return 'break'
      }
    },
  )
  await assert.rejects(away, { message: 'enough' })
})

test('each invalid worker option is named in the error', async () => {
  const job = defineJob({ key: 'a', run() {} })
  const good = { url: 'http://127.0.0.1:1', key: 'k', jobs: [job] }
  await assert.rejects(createWorker({ ...good, jobs: [] }), /jobs has 0/)
  await assert.rejects(createWorker({ ...good, jobs: [job, job] }), /two with the key a/)
  await assert.rejects(createWorker({ ...good, concurrency: 5_001 }), /concurrency is 5001/)
  await assert.rejects(createWorker({ ...good, key: '' }), /key must be an API key/)
})

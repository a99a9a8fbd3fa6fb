// Room in a heartbeat when many attempts have large updates, and updates that are kept until the server has answered.
import assert from 'node:assert/strict'
import test from 'node:test'
import { problem } from '../test/scripted-api.ts'
import { lostWorker, until } from '../test/scripted-workers.ts'
import { gate, startWorker } from '../test/start-worker.ts'
import { Attempt } from './worker-attempt.ts'
import { Beats } from './worker-beats.ts'

const large = 'x'.repeat(60_000)

test('everybody’s checkpoints are saved, however much the others save', async (t) => {
  const saves = new Map<string, number>()
  const { api } = await startWorker(t, async (_, ctx) => {
    for (let at = 1; !ctx.signal.aborted; at++) {
      await ctx.saveCheckpoint({ large, at })
      saves.set(ctx.executionId, at)
    }
  })
  api.enqueue(16)
  await until(() => saves.size === 16)
  const counts = [...saves.values()]
  assert(Math.max(...counts) <= 4, `${counts}`)
})

test('failed attempts are reported, however much the others save', async (t) => {
  const { api } = await startWorker(t, async (payload, ctx) => {
    if (payload === 'fail') {
      void ctx.saveCheckpoint({ large })
      throw new Error('broken')
    }
    while (!ctx.signal.aborted) await ctx.saveCheckpoint({ large })
  })
  api.enqueue(8)
  await until(() => api.beats.length > 2)
  const before = api.beats.length
  const [failed] = api.enqueue(1, { payload: 'fail' })
  await until(() => api.results.length === 1)
  assert.equal(api.results[0]!.execution_id, failed)
  assert(api.beats.length - before <= 3, `${api.beats.length - before}`)
})

test('running attempts are heard, however many updates the ended ones have left', async (t) => {
  const saves: number[] = []
  const { api } = await startWorker(t, async (payload, ctx) => {
    if (payload === 'fail') {
      void ctx.saveCheckpoint({ large })
      throw new Error('broken')
    }
    await ctx.saveCheckpoint({ large })
    saves.push(api.results.length)
  })
  api.enqueue(30, { payload: 'fail' })
  api.enqueue(1)
  await until(() => saves.length === 1)
  assert(saves[0]! < 30, `${saves}`)
})

test('a heartbeat names thousands of attempts and still has room for their updates', async () => {
  const claim = {
    ...{ job_id: 'j', job_name: 'j', handler: 'h', kind: 'trigger', scheduled_time: '', attempt_number: 1 },
    ...{ fence: 1, idempotency_key: 'k', timeout_seconds: 300, heartbeat_timeout_seconds: null },
    graph_run_id: null,
  }
  const attempts = Array.from({ length: 6_000 }, (_, at) => {
    const id = `01941f29-7c00-7000-8000-${String(at).padStart(12, '0')}`
    return new Attempt({ ...claim, execution_id: id }, () => {})
  })
  for (const attempt of attempts) attempt.note({ progress: 0.5, message: '好'.repeat(255) })
  const sent: string[] = []
  const beats = new Beats({
    call: async ({ json }) => {
      sent.push(json!)
      return { cancelled: [], lost: [] } as never
    },
    ...{ workerId: 'w', everyMs: 5, attempts: () => attempts, isDraining: () => false },
    ...{ onError: () => 'retry', onAnswer() {}, onCancelled() {}, onLost() {} },
  })
  const saved = attempts.at(-1)!.saveCheckpoint(JSON.stringify(large))
  const run = beats.run()
  await saved
  const told = () => new Set(sent.flatMap((json) => idsIn(json, 'message')))
  await until(() => told().size === 6_000)
  beats.end()
  await run
  for (const attempt of attempts) attempt.end()
  for (const json of sent) {
    assert.equal(JSON.parse(json).running.length, 6_000)
    assert(Buffer.byteLength(json) < 3 * 1024 * 1024, `${Buffer.byteLength(json)}`)
  }
  assert.equal(sent.flatMap((json) => idsIn(json, 'message')).length, 6_000, 'each said once')
})

test('a claim that is refused because the worker was silent costs nothing: the heartbeat keeps it alive', async (t) => {
  const { run, running, open } = gate()
  let isSilent = false
  const { api, worker, types } = await startWorker(t, run, {}, (api) => {
    api.fault = ({ path }) => {
      if (path.endsWith('/heartbeat')) isSilent = false
      return path.endsWith('/claim') && isSilent ? lostWorker() : null
    }
  })
  const ids = api.enqueue(1)
  await until(() => running.size === 1 && api.parked === 1)
  // The parked claim is answered, and the next one comes before any heartbeat.
  isSilent = true
  ids.push(...api.enqueue(1))
  await until(() => running.size === 2)
  open(ids[0]!, 'one')
  open(ids[1]!, 'two')
  await until(() => api.results.length === 2)
  assert(!types().includes('lost'), `${types()}`)
  assert.equal(worker.workerId, api.workers[0])
})

test('a worker registers again when its claims are refused although its heartbeat was heard', async (t) => {
  const { api, types } = await startWorker(
    t,
    () => 'x',
    {},
    (api) => {
      api.fault = ({ path, body }) =>
        path.endsWith('/claim') && (body as { worker_id: string }).worker_id === api.workers[0]
          ? lostWorker()
          : null
    },
  )
  await until(() => api.workers.length === 2)
  assert(types().includes('lost'))
})

test('after giving up an execution the worker lists the ones it still holds in the next claim', async (t) => {
  const { run, running, open } = gate()
  const { api, events } = await startWorker(t, run, {}, (api) => {
    api.fault = ({ path }) => (path.endsWith('/report') ? problem(400, 'INVALID_REQUEST') : null)
  })
  const [first, second] = api.enqueue(2)
  await until(() => running.size === 2 && api.parked === 1)
  open(first!)
  await until(() => events.some((event) => event.type === 'refused'))
  const [third] = api.enqueue(1)
  await until(() => running.size === 3)
  const claims = () => api.asked.filter(({ path }) => path.endsWith('/claim')).map(({ body }) => body)
  await until(() => api.parked === 1)
  const told = claims().map((body) => (body as { running?: string[] }).running)
  assert.deepEqual(told, [undefined, undefined, [second, third]])
})

function idsIn(json: string, word: string): string[] {
  const { running } = JSON.parse(json) as { running: Record<string, string>[] }
  return running.flatMap((one) => (one[word] === undefined ? [] : one.execution_id!))
}

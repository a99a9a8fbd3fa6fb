import assert from 'node:assert/strict'
import test from 'node:test'
import { jobId, makeLocalExecution, slot } from '../../test/local-execution.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import type { ShellExecution } from '../domain/executors/shell.ts'
import type { RetryPolicy } from '../domain/queue/retry.ts'
import { epochMs } from '../lib/time/epoch.ts'
import type { CallContext, ExecutorResult, LocalCall } from '../ports/executor.ts'
import type { HeldExecution } from './held-execution.ts'
import { runLocal, stopMsMax } from './run-local.ts'

interface Given {
  held?: Partial<HeldExecution>
  execution?: Partial<ShellExecution>
  retryPolicy?: Partial<RetryPolicy>
  /** How long after the abort it stops; null: never. */
  stopsAfterMs?: number | null
}

/** One attempt that ends when a test says so. */
function setup({ held: changes, execution, retryPolicy, stopsAfterMs = 0 }: Given = {}) {
  const world = createVirtualWorld()
  const { held, prepared } = makeLocalExecution(changes, execution, retryPolicy)
  const received: unknown[] = []
  const ended: HeldExecution[] = []
  let seen: { call: LocalCall; context: CallContext; end: (result: ExecutorResult) => void } | null = null
  const executor = {
    run(call: LocalCall, context: CallContext): Promise<ExecutorResult> {
      return new Promise((resolve) => {
        seen = { call, context, end: resolve }
        context.signal.addEventListener('abort', () => {
          if (stopsAfterMs !== null)
            world.timers.schedule(stopsAfterMs, () => resolve({ error: null, preview: 'too late' }))
        })
      })
    },
  }
  const updates = {
    log: (_: HeldExecution, level: string, message: string) => void received.push([level, message]),
    update: (_: HeldExecution, update: object) => void received.push(update),
    end: (one: HeldExecution) => void ended.push(one),
  }
  const abort = new AbortController()
  // In the middle: delays are as the policy has them.
  const random = { ...world.random, next: () => 0.5 }
  const deps = { clock: world.clock, timers: world.timers, random, executors: { shell: executor }, updates }
  const ran = runLocal(deps, held, prepared, abort.signal)
  assert(seen !== null)
  const { call, context, end } = seen as {
    call: LocalCall
    context: CallContext
    end: (result: ExecutorResult) => void
  }
  return { world, held, received, ended, abort, call, context, end, ran, startAt: world.clock.databaseNow() }
}

test('an executor gets the parameters of the job and the checkpoint of the attempt before', () => {
  const { call } = setup({
    held: { attempt: 2, checkpoint: { value: { row: 7 } } },
    execution: { payload: { a: 1 }, args: ['x'] },
  })
  const { execution, executionId, ...others } = call
  assert.deepEqual(others, {
    ...{ tenantId: 'a tenant', jobId, jobName: 'report', kind: 'slot', slot, attempt: 2 },
    ...{ idempotencyKey: '849bf95ed4d85f81c96ee1adc14744ba', payload: '{"a":1}', timeoutMs: 30_000 },
    checkpoint: { row: 7 },
    ...{ runId: null, parents: [] },
  })
  assert(execution.type === 'shell')
  assert.deepEqual([execution.command, execution.args], ['/bin/true', ['x']])
  assert.match(executionId, /^execution/)
})

test('an executor gets the results of parents: JSON as such, else the text', () => {
  const parent = { jobKey: 'k', executionId: 'e', status: 'SUCCEEDED' } as const
  const { call } = setup({
    held: {
      runId: 'r',
      parents: [
        { ...parent, jobId: 'a', result: '{"rows":3}' },
        { ...parent, jobId: 'b', result: '{"rows":' },
        { ...parent, jobId: 'c', result: null },
      ],
    },
  })
  assert.equal(call.runId, 'r')
  assert.deepEqual(call.parents, [
    { ...parent, jobId: 'a', result: { rows: 3 } },
    { ...parent, jobId: 'b', result: '{"rows":' },
    { ...parent, jobId: 'c' },
  ])
})

test('a missing checkpoint or payload is absent from the call', () => {
  const { call } = setup()
  assert.equal('checkpoint' in call, false)
  assert.equal(call.payload, null)
  assert.equal('checkpoint' in setup({ held: { checkpoint: { value: null } } }).call, true, 'null is one')
  const override = setup({ held: { bodyOverride: '{"b":2}' }, execution: { payload: 1 } })
  assert.equal(override.call.payload, '{"b":2}')
})

test('an attempt that ends well succeeds, with its times', async () => {
  const { world, end, ran, startAt, ended, held } = setup()
  await world.advance(400)
  end({ error: null, preview: 'done' })
  assert.deepEqual(await ran, {
    end: {
      ...{ outcome: 'succeeded', startedAt: startAt, finishedAt: epochMs(startAt + 400), durationMs: 400 },
      ...{ httpStatus: null, error: null, preview: 'done', retryAt: null, deadReason: null },
    },
    outcome: null,
  })
  assert.equal(held.startedAt, startAt)
  assert.deepEqual(ended, [held], 'it says nothing more')
  assert.equal(world.timers.pending, 0)
})

for (const { name, word, retryAfter, deadReason } of [
  { name: 'an error is retried', word: {}, retryAfter: 1_000, deadReason: null },
  { name: 'not before it says', word: { retryAfterMs: 9_000 }, retryAfter: 9_000, deadReason: null },
  {
    name: 'unless it says that it is no use',
    word: { isFinal: true },
    retryAfter: null,
    deadReason: 'NOT_RETRYABLE',
  },
]) {
  test(name, async () => {
    const { end, ran, startAt } = setup()
    end({ error: { type: 'EXIT_CODE', message: 'Exited with code 3' }, preview: null, ...word })
    const { end: how } = await ran
    assert.deepEqual([how!.outcome, how!.error!.type], ['failed', 'EXIT_CODE'])
    assert.equal(how!.retryAt, retryAfter === null ? null : startAt + retryAfter)
    assert.equal(how!.deadReason, deadReason)
  })
}

test('characters that the store cannot hold are replaced, and a long message is cut', async () => {
  const { end, ran } = setup()
  end({ error: { type: 'HANDLER_ERROR', message: `\0${'x'.repeat(5_000)}` }, preview: 'a\ud800' })
  const { error, preview } = (await ran).end!
  assert.deepEqual([error!.message[0], error!.message.length, preview], ['\ufffd', 1_024, 'a\ufffd'])
})

test('an attempt that exceeds its time limit is stopped, timed out and retried', async () => {
  const { world, ran, context, startAt } = setup({ stopsAfterMs: 2_000 })
  await world.advance(29_999)
  assert.equal(context.signal.aborted, false)
  await world.advance(1)
  assert.equal(context.signal.aborted, true)
  await world.advance(2_000)
  const { end } = await ran
  assert.deepEqual([end!.outcome, end!.preview], ['timed_out', null])
  assert.deepEqual(end!.error, { type: 'TIMEOUT', message: 'took longer than 30 s' })
  assert.deepEqual([end!.durationMs, end!.retryAt], [32_000, startAt + 33_000])
  assert.equal(world.timers.pending, 0)
})

test('the time of an attempt is at most the time that all attempts together have left', async () => {
  const totalDeadline = epochMs(Date.UTC(2026, 0, 1, 0, 0, 5))
  const { world, ran, call } = setup({ held: { totalDeadline } })
  assert.equal(call.timeoutMs, 5_000)
  await world.advance(5_000)
  const { end } = await ran
  assert.deepEqual([end!.outcome, end!.deadReason], ['timed_out', 'TOTAL_TIMEOUT'])
})

test('a cancelled attempt is stopped and ends cancelled, whichever result comes then', async () => {
  const { world, held, abort, ran, context } = setup({ stopsAfterMs: 1_000 })
  await world.advance(400)
  held.cancelledMs = world.clock.monotonicMs()
  abort.abort()
  assert.equal(context.signal.aborted, true)
  await world.advance(1_000)
  const { end } = await ran
  assert.deepEqual([end!.outcome, end!.durationMs, end!.preview], ['cancelled', 1_400, null])
})

test('an attempt that was cancelled shortly before its time was over ends cancelled', async () => {
  const { world, held, abort, ran } = setup({ stopsAfterMs: 10_000 })
  await world.advance(29_000)
  held.cancelledMs = world.clock.monotonicMs()
  abort.abort()
  await world.advance(10_000)
  assert.equal((await ran).end!.outcome, 'cancelled')
})

test('an attempt that is not ours any more is stopped, and has no end', async () => {
  const { world, abort, ran, context } = setup()
  abort.abort()
  await world.advance(0)
  assert.equal(context.signal.aborted, true)
  assert.deepEqual(await ran, { end: null, outcome: null })
})

for (const why of ['timeout', 'cancel', 'loss'] as const) {
  test(`an attempt that does not stop is over after 30 s: ${why}`, async () => {
    const { world, held, abort, ran, ended } = setup({ stopsAfterMs: null })
    if (why === 'cancel') held.cancelledMs = 0
    if (why === 'timeout') await world.advance(30_000)
    else abort.abort()
    await world.advance(stopMsMax - 1)
    assert.deepEqual(ended, [])
    await world.advance(1)
    const expected = { timeout: 'timed_out', cancel: 'cancelled', loss: undefined }
    assert.equal((await ran).end?.outcome, expected[why])
    assert.deepEqual(ended, [held])
    assert.equal(world.timers.pending, 0)
  })
}

test('log lines and updates of a running attempt are passed on', () => {
  const { context, received } = setup()
  context.log('warn', 'slow')
  context.note({ progress: 0.5 })
  assert.deepEqual(received, [['warn', 'slow'], { progress: 0.5 }])
})

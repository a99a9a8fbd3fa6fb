import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { Registry } from '@prometheus-io/client'
import { collectEngineMetrics } from './engine-metrics.ts'
import * as events from './events.ts'

/** As the specification names them, with their labels. */
const named: Record<string, readonly string[]> = {
  carillon_jobs_triggered_total: [],
  carillon_trigger_tick_seconds: [],
  carillon_trigger_delay_seconds: [],
  carillon_end_to_end_seconds: [],
  carillon_executions_total: ['kind', 'status'],
  carillon_execution_duration_seconds: ['executor'],
  carillon_success_ratio: [],
  carillon_retries_total: [],
  carillon_dead_letters_total: [],
  carillon_graph_runs_total: ['status'],
  carillon_timeouts_total: [],
  carillon_cancellations_total: [],
  carillon_fenced_writes_total: [],
  carillon_duplicates_refused_total: [],
  carillon_history_write_errors_total: [],
}

function setup(t: TestContext) {
  const registry = new Registry()
  const subscriptions = new DisposableStack()
  t.after(() => subscriptions.dispose())
  const clock = { nowMs: 0 }
  collectEngineMetrics(registry, subscriptions, () => clock.nowMs)
  /** The lines of a metric, keyed by the text before the value. */
  async function read(name: string): Promise<Record<string, number>> {
    const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith(`carillon_${name}`))
    return Object.fromEntries(
      lines.map((line) => [
        line.slice('carillon_'.length, line.lastIndexOf(' ')),
        Number(line.split(' ').at(-1)),
      ]),
    )
  }
  return { registry, subscriptions, clock, read }
}

const attempt: events.AttemptFinished = {
  executionId: '019b7a00-4c00-7000-8000-0000000000a7',
  attempt: 1,
  kind: 'slot',
  executor: 'http',
  outcome: 'succeeded',
  retryAt: null,
  deadReason: null,
  delayMs: 20,
  endToEndMs: 320,
  durationMs: 300,
}

function finish(changes: Partial<events.AttemptFinished> = {}): void {
  events.attemptFinished.emit({ ...attempt, ...changes })
}

test('fired slots are counted without slots that did not become an execution', async (t) => {
  const { read } = setup(t)
  events.slotsFired.emit({ slots: 10, unfired: 4, taken: 3, tookMs: 250 })
  events.slotsFired.emit({ slots: 1, unfired: 0, taken: 0, tookMs: 500 })
  assert.deepEqual(await read('jobs_triggered_total'), { jobs_triggered_total: 7 })
  assert.deepEqual(await read('duplicates_refused_total'), { duplicates_refused_total: 3 })
  const tick = await read('trigger_tick_seconds')
  assert.equal(tick['trigger_tick_seconds_count'], 2)
  assert.equal(tick['trigger_tick_seconds_sum'], 0.75)
})

test('an execution that ended is counted by status and kind', async (t) => {
  const { read } = setup(t)
  finish()
  finish({ kind: 'trigger' })
  finish({ outcome: 'failed', deadReason: 'NOT_RETRYABLE' })
  finish({ outcome: 'timed_out', deadReason: 'MAX_RETRIES_EXCEEDED' })
  finish({ outcome: 'lost', kind: 'redrive', deadReason: 'WORKER_LOST' })
  assert.deepEqual(await read('executions_total'), {
    'executions_total{status="SUCCEEDED",kind="slot"}': 1,
    'executions_total{status="SUCCEEDED",kind="trigger"}': 1,
    'executions_total{status="FAILED",kind="slot"}': 1,
    'executions_total{status="TIMED_OUT",kind="slot"}': 1,
    'executions_total{status="FAILED",kind="redrive"}': 1,
  })
  assert.deepEqual(await read('dead_letters_total'), { dead_letters_total: 3 })
  assert.deepEqual(await read('timeouts_total'), { timeouts_total: 1 })
  assert.deepEqual(await read('retries_total'), { retries_total: 0 })
})

test('a graph run that ended is counted by status', async (t) => {
  const { read } = setup(t)
  for (const status of ['SUCCEEDED', 'FAILED', 'SUCCEEDED'] as const) events.graphRunFinished.emit({ status })
  assert.deepEqual(await read('graph_runs_total'), {
    'graph_runs_total{status="SUCCEEDED"}': 2,
    'graph_runs_total{status="FAILED"}': 1,
  })
})

test('an attempt that is followed by another counts as a retry and not as an execution', async (t) => {
  const { read } = setup(t)
  finish({ outcome: 'timed_out', retryAt: 1 })
  finish({ outcome: 'failed', retryAt: 1, attempt: 2, delayMs: null })
  assert.deepEqual(await read('executions_total'), {})
  assert.deepEqual(await read('retries_total'), { retries_total: 2 })
  assert.deepEqual(await read('timeouts_total'), { timeouts_total: 1 })
  assert.equal((await read('end_to_end_seconds'))['end_to_end_seconds_count'], 0)
  const duration = await read('execution_duration_seconds')
  assert.equal(duration['execution_duration_seconds_count{executor="http"}'], 2, 'it did run')
})

test('delay, duration and end to end are in seconds; a delay only where it is known, and never below zero', async (t) => {
  const { read } = setup(t)
  finish()
  finish({ delayMs: null, endToEndMs: 1_000, durationMs: 700 })
  finish({ delayMs: -5, endToEndMs: -1, durationMs: 0 })
  const delay = await read('trigger_delay_seconds')
  assert.deepEqual([delay['trigger_delay_seconds_count'], delay['trigger_delay_seconds_sum']], [2, 0.02])
  assert.equal(delay['trigger_delay_seconds_bucket{le="0.025"}'], 2)
  assert.equal(delay['trigger_delay_seconds_bucket{le="0.01"}'], 1)
  const endToEnd = await read('end_to_end_seconds')
  assert.deepEqual([endToEnd['end_to_end_seconds_count'], endToEnd['end_to_end_seconds_sum']], [3, 1.32])
  const duration = await read('execution_duration_seconds')
  assert.equal(duration['execution_duration_seconds_sum{executor="http"}'], 1)
})

test('the alert on a delay of 5 s has its bucket', async (t) => {
  const { read } = setup(t)
  assert('trigger_delay_seconds_bucket{le="5"}' in (await read('trigger_delay_seconds')))
})

test('the success ratio is that of the executions of the last five minutes', async (t) => {
  const { read, clock } = setup(t)
  finish({ outcome: 'failed', deadReason: 'NOT_RETRYABLE' })
  for (let i = 0; i < 3; i++) finish()
  finish({ outcome: 'failed', retryAt: 1 })
  assert.deepEqual(await read('success_ratio'), { success_ratio: 0.75 })
  clock.nowMs = 200_000
  finish()
  assert.deepEqual(await read('success_ratio'), { success_ratio: 0.8 })
  clock.nowMs = 400_000
  assert.deepEqual(await read('success_ratio'), { success_ratio: 1 })
})

test('without an execution the success ratio is absent: zero would be an alarm', async (t) => {
  const { read, clock } = setup(t)
  assert.deepEqual(await read('success_ratio'), {})
  finish()
  assert.deepEqual(await read('success_ratio'), { success_ratio: 1 })
  clock.nowMs = 3_600_000
  assert.deepEqual(await read('success_ratio'), {})
})

test('cancelled executions count as cancelled, and do not affect the success ratio', async (t) => {
  const { read } = setup(t)
  finish({ outcome: 'cancelled' })
  finish({ outcome: 'cancelled', delayMs: null, durationMs: null })
  assert.deepEqual(await read('success_ratio'), {})
  finish()
  assert.deepEqual(await read('success_ratio'), { success_ratio: 1 })
  assert.equal((await read('executions_total'))['executions_total{status="CANCELLED",kind="slot"}'], 2)
  const duration = await read('execution_duration_seconds')
  assert.equal(duration['execution_duration_seconds_count{executor="http"}'], 2, 'one did not run')
})

test('executions that were cancelled without a worker are counted', async (t) => {
  const { read } = setup(t)
  events.executionsCancelled.emit({ executions: 1 })
  events.executionsCancelled.emit({ executions: 40 })
  assert.deepEqual(await read('cancellations_total'), { cancellations_total: 41 })
  assert.deepEqual(await read('executions_total'), {})
})

test('refused results and failed writes are counted', async (t) => {
  const { read } = setup(t)
  events.attemptRefused.emit({ executionId: attempt.executionId, attempt: 1, workerId: 'a worker' })
  events.historyWriteFailed.emit({ executions: 40, error: new Error('away') })
  events.historyWriteFailed.emit({ executions: 60, error: new Error('away') })
  assert.deepEqual(await read('fenced_writes_total'), { fenced_writes_total: 1 })
  assert.deepEqual(await read('history_write_errors_total'), { history_write_errors_total: 2 })
})

test('metrics have the names of the specification, and no tenant, job or execution as a label', async (t) => {
  const { registry } = setup(t)
  finish()
  finish({ kind: 'trigger', outcome: 'failed', deadReason: 'NOT_RETRYABLE' })
  events.slotsFired.emit({ slots: 1, unfired: 0, taken: 0, tookMs: 1 })
  events.attemptRefused.emit({ executionId: attempt.executionId, attempt: 1, workerId: 'a worker' })
  const text = await registry.metrics()
  const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!)
  assert.deepEqual(names.toSorted(), Object.keys(named).toSorted())
  for (const [, name, labels] of text.matchAll(/^(\w+)\{(.*)\} /gm)) {
    const base = name!.replace(/_(bucket|sum|count)$/, '')
    const found = [...labels!.matchAll(/(\w+)="/g)]
      .map(([, label]) => label!)
      .filter((label) => label !== 'le')
    assert.deepEqual(found.toSorted(), named[base] ?? named[name!], name!)
  }
  assert(!text.includes(attempt.executionId) && !text.includes('a worker'))
})

test('once disposed of it hears nothing more', async (t) => {
  const { read, subscriptions } = setup(t)
  subscriptions.dispose()
  finish({ retryAt: 1 })
  assert.deepEqual(await read('retries_total'), { retries_total: 0 })
})

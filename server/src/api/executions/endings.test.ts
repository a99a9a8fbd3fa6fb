import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { Registry } from '@prometheus-io/client'
import { failure, setupGraphApp } from '../../../test/graph-app.ts'
import { makeLive } from '../../../testing/memory-store/insert-live.ts'
import { LaneChooser, sharedLane } from '../../domain/queue/lane.ts'
import { lossesMax } from '../../domain/queue/retry.ts'
import { serverRoute } from '../../domain/queue/route.ts'
import { workerLeaseMs } from '../../domain/queue/worker.ts'
import { WaitingEstimates } from '../../domain/tenants/waiting-estimates.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import { createLeaseWatch, reclaimEveryMs, reclaimLost } from '../../maintenance/reclaim-lost.ts'
import { Releaser } from '../../maintenance/release-waiting.ts'
import { runOperation } from '../../maintenance/run-operations.ts'
import { collectEngineMetrics } from '../../telemetry/engine-metrics.ts'

async function setup(t: TestContext) {
  const parts = await setupGraphApp(t)
  const registry = new Registry()
  const subscriptions = new DisposableStack()
  t.after(() => subscriptions.dispose())
  collectEngineMetrics(registry, subscriptions, () => parts.world.clock.monotonicMs())
  /** Every counter of endings that is not zero, with its labels. */
  const counted = async (): Promise<Record<string, number>> => {
    const text = await registry.metrics()
    const names = 'executions|retries|dead_letters|graph_runs|cancellations'
    const lines = text.matchAll(new RegExp(`^carillon_((?:${names})_total\\S*) ([1-9]\\d*)$`, 'gm'))
    return Object.fromEntries([...lines].map(([, name, value]) => [name, Number(value)]))
  }
  return { ...parts, counted }
}

const ended = (status: string, kind: string) => `executions_total{status="${status}",kind="${kind}"}`

test('an execution that the API cancels while it waits is counted once, however often it is cancelled', async (t) => {
  const { make, call, idOf, counted } = await setup(t)
  await make('a')
  const { execution_id: id } = (await call('POST', `/jobs/${idOf('a')}/trigger`)).json()
  assert.deepEqual(await counted(), {})
  await call('POST', `/executions/${id}/cancel?dry_run=true`)
  assert.deepEqual(await counted(), {})
  for (let times = 0; times < 3; times++)
    assert.equal((await call('POST', `/executions/${id}/cancel`)).json().status, 'CANCELLED')
  assert.deepEqual(await counted(), { [ended('CANCELLED', 'trigger')]: 1, cancellations_total: 1 })
})

test('a waiting execution of a graph run that the API cancels is counted once', async (t) => {
  const { make, call, trigger, counted } = await setup(t)
  await make('a')
  await make('b', ['a'])
  const { runId } = await trigger('a')
  for (let times = 0; times < 2; times++) await call('POST', `/graph-runs/${runId}/cancel`)
  assert.deepEqual(await counted(), {
    [ended('CANCELLED', 'trigger')]: 1,
    [ended('CANCELLED', 'dependency')]: 1,
    cancellations_total: 2,
    'graph_runs_total{status="CANCELLED"}': 1,
  })
})

test('an attempt that is lost with its worker is counted, and so is the execution when it is lost for good', async (t) => {
  const { make, call, idOf, claim, world, memory, counted } = await setup(t)
  await make('a')
  await call('POST', `/jobs/${idOf('a')}/trigger`)
  const watch = createLeaseWatch()
  for (let losses = 1; losses <= lossesMax; losses++) {
    await claim()
    for (let ms = 0; ms <= workerLeaseMs + reclaimEveryMs; ms += reclaimEveryMs) {
      await reclaimLost({ clock: world.clock, maintenance: memory.maintenance }, watch)
      await world.advance(reclaimEveryMs)
    }
    if (losses < lossesMax) assert.deepEqual(await counted(), { retries_total: losses })
  }
  assert.deepEqual(await counted(), {
    [ended('FAILED', 'trigger')]: 1,
    retries_total: lossesMax - 1,
    dead_letters_total: 1,
  })
})

test('executions that end with their deleted job are counted once', async (t) => {
  const { make, call, idOf, counted } = await setup(t)
  await make('a', [], { overlap_policy: 'ALLOW' })
  for (let times = 0; times < 2; times++) await call('POST', `/jobs/${idOf('a')}/trigger`)
  await call('DELETE', `/jobs/${idOf('a')}?dry_run=true`)
  assert.deepEqual(await counted(), {})
  for (let times = 0; times < 2; times++)
    assert.equal((await call('DELETE', `/jobs/${idOf('a')}`)).json().status, 'DELETED')
  assert.deepEqual(await counted(), { [ended('CANCELLED', 'trigger')]: 2, cancellations_total: 2 })
})

test('executions that end with jobs deleted in bulk are counted', async (t) => {
  const { make, call, idOf, world, memory, counted } = await setup(t)
  for (const name of ['a', 'b']) {
    await make(name)
    await call('POST', `/jobs/${idOf(name)}/trigger`)
  }
  assert.equal((await call('POST', '/jobs/bulk', { action: 'delete', filter: {} })).statusCode, 202)
  const hints = { onChanged() {}, onReady() {}, onCancelled() {} }
  const deps = {
    ...world,
    ...hints,
    operations: memory.operations,
    lanes: new LaneChooser(),
    waiting: new WaitingEstimates(),
  }
  while ((await runOperation(deps)) === 'more');
  assert.deepEqual(await counted(), { [ended('CANCELLED', 'trigger')]: 2, cancellations_total: 2 })
})

test('an execution that makes way for a newer slot is counted', async (t) => {
  const { make, idOf, world, memory, counted } = await setup(t)
  await make('a', [], { overlap_policy: 'CANCEL_RUNNING' })
  const hints = { onReady() {}, onCancelled() {}, onPlanned() {} }
  const releaser = new Releaser({
    ...world,
    ...hints,
    maintenance: memory.maintenance,
    lanes: new LaneChooser(),
  })
  const job = memory.store.jobs.get(idOf('a'))!
  const fire = (slot: EpochMs) =>
    memory.store.addLive(
      makeLive({
        ...{ executionId: world.ids.next(), jobId: job.jobId, version: 1, tenantId: job.tenantId },
        ...{ kind: 'slot', slot, route: serverRoute, lane: sharedLane, priority: 5, state: 'waiting' },
        ...{ enqueuedAt: world.clock.databaseNow(), rank: world.clock.databaseNow() },
      }),
    )
  fire(epochMs(1_000))
  fire(epochMs(2_000))
  await releaser.step()
  assert.deepEqual(await counted(), { [ended('CANCELLED', 'slot')]: 1, cancellations_total: 1 })
})

test('executions of a backfill that the API cancels are counted once', async (t) => {
  const { make, call, idOf, world, memory, counted } = await setup(t)
  await make('a')
  const range = { from: '2025-12-01T00:00:00Z', to: '2025-12-31T23:59:59Z', max_concurrent: 3 }
  const { operation_id: id } = (await call('POST', `/jobs/${idOf('a')}/backfill`, range)).json()
  const hints = { onChanged() {}, onReady() {}, onCancelled() {} }
  await runOperation({
    ...world,
    ...hints,
    operations: memory.operations,
    lanes: new LaneChooser(),
    waiting: new WaitingEstimates(),
  })
  for (let times = 0; times < 2; times++)
    assert.equal((await call('POST', `/operations/${id}/cancel`)).json().status, 'CANCELLED')
  assert.deepEqual(await counted(), { [ended('CANCELLED', 'backfill')]: 3, cancellations_total: 3 })
})

test('a graph run that is resumed and ends at once is counted, with the execution that is skipped', async (t) => {
  const { make, call, idOf, trigger, run, statuses, counted } = await setup(t)
  await make('a')
  await make('b', ['a'])
  const { runId } = await trigger('a')
  await run()
  await run(failure)
  assert.deepEqual(await statuses(runId), { a: 'SUCCEEDED', b: 'FAILED' })
  assert.equal((await call('PATCH', `/jobs/${idOf('b')}/pause`)).statusCode, 200)
  const before = await counted()
  const answer = await call('POST', `/graph-runs/${runId}/resume`)
  assert.equal(answer.statusCode, 202, answer.body)
  assert.deepEqual(await statuses(runId), { a: 'SUCCEEDED', b: 'SKIPPED' })
  const { status } = (await call('GET', `/graph-runs/${runId}`)).json()
  const after = { [ended('SKIPPED', 'dependency')]: 1, [`graph_runs_total{status="${status}"}`]: 1 }
  assert.deepEqual(await counted(), { ...before, ...after })
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { createPair, stepRuns } from '../../test/conformance/graphs/run-scene.ts'
import { createScenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import type { NewOperation } from '../domain/jobs/operation.ts'
import { LaneChooser } from '../domain/queue/lane.ts'
import { WaitingEstimates } from '../domain/tenants/waiting-estimates.ts'
import { Releaser } from './release-waiting.ts'
import { runOperation } from './run-operations.ts'

/** Operations and releases, as a scheduler does them. */
async function setup() {
  const world = createVirtualWorld()
  const { store, ...ports } = openMemoryStore(world.clock)
  const now = async () => world.clock.databaseNow()
  const scenario = await createScenario({ ...ports, ids: world.ids, now })
  const hints = { onChanged() {}, onReady() {}, onCancelled() {}, onPlanned() {} }
  const deps = { ...world, ...hints, lanes: new LaneChooser(), waiting: new WaitingEstimates() }
  const releaser = new Releaser({ ...deps, maintenance: ports.maintenance })
  async function step() {
    await runOperation({ ...deps, operations: ports.operations })
    await releaser.step()
    await stepRuns(scenario)
    await world.advance(1_000)
  }
  return { ...scenario, store, step }
}

for (const overlapPolicy of ['SKIP', 'ALLOW'] as const) {
  test(`${overlapPolicy}: a backfill of a root runs every slot as a run, no more at once than it may, and is over with the last`, async () => {
    const s = await setup()
    const { root, child } = await createPair(s, { overlapPolicy })
    const { tenantId, jobId, schedule, anchorAt } = root
    const backfill = { order: 'asc', maxConcurrent: 2, schedule, anchorAt } as const
    const operation: NewOperation = {
      operationId: s.ids.next(),
      tenantId,
      kind: 'backfill',
      filter: { jobId, from: s.at(0), to: s.at(4) },
      options: { backfill },
      createdBy: 'ann',
      createdAt: await s.now(),
      total: 5,
      totalCapped: false,
    }
    await s.operations.create(operation)
    const workerId = await s.addWorker()
    const statusOf = async () => (await s.operations.get(tenantId, operation.operationId))!
    for (let rounds = 0; (await statusOf()).status === 'RUNNING'; rounds++) {
      assert(rounds < 100, 'it comes to no end')
      await s.step()
      const unended = s.store.graphRuns.values().filter(({ finishedAt }) => finishedAt === null)
      assert(unended.toArray().length <= 2)
      // One at a time, so that roots and the jobs that depend on them are mixed.
      const [one] = (await s.claim(workerId, 1)).live
      if (one !== undefined) await s.finishLive(workerId, one, s.succeeded())
    }
    assert.equal((await statusOf()).done, 5)
    const runs = s.store.graphRuns.values().toArray()
    assert.deepEqual(
      runs.map(({ slot, kind, status }) => [slot, kind, status]),
      [0, 1, 2, 3, 4].map((second) => [s.at(second), 'backfill', 'SUCCEEDED']),
    )
    assert.equal((await s.list(child, { status: 'SUCCEEDED' })).total, 5)
  })
}

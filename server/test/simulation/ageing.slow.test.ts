// The order of executions within a tenant: priority counts, and waiting counts too, a minute for a level, so that
// nothing is overtaken indefinitely.
import assert from 'node:assert/strict'
import test from 'node:test'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { noFaults } from './faults.ts'
import { QueueLoad } from './queue-load.ts'
import { Simulation } from './world.ts'

const capacity = 16
const levelMs = 60_000

/** A worker that runs 16 at once and about 30 a second. */
function setup() {
  const startAt = Date.UTC(2026, 0, 1)
  const sim = new Simulation({ seed: 1, servers: 1, startAt, rates: noFaults, capacity })
  return { sim, load: new QueueLoad(sim, { hosts: 48, callMs: 500 }) }
}

for (const lane of [sharedLane, 'tenant-a']) {
  test(`under a flood of priority 1 in lane ${lane}, priority 10 goes before executions that came 540 s later`, async () => {
    const { sim, load } = setup()
    const place = { tenantId: 'tenant-a', lane: () => lane }
    const flood: ReturnType<typeof load.enqueue> = []
    let low: (typeof flood)[number] | null = null
    // More than the worker can do, for eleven minutes.
    for (let second = 0; second < 660; second++) {
      flood.push(...load.enqueue({ ...place, priority: 1, count: 40 }))
      if (second === 20) low = load.enqueue({ ...place, priority: 10, count: 1 })[0]!
      await sim.advance(1_000)
    }
    while (!load.starts().has(low!.executionId) && sim.nowMs < 3_600_000) await sim.advance(10_000)
    await sim.advance(60_000)
    const starts = load.starts()
    const start = starts.get(low!.executionId)
    assert.ok(start !== undefined, 'it never started')
    const younger = flood.filter(({ atMs }) => atMs > low!.atMs + 9 * levelMs)
    const passed = younger.filter(
      ({ executionId }) => (starts.get(executionId)?.order ?? Infinity) < start.order,
    )
    assert.ok(
      younger.some(({ executionId }) => starts.has(executionId)),
      'nothing younger ran at all',
    )
    assert.equal(passed.length, 0, `${passed.length} that came 540 s later went before it`)
    // Priority still counts: executions that came well before that went first.
    const older = flood.filter(({ atMs }) => atMs < low!.atMs + 8 * levelMs)
    assert.ok(older.every(({ executionId }) => (starts.get(executionId)?.order ?? Infinity) < start.order))
  })
}

test('a fresh priority 1 passes priority 5 that waits', async () => {
  const { sim, load } = setup()
  const place = { tenantId: 'tenant-a', lane: () => 'tenant-a' }
  const waiting = load.enqueue({ ...place, priority: 5, count: 5_000 })
  await sim.advance(30_000)
  const startedBefore = load.starts().size
  const { inFlight } = load
  const [urgent] = load.enqueue({ ...place, priority: 1, count: 1 })
  await sim.advance(10_000)
  const start = load.starts().get(urgent!.executionId)
  assert.ok(start !== undefined, 'it did not start within 10 s')
  assert.ok(waiting.length - startedBefore > 1_000, 'too little waited')
  const between = start.order - startedBefore
  assert.ok(
    between <= inFlight,
    `${between} of those that waited went before it, ${inFlight} of them in flight`,
  )
})

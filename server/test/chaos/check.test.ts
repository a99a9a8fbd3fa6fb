// The checker is silent on sound evidence, and names exactly the broken invariant for each kind of broken evidence.
import assert from 'node:assert/strict'
import test from 'node:test'
import { judge } from './check.ts'
import { BROKEN_EXECUTIONS } from './check-broken-executions.ts'
import { BROKEN_SLOTS } from './check-broken-slots.ts'
import { createScene, JOBS, type Scene, second, start } from './check-scene.ts'
import { ofSlot } from './check-spoil.ts'

const bounds = { failoverMsMax: 10_000, reclaimMsMax: 15_000 }
const brokenBy = (spoil: (scene: Scene) => void) => {
  const scene = createScene()
  spoil(scene)
  return judge(scene, bounds).violations
}

test('a sound run has no violation, and its figures match its evidence', () => {
  const { violations, figures } = judge(createScene(), bounds)
  assert.deepEqual(violations, [])
  const { slots, executions, calls, duplicates, lostAttempts, lost, doubled } = figures
  assert.deepEqual(
    { slots, executions, calls, duplicates, lostAttempts, lost, doubled },
    { slots: 8, executions: 11, calls: 12, duplicates: 1, lostAttempts: 1, lost: 0, doubled: 0 },
  )
  const { failovers, failoverMaxMs, reclaims, reclaimMaxMs } = figures
  assert.deepEqual([failovers, failoverMaxMs, reclaims, reclaimMaxMs], [1, 7_000, 1, 11_000])
})

for (const { what, invariant, spoil } of [...BROKEN_SLOTS, ...BROKEN_EXECUTIONS])
  test(`the checker reports ${what} as ${invariant}`, () => {
    const found = brokenBy(spoil)
    assert.deepEqual(
      [...new Set(found.map((one) => one.invariant))],
      [invariant],
      JSON.stringify(found, null, 2),
    )
  })

/**
 * Adds a PostgreSQL outage, `afterMs` after a slot. The execution of that slot was lost to a kill and succeeded in its
 * second attempt.
 */
function addOutage(scene: Scene, afterMs: number): string {
  const { executionId } = ofSlot(scene, JOBS.cron, 3)[0]!
  const at = start + 3 * second + afterMs
  const fault = { kind: 'database-outage', target: 'postgres', details: { probe: [executionId] } }
  scene.faults.push({ ...fault, at, until: at + 20 * second })
  return executionId
}

/** The worker of its first attempt dies, and with it the connection. */
function hangUp(scene: Scene, executionId: string, afterMs: number): void {
  const call = scene.receiver.find((line) => line.what === 'arrived' && line.call.executionId === executionId)
  scene.receiver.push({ what: 'gone', seq: call!.seq, at: start + 3 * second + afterMs })
}

test('an execution that lost an attempt before an outage may live through it in the next attempt', () => {
  const scene = createScene()
  const executionId = addOutage(scene, 11_103)
  hangUp(scene, executionId, 100)
  const { violations, figures } = judge(scene)
  assert.deepEqual(violations, [])
  assert.equal(figures.probes, 1, 'the call of the second attempt')
})

test('a call that nobody waits for any more when an outage begins is not judged by it', () => {
  const scene = createScene()
  const executionId = addOutage(scene, 5_000)
  hangUp(scene, executionId, 4_999)
  const { violations, figures } = judge(scene)
  assert.deepEqual([violations, figures.probes], [[], 0])
})

test('a call that was under way when an outage began and is lost is a violation, though a later attempt succeeds', () => {
  const scene = createScene()
  const executionId = addOutage(scene, 5_000)
  hangUp(scene, executionId, 6_000)
  const { violations, figures } = judge(scene)
  assert.deepEqual(
    violations.map(({ invariant, what }) => `${invariant}: ${what.split(',')[0]} ${what.split(' is ')[1]}`),
    [`probe: attempt 1 of ${executionId} lost`],
  )
  assert.deepEqual([figures.probes, figures.lost, figures.doubled], [1, 0, 0])
})

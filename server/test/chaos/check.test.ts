// The checker is silent where all is well, and says of each thing that is not exactly what is broken.
import assert from 'node:assert/strict'
import test from 'node:test'
import { judge } from './check.ts'
import { BROKEN_EXECUTIONS } from './check-broken-executions.ts'
import { BROKEN_SLOTS } from './check-broken-slots.ts'
import { createScene, type Scene } from './check-scene.ts'

const bounds = { failoverMsMax: 10_000, reclaimMsMax: 15_000 }
const brokenBy = (spoil: (scene: Scene) => void) => {
  const scene = createScene()
  spoil(scene)
  return judge(scene, bounds).violations
}

test('a run in which all is well has no violation, and its figures are those of its evidence', () => {
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
  test(`${what} is ${invariant}`, () => {
    const found = brokenBy(spoil)
    assert.deepEqual(
      [...new Set(found.map((one) => one.invariant))],
      [invariant],
      JSON.stringify(found, null, 2),
    )
  })

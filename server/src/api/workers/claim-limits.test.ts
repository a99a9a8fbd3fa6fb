import assert from 'node:assert/strict'
import test from 'node:test'
import { createVirtualWorld } from '../../../test/virtual-world.ts'
import { ClaimLimits } from './claim-limits.ts'

/** `running`: executions at workers of the tenant, and at ours. */
function setup() {
  const world = createVirtualWorld()
  const running = { own: 0, calls: 0 }
  let counts = 0
  const limits = new ClaimLimits({
    clock: world.clock,
    peers: {
      async countRunning(tenantIds) {
        counts += 1
        return tenantIds.map((tenantId) => ({ tenantId, commands: 0, awaitedHere: 0, ...running }))
      },
    },
  })
  const load = (max: number) => limits.load(new Map([['a', max]]))
  return { world, running, limits, load, counts: () => counts }
}

test('the room is the limit without the running executions, and without the ones handed out since', async () => {
  const { limits, load, running } = setup()
  assert.equal(limits.roomOf('a'), Number.POSITIVE_INFINITY)
  Object.assign(running, { own: 3, calls: 2 })
  await load(10)
  assert.equal(limits.roomOf('a'), 5)
  limits.noteClaimed('a', 5)
  assert.equal(limits.roomOf('a'), 0)
  limits.noteClaimed('a', -2)
  assert.equal(limits.roomOf('a'), 2)
})

test('running executions are counted once a second, and after a report ten times', async () => {
  const { limits, load, world, counts } = setup()
  await load(1)
  await world.advance(999)
  await load(1)
  assert.equal(counts(), 1)
  await world.advance(1)
  await load(1)
  assert.equal(counts(), 2)
  limits.noteClaimed('a', 1)
  assert.equal(limits.waitMs, null)
  assert(limits.noteReport('a'), 'claims may wait for it')
  assert.equal(limits.waitMs, 100)
  await world.advance(99)
  await load(1)
  assert.equal(counts(), 2)
  await world.advance(1)
  await load(1)
  assert.deepEqual([counts(), limits.roomOf('a'), limits.waitMs], [3, 1, null])
})

test('another limit counts at once, and a tenant without claims is forgotten', async () => {
  const { limits, load, world } = setup()
  await load(1)
  await load(4)
  assert.equal(limits.roomOf('a'), 4)
  await world.advance(1_000)
  await limits.load(new Map())
  assert.equal(limits.roomOf('a'), Number.POSITIVE_INFINITY)
  assert(!limits.noteReport('a'))
})

test("the tenant's own workers have a tenth of the limit beside calls that use all of it", async () => {
  const { limits, load, running } = setup()
  running.calls = 100
  await load(100)
  assert.equal(limits.roomOf('a'), 10)
})

test('without limits nothing is asked', async () => {
  const { limits, counts } = setup()
  await limits.load(new Map())
  assert.equal(counts(), 0)
})

// Beside a step that is under way the shared lane is claimed: what those wait for who enqueue little.
import assert from 'node:assert/strict'
import test from 'node:test'
import { herd, setupClaimer as setup } from '../../test/claimer-scene.ts'
import { sharedLane } from '../domain/queue/lane.ts'

type Setup = Awaited<ReturnType<typeof setup>>

test('what comes into the shared lane while a herd is being claimed is in hand before the herd is', async () => {
  const { claimer, fire, holdClaims, inFlightIds, settle } = await setup()
  const many = await fire(100, herd)
  const { resolve } = holdClaims(herd)
  const step = claimer.claimOnce()
  await settle()
  assert.equal(claimer.isClaiming, true)
  const few = await fire(3, sharedLane)
  assert.equal(await claimer.claimSharedLane(), 'more')
  assert.deepEqual(inFlightIds(), few)
  resolve()
  assert.equal(await step, 'more')
  assert.deepEqual(inFlightIds(), [...many, ...few].toSorted())
})

test('with no step under way nothing is claimed beside it: the next one begins there', async () => {
  const { claimer, fire, orders } = await setup()
  await fire(3, sharedLane)
  assert.equal(claimer.isClaiming, false)
  assert.equal(await claimer.claimSharedLane(), 'idle')
  assert.equal(orders.length, 0)
})

test('a step that asks for all the room leaves none to claim beside it', async () => {
  const { claimer, fire, holdClaims, orders, settle } = await setup({ capacity: 110 })
  await fire(100, herd)
  const { resolve } = holdClaims(herd)
  const step = claimer.claimOnce()
  await settle()
  assert.deepEqual(orders[0]!.lanes, [{ lane: herd, count: 110 }])
  await fire(3, sharedLane)
  assert.equal(await claimer.claimSharedLane(), 'idle')
  resolve()
  await step
})

test('a step asks for no more than a claim beside it leaves, and is called again when that is over', async () => {
  const { claimer, fire, holdClaims, letGo, orders, settle, calls } = await setup({ capacity: 400 })
  await fire(100, herd)
  const first = holdClaims(herd)
  const step = claimer.claimOnce()
  await settle()
  assert.deepEqual(orders[0]!.lanes, [{ lane: herd, count: 300 }])
  const second = holdClaims(sharedLane)
  const beside = claimer.claimSharedLane()
  await settle()
  assert.deepEqual(orders[1]!.lanes, [{ lane: sharedLane, count: 100 }])
  first.resolve()
  await step
  letGo()
  await fire(100, herd)
  await claimer.claimOnce()
  assert.deepEqual(
    orders[2]!.lanes,
    [{ lane: herd, count: 200 }],
    '400 but for 100 in flight and 100 asked for',
  )
  assert.equal(calls.onClaimDue, 0)
  second.resolve()
  await beside
  assert.equal(calls.onClaimDue, 1)
})

test('what was claimed beside a step while it looked is not asked for again', async () => {
  const { claimer, fire, holdLook, orders, inFlight, settle } = await setup({ capacity: 200 })
  await fire(100, herd)
  const resolve = holdLook()
  const step = claimer.claimOnce()
  await settle()
  await fire(100, sharedLane)
  assert.equal(await claimer.claimSharedLane(), 'more')
  resolve()
  await step
  assert.deepEqual(orders[1]!.lanes, [{ lane: herd, count: 100 }])
  assert.equal(inFlight.size, 200)
})

test('there is one claim beside a step, and it takes no batch apart', async () => {
  const { claimer, fire, holdClaims, inFlightIds, orders, settle } = await setup()
  await fire(100, herd)
  const { resolve } = holdClaims(herd)
  const step = claimer.claimOnce()
  await settle()
  const first = await fire(60, sharedLane)
  await fire(60, sharedLane)
  assert.equal(await claimer.claimSharedLane(), 'more')
  assert.deepEqual(inFlightIds(), first)
  assert.equal(await claimer.claimSharedLane(), 'idle', 'who else waits has not been looked at')
  assert.equal(orders.length, 2)
  resolve()
  await step
})

test('a hand-back comes after the claim beside it: what that brought is known then', async () => {
  const { claimer, fire, holdClaims, letGo, inFlightIds, known, settle, calls, s } = await setup()
  await fire(100, herd)
  const first = holdClaims(herd)
  const step = claimer.claimOnce()
  await settle()
  const few = await fire(3, sharedLane)
  const second = holdClaims(sharedLane)
  const beside = claimer.claimSharedLane()
  await settle()
  first.resolve()
  await step
  claimer.noteUnknownClaim()
  letGo()
  await claimer.claimOnce()
  assert.equal(JSON.stringify(known), '[]', 'nothing is handed back while an answer may bring it')
  second.resolve()
  assert.equal(await beside, 'more')
  assert.equal(calls.onClaimDue, 1, 'the hand-back is still to come')
  await claimer.claimOnce()
  assert.deepEqual(
    known.map((ids) => few.every((id) => ids.includes(id))),
    [true],
  )
  assert(few.every((id) => inFlightIds().includes(id)))
  const helper = await s.addWorker()
  assert.deepEqual(await s.claim(helper, 100, sharedLane), { batches: [], live: [] })
})

test('nothing is claimed beside a step that hands back', async () => {
  const { claimer, fire, holdRelease, orders, inFlightIds, settle } = await setup()
  const few = await fire(3, sharedLane)
  const resolve = holdRelease()
  claimer.noteUnknownClaim()
  const step = claimer.claimOnce()
  await settle()
  assert.equal(await claimer.claimSharedLane(), 'idle')
  assert.equal(orders.length, 0)
  resolve()
  await step
  assert.deepEqual(inFlightIds(), few)
})

test('what a claim beside brought and nobody took goes back with the next step', async () => {
  const { claimer, fire, holdClaims, letGo, inFlightIds, known, settle, calls } = await setup()
  const many = await fire(100, herd)
  const first = holdClaims(herd)
  const step = claimer.claimOnce()
  await settle()
  const few = await fire(3, sharedLane)
  const second = holdClaims(sharedLane)
  const beside = claimer.claimSharedLane()
  await settle()
  letGo()
  second.reject(new Error('the answer was lost'))
  await assert.rejects(beside, /was lost/)
  first.resolve()
  await step
  assert.deepEqual(inFlightIds(), many)
  assert.equal(calls.onClaimDue, 1, 'somebody must hand it back soon')
  while ((await claimer.claimOnce()) === 'more');
  assert.deepEqual(known, [many])
  assert.deepEqual(inFlightIds(), [...many, ...few].toSorted())
})

for (const [what, change] of [
  ['of a worker that drains', ({ drain }: Setup) => drain()],
  ['under a lease that was lost', ({ setWorker }: Setup) => setWorker('another one')],
] as const) {
  test(`what a claim brings ${what} is not taken`, async () => {
    const parts = await setup()
    const { claimer, fire, holdClaims, inFlightIds, settle, calls } = parts
    await fire(100, herd)
    const first = holdClaims(herd)
    const step = claimer.claimOnce()
    await settle()
    await fire(3, sharedLane)
    const second = holdClaims(sharedLane)
    const beside = claimer.claimSharedLane()
    await settle()
    change(parts)
    second.resolve()
    await beside
    assert.deepEqual(inFlightIds(), [])
    assert.equal(calls.onClaimDue, 1)
    first.resolve()
    await step
    assert.deepEqual(inFlightIds(), [])
  })
}

test('without a lease nothing is claimed beside a step', async () => {
  const { claimer, fire, holdClaims, inFlightIds, setWorker, settle } = await setup()
  await fire(100, herd)
  const { resolve } = holdClaims(herd)
  const step = claimer.claimOnce()
  await settle()
  await fire(3, sharedLane)
  setWorker(null)
  assert.equal(await claimer.claimSharedLane(), 'idle')
  resolve()
  await step
  assert.deepEqual(inFlightIds(), [])
})

test('after small batches no more of a herd are looked at than before', async () => {
  const { claimer, fire, holdClaims, orders, settle } = await setup({ capacity: 20_000 })
  for (let i = 0; i < 2; i++) await fire(100, herd)
  await claimer.claimOnce()
  const few = () => orders.at(-1)!.batchesMax
  const { resolve } = holdClaims(herd)
  await fire(100, herd)
  const step = claimer.claimOnce()
  await settle()
  const before = few()
  assert(before < 10, `${before}`)
  for (let i = 0; i < 10; i++) await fire(1, sharedLane)
  assert.equal(await claimer.claimSharedLane(), 'more')
  resolve()
  await step
  // One of each of many lanes, then few of one.
  for (let i = 0; i < 10; i++) await fire(1, `lane ${i}`)
  await claimer.claimOnce()
  assert.equal(few(), before)
  await fire(3, sharedLane)
  await claimer.claimOnce()
  assert.equal(few(), before)
  await fire(100, herd)
  await claimer.claimOnce()
  assert.equal(few(), before)
})

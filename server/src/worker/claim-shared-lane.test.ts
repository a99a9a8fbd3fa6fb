// While a pass of the claim loop is under way, the shared lane, where tenants that enqueue little wait, is claimed beside
// it.
import assert from 'node:assert/strict'
import test from 'node:test'
import { herd, setupClaimer as setup } from '../../test/claimer-scene.ts'
import { sharedLane } from '../domain/queue/lane.ts'

type Setup = Awaited<ReturnType<typeof setup>>

test('an execution that comes into the shared lane while a herd is being claimed is in flight before the herd is', async () => {
  const { claimer, fire, holdClaims, inFlightIds, settle } = await setup()
  const many = await fire(100, herd)
  const { resolve } = holdClaims(herd)
  const pass = claimer.claimOnce()
  await settle()
  assert.equal(claimer.isClaiming, true)
  const quiet = await fire(3, sharedLane)
  assert.equal(await claimer.claimSharedLane(), 'more')
  assert.deepEqual(inFlightIds(), quiet)
  resolve()
  assert.equal(await pass, 'more')
  assert.deepEqual(inFlightIds(), [...many, ...quiet].toSorted())
})

test('with no pass under way nothing is claimed beside it, since the next pass begins with the shared lane', async () => {
  const { claimer, fire, orders } = await setup()
  await fire(3, sharedLane)
  assert.equal(claimer.isClaiming, false)
  assert.equal(await claimer.claimSharedLane(), 'idle')
  assert.equal(orders.length, 0)
})

test('a pass that asks for all the room leaves none to claim beside it', async () => {
  const { claimer, fire, holdClaims, orders, settle } = await setup({ capacity: 110 })
  await fire(100, herd)
  const { resolve } = holdClaims(herd)
  const pass = claimer.claimOnce()
  await settle()
  assert.deepEqual(orders[0]!.lanes, [{ lane: herd, count: 110 }])
  await fire(3, sharedLane)
  assert.equal(await claimer.claimSharedLane(), 'idle')
  resolve()
  await pass
})

test('a pass asks for no more than a claim beside it leaves, and another pass follows that claim', async () => {
  const { claimer, fire, holdClaims, letGo, orders, settle, calls } = await setup({ capacity: 400 })
  await fire(100, herd)
  const first = holdClaims(herd)
  const pass = claimer.claimOnce()
  await settle()
  assert.deepEqual(orders[0]!.lanes, [{ lane: herd, count: 300 }])
  const second = holdClaims(sharedLane)
  const sideClaim = claimer.claimSharedLane()
  await settle()
  assert.deepEqual(orders[1]!.lanes, [{ lane: sharedLane, count: 100 }])
  first.resolve()
  await pass
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
  await sideClaim
  assert.equal(calls.onClaimDue, 1)
})

test('room that was filled beside a pass while it looked at lanes is not asked for again', async () => {
  const { claimer, fire, holdLook, orders, inFlight, settle } = await setup({ capacity: 200 })
  await fire(100, herd)
  const resolve = holdLook()
  const pass = claimer.claimOnce()
  await settle()
  await fire(100, sharedLane)
  assert.equal(await claimer.claimSharedLane(), 'more')
  resolve()
  await pass
  assert.deepEqual(orders[1]!.lanes, [{ lane: herd, count: 100 }])
  assert.equal(inFlight.size, 200)
})

test('there is one claim beside a pass, and it divides no batch', async () => {
  const { claimer, fire, holdClaims, inFlightIds, orders, settle } = await setup()
  await fire(100, herd)
  const { resolve } = holdClaims(herd)
  const pass = claimer.claimOnce()
  await settle()
  const first = await fire(60, sharedLane)
  await fire(60, sharedLane)
  assert.equal(await claimer.claimSharedLane(), 'more')
  assert.deepEqual(inFlightIds(), first)
  assert.equal(await claimer.claimSharedLane(), 'idle', 'the other lanes have not been looked at')
  assert.equal(orders.length, 2)
  resolve()
  await pass
})

test('a release of unknown claims waits for the side claim, so that its executions are known by then', async () => {
  const { claimer, fire, holdClaims, letGo, inFlightIds, known, settle, calls, s } = await setup()
  await fire(100, herd)
  const first = holdClaims(herd)
  const pass = claimer.claimOnce()
  await settle()
  const quiet = await fire(3, sharedLane)
  const second = holdClaims(sharedLane)
  const sideClaim = claimer.claimSharedLane()
  await settle()
  first.resolve()
  await pass
  claimer.noteUnknownClaim()
  letGo()
  await claimer.claimOnce()
  assert.equal(JSON.stringify(known), '[]', 'nothing is released while an answer is to come')
  second.resolve()
  assert.equal(await sideClaim, 'more')
  assert.equal(calls.onClaimDue, 1, 'the release is still to come')
  await claimer.claimOnce()
  assert.deepEqual(
    known.map((ids) => quiet.every((id) => ids.includes(id))),
    [true],
  )
  assert(quiet.every((id) => inFlightIds().includes(id)))
  const helper = await s.addWorker()
  assert.deepEqual(await s.claim(helper, 100, sharedLane), { batches: [], live: [] })
})

test('nothing is claimed beside a pass that releases unknown claims', async () => {
  const { claimer, fire, holdRelease, orders, inFlightIds, settle } = await setup()
  const quiet = await fire(3, sharedLane)
  const resolve = holdRelease()
  claimer.noteUnknownClaim()
  const pass = claimer.claimOnce()
  await settle()
  assert.equal(await claimer.claimSharedLane(), 'idle')
  assert.equal(orders.length, 0)
  resolve()
  await pass
  assert.deepEqual(inFlightIds(), quiet)
})

test('executions of a side claim that were not put in flight are released by the next pass', async () => {
  const { claimer, fire, holdClaims, letGo, inFlightIds, known, settle, calls } = await setup()
  const many = await fire(100, herd)
  const first = holdClaims(herd)
  const pass = claimer.claimOnce()
  await settle()
  const quiet = await fire(3, sharedLane)
  const second = holdClaims(sharedLane)
  const sideClaim = claimer.claimSharedLane()
  await settle()
  letGo()
  second.reject(new Error('the answer was lost'))
  await assert.rejects(sideClaim, /was lost/)
  first.resolve()
  await pass
  assert.deepEqual(inFlightIds(), many)
  assert.equal(calls.onClaimDue, 1, 'the next pass must release it soon')
  while ((await claimer.claimOnce()) === 'more');
  assert.deepEqual(known, [many])
  assert.deepEqual(inFlightIds(), [...many, ...quiet].toSorted())
})

for (const [when, change] of [
  ['while the worker drains', ({ drain }: Setup) => drain()],
  ['after the lease was lost', ({ setWorker }: Setup) => setWorker('another one')],
] as const) {
  test(`executions that a claim brings ${when} are not put in flight`, async () => {
    const parts = await setup()
    const { claimer, fire, holdClaims, inFlightIds, settle, calls } = parts
    await fire(100, herd)
    const first = holdClaims(herd)
    const pass = claimer.claimOnce()
    await settle()
    await fire(3, sharedLane)
    const second = holdClaims(sharedLane)
    const sideClaim = claimer.claimSharedLane()
    await settle()
    change(parts)
    second.resolve()
    await sideClaim
    assert.deepEqual(inFlightIds(), [])
    assert.equal(calls.onClaimDue, 1)
    first.resolve()
    await pass
    assert.deepEqual(inFlightIds(), [])
  })
}

test('without a lease nothing is claimed beside a pass', async () => {
  const { claimer, fire, holdClaims, inFlightIds, setWorker, settle } = await setup()
  await fire(100, herd)
  const { resolve } = holdClaims(herd)
  const pass = claimer.claimOnce()
  await settle()
  await fire(3, sharedLane)
  setWorker(null)
  assert.equal(await claimer.claimSharedLane(), 'idle')
  resolve()
  await pass
  assert.deepEqual(inFlightIds(), [])
})

test('after small batches no more batches of a herd are looked at than before', async () => {
  const { claimer, fire, holdClaims, orders, settle } = await setup({ capacity: 20_000 })
  for (let i = 0; i < 2; i++) await fire(100, herd)
  await claimer.claimOnce()
  const looked = () => orders.at(-1)!.batchesMax
  const { resolve } = holdClaims(herd)
  await fire(100, herd)
  const pass = claimer.claimOnce()
  await settle()
  const before = looked()
  assert(before < 10, `${before}`)
  for (let i = 0; i < 10; i++) await fire(1, sharedLane)
  assert.equal(await claimer.claimSharedLane(), 'more')
  resolve()
  await pass
  // One batch in each of many lanes, then three in one lane.
  for (let i = 0; i < 10; i++) await fire(1, `lane ${i}`)
  await claimer.claimOnce()
  assert.equal(looked(), before)
  await fire(3, sharedLane)
  await claimer.claimOnce()
  assert.equal(looked(), before)
  await fire(100, herd)
  await claimer.claimOnce()
  assert.equal(looked(), before)
})

// What is enqueued in the worker's own process is its own with the commit, if there is room.
import assert from 'node:assert/strict'
import test from 'node:test'
import { herd, setupClaimer as setup } from '../../test/claimer-scene.ts'

type Setup = Awaited<ReturnType<typeof setup>>

const idsOf = ({ live }: { live: readonly { executionId: string }[] }) =>
  live.map(({ executionId }) => executionId)

test('what was taken is in hand when its transaction is over, and looked after', async () => {
  const { claimer, triggerFor, inFlightIds, settle, calls } = await setup()
  const taking = claimer.directDispatch.reserve(1)!
  const claimed = await triggerFor(taking)
  assert.equal(claimed.live.length, 1)
  assert.deepEqual(inFlightIds(), [])
  taking.end(claimed)
  await settle()
  assert.deepEqual(inFlightIds(), idsOf(claimed))
  assert.deepEqual(calls, { isDraining: false, onClaimed: 1, onClaimDue: 0 })
})

test('one that somebody else goes before is not, and nothing is in noteUnknownClaim', async () => {
  const { claimer, triggerFor, inFlightIds, known, s, settle, calls } = await setup()
  await s.trigger(await s.createJob({ priority: 1 }))
  const taking = claimer.directDispatch.reserve(1)!
  const claimed = await triggerFor(taking)
  assert.deepEqual(claimed, { batches: [], live: [] })
  taking.end(claimed)
  await settle()
  assert.equal(calls.onClaimDue, 0)
  while ((await claimer.claimOnce()) === 'more');
  assert.equal(inFlightIds().length, 2)
  assert.deepEqual(known, [])
})

test('room is kept for what is being taken, and there is none beyond it', async () => {
  const { claimer, fire, holdClaims, orders, settle } = await setup({ capacity: 110 })
  const taking = claimer.directDispatch.reserve(60)!
  assert.equal(claimer.directDispatch.reserve(51), null)
  const other = claimer.directDispatch.reserve(40)!
  other.end({ batches: [], live: [] })
  await settle()
  await fire(100, herd)
  const { resolve } = holdClaims(herd)
  const step = claimer.claimOnce()
  await settle()
  assert.deepEqual(orders[0]!.lanes, [{ lane: herd, count: 50 }])
  assert.equal(claimer.directDispatch.reserve(1), null, 'the step has asked for the rest')
  resolve()
  await step
  taking.end({ batches: [], live: [] })
})

test('however much is being taken, most of the room is for claims', async () => {
  const { claimer, fire, orders, settle } = await setup({ capacity: 350 })
  const takings = Array.from({ length: 200 }, () => claimer.directDispatch.reserve(1)).filter(
    (one) => one !== null,
  )
  assert.equal(takings.length, 100)
  assert.equal(claimer.hasReservations, true)
  await fire(100, herd)
  await claimer.claimOnce()
  assert.equal(orders[0]!.lanes[0]!.count, 250)
  for (const taking of takings) taking.end({ batches: [], live: [] })
  await settle()
  assert.equal(claimer.hasReservations, false)
  assert.notEqual(claimer.directDispatch.reserve(100), null)
})

test('definitions are pruned also while triggers are taken all the time', async () => {
  const { claimer, triggerFor, prunes, settle } = await setup()
  const open = claimer.directDispatch.reserve(1)!
  const before = prunes()
  const taking = claimer.directDispatch.reserve(1)!
  taking.end(await triggerFor(taking))
  await settle()
  assert.equal(prunes(), before + 1)
  open.end({ batches: [], live: [] })
})

test('a step that had less room because of it is called again', async () => {
  const { claimer, fire, settle, calls } = await setup({ capacity: 110 })
  const taking = claimer.directDispatch.reserve(60)!
  await fire(100, herd)
  await claimer.claimOnce()
  taking.end({ batches: [], live: [] })
  await settle()
  assert.equal(calls.onClaimDue, 1)
})

test('nothing is handed back while something is being taken, nor taken while it is handed back', async () => {
  const { claimer, triggerFor, inFlightIds, known, settle, calls } = await setup()
  const taking = claimer.directDispatch.reserve(1)!
  const claimed = await triggerFor(taking)
  claimer.noteUnknownClaim()
  await claimer.claimOnce()
  assert.deepEqual(known, [], 'it would go back and run')
  assert.equal(claimer.directDispatch.reserve(1), null, 'the hand-back has its turn')
  taking.end(claimed)
  await settle()
  assert.equal(calls.onClaimDue, 1)
  await claimer.claimOnce()
  assert.deepEqual(known, [idsOf(claimed)])
  assert.deepEqual(inFlightIds(), idsOf(claimed))
  assert.notEqual(claimer.directDispatch.reserve(1), null)
})

test('when it is not known what was taken, it goes back and is claimed', async () => {
  const { claimer, triggerFor, inFlightIds, settle, calls, known } = await setup()
  const taking = claimer.directDispatch.reserve(1)!
  const claimed = await triggerFor(taking)
  taking.end(null)
  await settle()
  assert.deepEqual([inFlightIds(), calls.onClaimDue], [[], 1])
  while ((await claimer.claimOnce()) === 'more');
  assert.deepEqual(known, [[]])
  assert.deepEqual(inFlightIds(), idsOf(claimed))
})

for (const [what, change] of [
  ['of a worker that drains', ({ drain }: Setup) => drain()],
  ['without a lease', ({ setWorker }: Setup) => setWorker(null)],
] as const) {
  test(`nothing is taken ${what}, also not what was begun before`, async () => {
    const parts = await setup()
    const { claimer, triggerFor, inFlightIds, settle, calls } = parts
    const taking = claimer.directDispatch.reserve(1)!
    const claimed = await triggerFor(taking)
    change(parts)
    taking.end(claimed)
    await settle()
    assert.deepEqual([inFlightIds(), calls.onClaimed, calls.onClaimDue], [[], 0, 1])
    assert.equal(claimer.directDispatch.reserve(1), null)
  })
}

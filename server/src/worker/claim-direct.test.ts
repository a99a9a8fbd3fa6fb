// Claims on insert: the worker claims executions that are enqueued in its own process, if there is room.
import assert from 'node:assert/strict'
import test from 'node:test'
import { herd, setupClaimer as setup } from '../../test/claimer-scene.ts'

type Setup = Awaited<ReturnType<typeof setup>>

const idsOf = ({ live }: { live: readonly { executionId: string }[] }) =>
  live.map(({ executionId }) => executionId)

test('an execution that was claimed on insert is in flight after its transaction', async () => {
  const { claimer, triggerFor, inFlightIds, settle, calls } = await setup()
  const reservation = claimer.directDispatch.reserve(1, [])!
  const claimed = await triggerFor(reservation)
  assert.equal(claimed.live.length, 1)
  assert.deepEqual(inFlightIds(), [])
  reservation.end(claimed)
  await settle()
  assert.deepEqual(inFlightIds(), idsOf(claimed))
  assert.deepEqual(calls, { isDraining: false, onClaimed: 1, onClaimDue: 0 })
})

test('a trigger that must wait behind another is not claimed on insert, and leaves no unknown claim', async () => {
  const { claimer, triggerFor, inFlightIds, known, s, settle, calls } = await setup()
  await s.trigger(await s.createJob({ priority: 1 }))
  const reservation = claimer.directDispatch.reserve(1, [])!
  const claimed = await triggerFor(reservation)
  assert.deepEqual(claimed, { batches: [], live: [] })
  reservation.end(claimed)
  await settle()
  assert.equal(calls.onClaimDue, 0)
  while ((await claimer.claimOnce()) === 'more');
  assert.equal(inFlightIds().length, 2)
  assert.deepEqual(known, [])
})

test('a reservation keeps room for its executions, and there is none beyond the capacity', async () => {
  const { claimer, fire, holdClaims, orders, settle } = await setup({ capacity: 110 })
  const reservation = claimer.directDispatch.reserve(60, [])!
  assert.equal(claimer.directDispatch.reserve(51, []), null)
  const other = claimer.directDispatch.reserve(40, [])!
  other.end({ batches: [], live: [] })
  await settle()
  await fire(100, herd)
  const { resolve } = holdClaims(herd)
  const pass = claimer.claimOnce()
  await settle()
  assert.deepEqual(orders[0]!.lanes, [{ lane: herd, count: 50 }])
  assert.equal(claimer.directDispatch.reserve(1, []), null, 'the step has asked for the rest')
  resolve()
  await pass
  reservation.end({ batches: [], live: [] })
})

test('reservations leave most of the room to the claim loop', async () => {
  const { claimer, fire, orders, settle } = await setup({ capacity: 350 })
  const takings = Array.from({ length: 200 }, () => claimer.directDispatch.reserve(1, [])).filter(
    (one) => one !== null,
  )
  assert.equal(takings.length, 100)
  assert.equal(claimer.hasReservations, true)
  await fire(100, herd)
  await claimer.claimOnce()
  assert.equal(orders[0]!.lanes[0]!.count, 250)
  for (const reservation of takings) reservation.end({ batches: [], live: [] })
  await settle()
  assert.equal(claimer.hasReservations, false)
  assert.notEqual(claimer.directDispatch.reserve(100, []), null)
})

test('definitions are pruned also while reservations are open all the time', async () => {
  const { claimer, triggerFor, prunes, settle } = await setup()
  const open = claimer.directDispatch.reserve(1, [])!
  const before = prunes()
  const reservation = claimer.directDispatch.reserve(1, [])!
  reservation.end(await triggerFor(reservation))
  await settle()
  assert.equal(prunes(), before + 1)
  open.end({ batches: [], live: [] })
})

test('a pass of the claim loop that had less room because of a reservation is followed by another', async () => {
  const { claimer, fire, settle, calls } = await setup({ capacity: 110 })
  const reservation = claimer.directDispatch.reserve(60, [])!
  await fire(100, herd)
  await claimer.claimOnce()
  reservation.end({ batches: [], live: [] })
  await settle()
  assert.equal(calls.onClaimDue, 1)
})

test('unknown claims are not released during a reservation, and nothing is reserved during a release', async () => {
  const { claimer, triggerFor, inFlightIds, known, settle, calls } = await setup()
  const reservation = claimer.directDispatch.reserve(1, [])!
  const claimed = await triggerFor(reservation)
  claimer.noteUnknownClaim()
  await claimer.claimOnce()
  assert.deepEqual(known, [], 'it would go back and run')
  assert.equal(claimer.directDispatch.reserve(1, []), null, 'the release of unknown claims has its turn')
  reservation.end(claimed)
  await settle()
  assert.equal(calls.onClaimDue, 1)
  await claimer.claimOnce()
  assert.deepEqual(known, [idsOf(claimed)])
  assert.deepEqual(inFlightIds(), idsOf(claimed))
  assert.notEqual(claimer.directDispatch.reserve(1, []), null)
})

test('when the outcome of the transaction is not known, the execution is released and claimed', async () => {
  const { claimer, triggerFor, inFlightIds, settle, calls, known } = await setup()
  const reservation = claimer.directDispatch.reserve(1, [])!
  const claimed = await triggerFor(reservation)
  reservation.end(null)
  await settle()
  assert.deepEqual([inFlightIds(), calls.onClaimDue], [[], 1])
  while ((await claimer.claimOnce()) === 'more');
  assert.deepEqual(known, [[]])
  assert.deepEqual(inFlightIds(), idsOf(claimed))
})

for (const [when, change] of [
  ['while the worker drains', ({ drain }: Setup) => drain()],
  ['without a lease', ({ setWorker }: Setup) => setWorker(null)],
] as const) {
  test(`nothing is reserved ${when}, and an earlier reservation puts nothing in flight`, async () => {
    const parts = await setup()
    const { claimer, triggerFor, inFlightIds, settle, calls } = parts
    const reservation = claimer.directDispatch.reserve(1, [])!
    const claimed = await triggerFor(reservation)
    change(parts)
    reservation.end(claimed)
    await settle()
    assert.deepEqual([inFlightIds(), calls.onClaimed, calls.onClaimDue], [[], 0, 1])
    assert.equal(claimer.directDispatch.reserve(1, []), null)
  })
}

test('nothing is reserved for a tenant at its share, and the reservations of others go on', async () => {
  const { claimer, fire, inFlight, s } = await setup({ capacity: 400 })
  const { tenantId } = await s.createJob()
  await fire(150, herd)
  while ((await claimer.claimOnce()) === 'more');
  assert.equal(inFlight.size, 150)
  claimer.directDispatch.reserve(1, [tenantId])!.end({ batches: [], live: [] })
  inFlight.tenants.share()
  assert.equal(claimer.directDispatch.reserve(1, [tenantId]), null)
  assert.equal(claimer.directDispatch.reserve(2, ['another', tenantId]), null)
  assert.notEqual(claimer.directDispatch.reserve(1, ['another']), null)
})

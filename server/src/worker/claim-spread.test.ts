// Executions are spread over workers like this one: a worker with peers claims its share, and yields for a while.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setupClaimer } from '../../test/claimer-scene.ts'
import { sharedLane } from '../domain/queue/lane.ts'
import { serverRoute } from '../domain/queue/route.ts'
import { unspreadMax } from '../domain/queue/spread.ts'
import { watchPeersEveryMs, yieldLookMs, yieldMsMax } from './claim-spread.ts'

async function setup({ peers = 2 } = {}) {
  const scene = await setupClaimer()
  const { s, claimer, inFlightIds } = scene
  const peerIds: string[] = []
  for (let i = 0; i < peers; i++) peerIds.push(await s.addWorker())
  await claimer.watchPeers()
  return {
    ...scene,
    peerIds,
    /** Passes until one brings nothing; its answer. */
    async claimAll() {
      for (;;) {
        const answer = await claimer.claimOnce()
        if (answer !== 'more') return answer
      }
    },
    held: () => inFlightIds().length,
    async beatAll() {
      for (const id of peerIds) await s.leases.beat(id, { status: 'ACTIVE', currentLoad: 0 })
    },
    /** The claim of a peer. */
    claimFor(index: number, count: number) {
      const lanes = [{ lane: sharedLane, count }]
      const order = { routes: [serverRoute], lanes, hosts: [], batchesMax: 10 }
      return s.queue.claim({ workerId: peerIds[index]!, ...order })
    },
  }
}

test('a worker without peers claims everything, and does not look for peers', async () => {
  const { fire, claimAll, held, measures, claimer } = await setup({ peers: 0 })
  await fire(12, sharedLane)
  assert.equal(await claimAll(), 'idle')
  assert.deepEqual([held(), measures()], [12, 0])
  assert.notEqual(claimer.directDispatch.reserve(50, []), null)
})

test('a worker with idle peers claims its share, and looks again soon while the rest waits', async () => {
  const { fire, claimAll, held, claimFor } = await setup()
  await fire(12, sharedLane)
  assert.equal(await claimAll(), yieldLookMs)
  assert.equal(held(), 4)
  await claimFor(0, 4)
  await claimFor(1, 4)
  assert.equal(await claimAll(), 'idle')
  assert.equal(held(), 4)
})

test('single executions are spread, too', async () => {
  const { s, claimAll, held } = await setup()
  for (let i = 0; i < 12; i++) await s.trigger(await s.createJob())
  assert.equal(await claimAll(), yieldLookMs)
  assert.equal(held(), 4)
})

test('executions that peers leave waiting are claimed after a second, and then without regard to peers', async () => {
  const { fire, claimAll, held, advance, beatAll, claimer } = await setup()
  await fire(12, sharedLane)
  await claimAll()
  await advance(yieldMsMax - 1)
  assert.equal(await claimAll(), yieldLookMs)
  await advance(1)
  assert.equal(await claimAll(), 'idle')
  assert.equal(held(), 12)
  await fire(12, sharedLane)
  assert.equal(await claimAll(), 'idle')
  assert.equal(held(), 24)
  // They have shown for ten seconds that they can claim, as far as their heartbeats say so.
  await advance(10_000)
  await beatAll()
  await fire(12, sharedLane)
  assert.equal(await claimAll(), yieldLookMs)
  assert.equal(held(), 24)
  assert.equal(claimer.directDispatch.reserve(1, []), null)
})

test('a herd is claimed at once, however many peers there are', async () => {
  const { fire, claimAll, held } = await setup()
  await fire(100, sharedLane)
  await fire(100, sharedLane)
  await claimAll()
  assert(held() >= 100, `${held()} in flight`)
})

test('a few executions are claimed on insert, and further ones while the peers hold as many', async () => {
  const { s, claimer, triggerFor, settle, fire, claimFor, claimAll, held } = await setup()
  for (let i = 0; i < unspreadMax; i++) {
    const reservation = claimer.directDispatch.reserve(1, [])!
    reservation.end(await triggerFor(reservation))
    await settle()
  }
  assert.equal(claimer.directDispatch.reserve(1, []), null)
  await fire(8, sharedLane)
  await claimFor(0, 4)
  await claimFor(1, 4)
  // It sees how much they hold when it finds something to claim.
  await s.trigger(await s.createJob())
  assert.equal(await claimAll(), 'idle')
  assert.equal(held(), unspreadMax + 1)
  const reservation = claimer.directDispatch.reserve(1, [])!
  assert.equal(claimer.directDispatch.reserve(1, []), null)
  reservation.end({ batches: [], live: [] })
})

test('an idle worker claims on insert even while a claim under way may bring its share', async () => {
  const { claimer, fire, holdClaims, settle, held } = await setup()
  await fire(12, sharedLane)
  const { resolve } = holdClaims(sharedLane)
  const pass = claimer.claimOnce()
  await settle()
  const reservation = claimer.directDispatch.reserve(1, [])!
  assert.equal(claimer.directDispatch.reserve(1, []), null)
  reservation.end({ batches: [], live: [] })
  resolve()
  await pass
  assert.equal(held(), 4)
})

test('a peer that is gone does not bound the claims any more', async () => {
  const { fire, claimAll, held, advance, claimer } = await setup()
  await advance(2 * watchPeersEveryMs + 1)
  await fire(12, sharedLane)
  assert.equal(await claimAll(), 'idle')
  assert.equal(held(), 12)
  assert.notEqual(claimer.directDispatch.reserve(50, []), null)
})

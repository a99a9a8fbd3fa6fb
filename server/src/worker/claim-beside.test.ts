// Beside a step that is under way the shared lane is claimed: what those wait for who enqueue little.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createScenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { sharedLane } from '../domain/lane.ts'
import { serverRoute } from '../domain/route.ts'
import type { NewJob } from '../ports/jobs.ts'
import type { Claimed, ClaimOrder } from '../ports/queue.ts'
import { createMemoryStore } from '../store/memory/create-memory-store.ts'
import { CallSigner } from './call-signer.ts'
import { Claimer } from './claim.ts'
import { Definitions } from './definitions.ts'
import { Hand } from './hand.ts'

const herd = 'the lane of a herd'

/** Answers to claims, and to hand-backs, come when a test says so where it holds them. */
async function setup({ capacity = 800 } = {}) {
  const world = createVirtualWorld()
  const { store: _, ...ports } = createMemoryStore(world.clock)
  const now = async () => world.clock.databaseNow()
  const s = await createScenario({ ...ports, ids: world.ids, now })
  const { queue } = ports
  const orders: ClaimOrder[] = []
  const known: string[][] = []
  const held: { lane: string; answer: PromiseWithResolvers<void> }[] = []
  let handBack: Promise<void> = Promise.resolve()
  const claim = queue.claim.bind(queue)
  queue.claim = async (order): Promise<Claimed> => {
    if (order.singles !== true) orders.push(order)
    const claimed = await claim(order)
    await held.find(({ lane }) => order.singles !== true && order.lanes.some((one) => one.lane === lane))
      ?.answer.promise
    return claimed
  }
  const returnUnknown = queue.returnUnknown.bind(queue)
  queue.returnUnknown = async (id, ids) => {
    await handBack
    known.push(ids.toSorted())
    return returnUnknown(id, ids)
  }
  const hand = new Hand(
    {
      clock: world.clock,
      run: () => new Promise(() => {}),
      mayStart: () => true,
      onBatchEnded() {},
      onLiveEnded() {},
    },
    { capacity },
  )
  let workerId: string | null = await s.addWorker()
  const claimer = new Claimer({
    clock: world.clock,
    queue,
    graphRuns: ports.graphRuns,
    hand,
    definitions: new Definitions(queue, '1.2.3'),
    signer: new CallSigner(ports.secrets),
    routes: async () => [serverRoute],
    isMortal: false,
    workerId: () => workerId,
    ...{ isPressed: () => false, isDraining: () => false },
  })
  async function fire(count: number, lane: string): Promise<string[]> {
    const jobs: NewJob[] = []
    for (let i = 0; i < count; i++) jobs.push(await s.createJob())
    return (await s.fireBatch(jobs, 0, { lane })).executionIds.toSorted()
  }
  return {
    ...{ world, s, hand, claimer, orders, known, fire },
    inHand: () => [...hand.tasks()].map(({ executionId }) => executionId).toSorted(),
    /** The answers to claims of this lane wait. Returns what lets them come. */
    holdClaims(lane: string): PromiseWithResolvers<void> {
      const answer = Promise.withResolvers<void>()
      held.push({ lane, answer })
      return answer
    },
    /** No claim is held any more. */
    letGo: () => void held.splice(0),
    holdHandBack(): () => void {
      const gate = Promise.withResolvers<void>()
      handBack = gate.promise
      return gate.resolve
    },
    setWorker(id: string | null) {
      workerId = id
    },
    settle: () => world.advance(0),
  }
}

test('what comes into the shared lane while a herd is being claimed is in hand before the herd is', async () => {
  const { claimer, fire, holdClaims, inHand, settle } = await setup()
  const many = await fire(100, herd)
  const { resolve } = holdClaims(herd)
  const step = claimer.step()
  await settle()
  assert.equal(claimer.isStepping, true)
  const few = await fire(3, sharedLane)
  assert.equal(await claimer.stepBeside(), 'more')
  assert.deepEqual(inHand(), few)
  assert.equal(await claimer.stepBeside(), 'idle', 'there is nothing more')
  resolve()
  assert.equal(await step, 'more')
  assert.deepEqual(inHand(), [...many, ...few].toSorted())
})

test('with no step under way nothing is claimed beside it: the next one begins there', async () => {
  const { claimer, fire, orders } = await setup()
  await fire(3, sharedLane)
  assert.equal(claimer.isStepping, false)
  assert.equal(await claimer.stepBeside(), 'idle')
  assert.equal(orders.length, 0)
})

test('a step that asks for all the room leaves none to claim beside it', async () => {
  const { claimer, fire, holdClaims, orders, settle } = await setup({ capacity: 110 })
  await fire(100, herd)
  const { resolve } = holdClaims(herd)
  const step = claimer.step()
  await settle()
  assert.deepEqual(orders[0]!.lanes, [{ lane: herd, count: 110 }])
  await fire(3, sharedLane)
  assert.equal(await claimer.stepBeside(), 'idle')
  resolve()
  await step
})

test('a step asks for no more than a claim beside it leaves', async () => {
  const { claimer, fire, holdClaims, letGo, orders, settle } = await setup({ capacity: 310 })
  await fire(100, herd)
  const first = holdClaims(herd)
  const step = claimer.step()
  await settle()
  assert.deepEqual(orders[0]!.lanes, [{ lane: herd, count: 300 }])
  const second = holdClaims(sharedLane)
  const beside = claimer.stepBeside()
  await settle()
  assert.deepEqual(orders[1]!.lanes, [{ lane: sharedLane, count: 10 }])
  first.resolve()
  await step
  letGo()
  await fire(100, herd)
  await claimer.step()
  assert.deepEqual(orders[2]!.lanes, [{ lane: herd, count: 200 }], '310 but for 100 in hand and 10 asked for')
  second.resolve()
  await beside
})

test('a hand-back waits for the claim beside it: what that brought is known then', async () => {
  const { claimer, fire, holdClaims, letGo, inHand, known, settle, s } = await setup()
  await fire(100, herd)
  const first = holdClaims(herd)
  const step = claimer.step()
  await settle()
  const few = await fire(3, sharedLane)
  const second = holdClaims(sharedLane)
  const beside = claimer.stepBeside()
  await settle()
  first.resolve()
  await step
  claimer.doubt()
  const next = claimer.step()
  await settle()
  assert.equal(JSON.stringify(known), '[]', 'nothing is handed back while an answer may bring it')
  letGo()
  second.resolve()
  assert.equal(await beside, 'more')
  await next
  assert.deepEqual(
    known.map((ids) => few.every((id) => ids.includes(id))),
    [true],
  )
  assert(few.every((id) => inHand().includes(id)))
  const helper = await s.addWorker()
  assert.deepEqual(await s.claim(helper, 100, sharedLane), { batches: [], live: [] })
})

test('nothing is claimed beside a step that hands back', async () => {
  const { claimer, fire, holdHandBack, orders, inHand, settle } = await setup()
  const few = await fire(3, sharedLane)
  const resolve = holdHandBack()
  claimer.doubt()
  const step = claimer.step()
  await settle()
  assert.equal(await claimer.stepBeside(), 'idle')
  assert.equal(orders.length, 0)
  resolve()
  await step
  assert.deepEqual(inHand(), few)
})

test('what a claim beside brought and nobody took goes back with the next step', async () => {
  const { claimer, fire, holdClaims, letGo, inHand, known, settle } = await setup()
  const many = await fire(100, herd)
  const first = holdClaims(herd)
  const step = claimer.step()
  await settle()
  const few = await fire(3, sharedLane)
  const second = holdClaims(sharedLane)
  const beside = claimer.stepBeside()
  await settle()
  letGo()
  second.reject(new Error('the answer was lost'))
  await assert.rejects(beside, /was lost/)
  first.resolve()
  await step
  assert.deepEqual(inHand(), many)
  while ((await claimer.step()) === 'more');
  assert.deepEqual(known, [many])
  assert.deepEqual(inHand(), [...many, ...few].toSorted())
})

test('without a lease nothing is claimed beside a step', async () => {
  const { claimer, fire, holdClaims, inHand, setWorker, settle } = await setup()
  await fire(100, herd)
  const { resolve } = holdClaims(herd)
  const step = claimer.step()
  await settle()
  await fire(3, sharedLane)
  setWorker(null)
  assert.equal(await claimer.stepBeside(), 'idle')
  resolve()
  await step
  assert.deepEqual(inHand(), [])
})

test('after a small batch no more of a herd are looked at than before', async () => {
  const { claimer, fire, orders } = await setup({ capacity: 20_000 })
  await fire(100, herd)
  await fire(100, herd)
  await claimer.step()
  await fire(3, sharedLane)
  await claimer.step()
  await fire(100, herd)
  await claimer.step()
  const looked = orders.map(({ batchesMax }) => batchesMax)
  assert.equal(looked[2], looked[1])
  assert(looked[1]! < 10, `${looked}`)
})

// claim×claim over sets of routes that share a route: nothing is claimed twice, and an execution that one claim read
// and did not take is available to the other.
import assert from 'node:assert/strict'
import type { Execution } from '../../src/domain/jobs/job.ts'
import { executionIdAt } from '../../src/domain/queue/execution.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { routeOf, suspectHost } from '../../src/domain/queue/route.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import type { Claimed } from '../../src/ports/queue.ts'
import { claimWork } from '../../src/postgres/queue/queue.sql.ts'
import { testRace } from './attempts-world.ts'
import type { Race } from './sessions.ts'

const handlerOf = (handler: string): Execution => ({
  type: 'worker',
  handler,
  labels: [],
  timeout_seconds: 30,
})
const routeTo = (handler: string) => routeOf({ tenantId, execution: handlerOf(handler) })

function idsOf({ batches, live }: Claimed): string[] {
  const inBatches = batches.flatMap(({ batchId, positions }) =>
    positions.map((at) => executionIdAt(batchId, at)),
  )
  return [...inBatches, ...live.map(({ executionId }) => executionId)].toSorted()
}

/** Of each handler a batch of two and one alone. */
async function createWork({ s }: Race, handlers: readonly string[]): Promise<Map<string, string[]>> {
  const ids = new Map<string, string[]>()
  for (const handler of handlers) {
    const create = (): Promise<NewJob> => s.createJob({ execution: handlerOf(handler) })
    const { executionIds } = await s.fireBatch([await create(), await create()], 0)
    ids.set(handler, [...executionIds, await s.trigger(await create())].toSorted())
  }
  return ids
}

const orderOf = (workerId: string, handlers: readonly string[], count: number) => ({
  workerId,
  routes: handlers.map(routeTo),
  lanes: [{ lane: sharedLane, count }],
  hosts: [{ host: suspectHost, count: 1 }],
  batchesMax: 20,
})

testRace('claim×claim: what both may claim is claimed by one', async (race) => {
  const { s, first, second } = race
  const ids = await createWork(race, ['a', 'b', 'c'])
  const [one, other] = [await s.addWorker(), await s.addWorker()]
  const held = first.holdAfter(claimWork)
  const claiming = first.queue.claim(orderOf(one, ['a', 'b'], 100))
  await held.reached
  const theirs = idsOf(await second.queue.claim(orderOf(other, ['b', 'c'], 100)))
  held.resume()
  assert.deepEqual(idsOf(await claiming), [...ids.get('a')!, ...ids.get('b')!].toSorted())
  assert.deepEqual(theirs, ids.get('c'))
})

testRace('claim×claim: what a claim looked at and did not take is there afterwards', async (race) => {
  const { s, first, second } = race
  const ids = await createWork(race, ['a', 'b', 'c'])
  const [one, other] = [await s.addWorker(), await s.addWorker()]
  const held = first.holdAfter(claimWork)
  const claiming = first.queue.claim(orderOf(one, ['a', 'b'], 2))
  await held.reached
  const during = idsOf(await second.queue.claim(orderOf(other, ['b', 'c'], 100)))
  held.resume()
  const ours = idsOf(await claiming)
  assert.equal(ours.length, 2)
  const after = idsOf(await second.queue.claim(orderOf(other, ['a', 'b', 'c'], 100)))
  assert.deepEqual([...ours, ...during, ...after].toSorted(), [...ids.values()].flat().toSorted())
})

testRace('claim×claim: of two that ask for a suspect each has one, of whatever route', async (race) => {
  const { s, client, first, second } = race
  const ids = await createWork(race, ['a', 'b'])
  for (let losses = 1; losses <= 2; losses++) {
    const dead = await s.addWorker()
    await s.queue.claim(orderOf(dead, ['a', 'b'], 100))
    assert.notEqual(await s.maintenance.reclaim({ holderId: dead, beats: 0 }), 'alive')
  }
  const [one, other] = [await s.addWorker(), await s.addWorker()]
  const held = first.holdAfter(claimWork)
  const claiming = first.queue.claim(orderOf(one, ['a'], 100))
  await held.reached
  const theirs = idsOf(await second.queue.claim(orderOf(other, ['a', 'b'], 100)))
  held.resume()
  const ours = idsOf(await claiming)
  assert.deepEqual([ours.length, theirs.length], [1, 1])
  assert(ids.get('a')!.includes(ours[0]!))
  assert.notEqual(ours[0], theirs[0])
  const { rows } = await client.query(`SELECT FROM live WHERE state = 'ready' AND host = $1`, [suspectHost])
  assert.equal(rows.length, 4)
})

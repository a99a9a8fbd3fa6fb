// claim×claim of one worker: two processes that claim for it at once never bring it above its capacity.
import assert from 'node:assert/strict'
import test from 'node:test'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { serverRoute } from '../../src/domain/queue/route.ts'
import { selectRoom } from '../../src/postgres/queue/queue.sql.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole } from './invariants.ts'
import { createRace, type Race } from './sessions.ts'

async function fill({ s }: Race, count: number): Promise<void> {
  const job = await s.createJob({ overlapPolicy: 'ALLOW' })
  for (let i = 0; i < count; i++) await s.trigger(job)
}

const orderOf = (workerId: string) => ({
  ...{ workerId, routes: [serverRoute], hosts: [], batchesMax: 20, withinCapacity: true },
  lanes: [{ lane: sharedLane, count: 50 }],
})

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: a claim of a worker waits for another one of it, and then counts its executions too`, async (t) => {
    const race = await createRace(t, version)
    const { s, client, first, second, waiting } = race
    await fill(race, 9)
    const workerId = await s.addWorker({ capacity: 4 })
    const held = first.holdAfter(selectRoom)
    const claiming = first.queue.claim(orderOf(workerId))
    await held.reached
    const other = second.queue.claim(orderOf(workerId))
    await waiting()
    held.resume()
    assert.equal((await claiming).live.length, 4)
    assert.deepEqual(await other, { batches: [], live: [], isFull: true })
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: a report goes through while a claim of its worker is under way`, async (t) => {
    const race = await createRace(t, version)
    const { s, client, first, second } = race
    await fill(race, 3)
    const workerId = await s.addWorker({ capacity: 2 })
    const { live } = await s.queue.claim({ ...orderOf(workerId), lanes: [{ lane: sharedLane, count: 1 }] })
    const held = first.holdAfter(selectRoom)
    const claiming = first.queue.claim(orderOf(workerId))
    await held.reached
    const [one] = live
    const ends = [
      { executionId: one!.executionId, fence: one!.fence, attempt: one!.attempt, ending: s.succeeded() },
    ]
    assert.deepEqual(await second.queue.finishLive(workerId, ends), { missing: [], cancelled: [], left: [] })
    held.resume()
    // Counted before the report.
    assert.equal((await claiming).live.length, 1)
    assert.equal((await s.queue.claim(orderOf(workerId))).live.length, 1)
    await assertWhole(client)
  })
}

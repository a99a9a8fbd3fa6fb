// Conformance of the partitions port, for every implementation.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { partitionsCount } from '../../../src/domain/jobs/job.ts'
import type { Scenario } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'

async function join(s: Scenario): Promise<string> {
  const schedulerId = s.ids.next()
  await s.partitions.join(schedulerId)
  return schedulerId
}

async function take(s: Scenario, schedulerId: string, partitionIds: number[]): Promise<number[]> {
  return (await s.partitions.take(schedulerId, partitionIds)).toSorted((a, b) => a - b)
}

/** The partitions that this scheduler holds; null: held by none. */
async function heldBy(s: Scenario, schedulerId: string | null): Promise<number[]> {
  const { holders } = await s.partitions.view()
  return [...holders.keys()].filter((partitionId) => holders[partitionId] === schedulerId)
}

export function testPartitions(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: at first nobody holds any of the partitions`, async (t) => {
    const s = await setup(t)
    const expected = { schedulers: [], holders: new Array(partitionsCount).fill(null) }
    assert.deepEqual(await s.partitions.view(), expected)
  })

  test(`${name}: schedulers are seen with their counters`, async (t) => {
    const s = await setup(t)
    const [one, two] = [await join(s), await join(s)]
    assert.equal(await s.partitions.beat(two), 'held')
    assert.equal(await s.partitions.beat(two), 'held')
    await s.partitions.join(two)
    assert.deepEqual((await s.partitions.view()).schedulers, [
      { holderId: one, beats: 0 },
      { holderId: two, beats: 2 },
    ])
  })

  test(`${name}: a partition is held by the first scheduler that takes it`, async (t) => {
    const s = await setup(t)
    const [one, two] = [await join(s), await join(s)]
    assert.deepEqual(await take(s, one, [0, 1, 63]), [0, 1, 63])
    assert.deepEqual(await take(s, two, [1, 2, 63]), [2])
    assert.deepEqual(await take(s, one, [0]), [])
    assert.deepEqual([await heldBy(s, one), await heldBy(s, two)], [[0, 1, 63], [2]])
    assert.deepEqual(await take(s, one, []), [])
  })

  test(`${name}: a partition that two take at the same time has one holder`, async (t) => {
    const s = await setup(t)
    const schedulers = [await join(s), await join(s), await join(s)]
    const all = Array.from({ length: partitionsCount }, (_, id) => id)
    const taken = await Promise.all(schedulers.map((id) => take(s, id, all)))
    assert.equal(taken.flat().length, new Set(taken.flat()).size)
    for (const [i, id] of schedulers.entries()) assert.deepEqual(await heldBy(s, id), taken[i])
  })

  test(`${name}: only the holder gives a partition back`, async (t) => {
    const s = await setup(t)
    const [one, two] = [await join(s), await join(s)]
    await take(s, one, [4, 5])
    await s.partitions.release(two, [4, 5])
    assert.deepEqual(await heldBy(s, one), [4, 5])
    await s.partitions.release(one, [5, 6])
    await s.partitions.release(one, [])
    assert.deepEqual(await heldBy(s, one), [4])
    assert.deepEqual(await take(s, two, [4, 5]), [5])
  })

  test(`${name}: a scheduler that leaves gives everything back, and leaving twice is harmless`, async (t) => {
    const s = await setup(t)
    const [one, two] = [await join(s), await join(s)]
    await take(s, one, [4, 5])
    await take(s, two, [6])
    await s.partitions.leave(one)
    await s.partitions.leave(one)
    const { schedulers } = await s.partitions.view()
    assert.deepEqual(schedulers, [{ holderId: two, beats: 0 }])
    assert.equal((await heldBy(s, null)).length, partitionsCount - 1)
    assert.equal(await s.partitions.beat(one), 'lost')
  })

  test(`${name}: a silent scheduler is expelled and its partitions are free`, async (t) => {
    const s = await setup(t)
    const [silent, other] = [await join(s), await join(s)]
    await take(s, silent, [4, 5])
    await take(s, other, [6])
    await s.partitions.beat(silent)
    assert.equal(await s.partitions.expel({ holderId: silent, beats: 1 }), 'expelled')
    assert.equal(await s.partitions.beat(silent), 'lost')
    assert.deepEqual(await take(s, other, [4, 5, 6]), [4, 5])
  })

  test(`${name}: a scheduler that beat meanwhile is not expelled`, async (t) => {
    const s = await setup(t)
    const schedulerId = await join(s)
    await take(s, schedulerId, [4])
    await s.partitions.beat(schedulerId)
    assert.equal(await s.partitions.expel({ holderId: schedulerId, beats: 0 }), 'alive')
    assert.equal(await s.partitions.expel({ holderId: s.ids.next(), beats: 0 }), 'alive')
    assert.equal(await s.partitions.beat(schedulerId), 'held')
    assert.deepEqual(await heldBy(s, schedulerId), [4])
  })

  test(`${name}: an expelled scheduler takes nothing until it joins again under a new id`, async (t) => {
    const s = await setup(t)
    const schedulerId = await join(s)
    await s.partitions.expel({ holderId: schedulerId, beats: 0 })
    await assert.rejects(s.partitions.take(schedulerId, [1]))
    assert.equal((await heldBy(s, null)).length, partitionsCount)
    assert.deepEqual(await take(s, await join(s), [1]), [1])
  })
}

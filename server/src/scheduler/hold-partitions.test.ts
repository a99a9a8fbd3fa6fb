import assert from 'node:assert/strict'
import test from 'node:test'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { partitionsCount } from '../domain/jobs/job.ts'
import type { Partitions } from '../ports/partitions.ts'
import { clockLost, clockRegained, schedulerExpelled } from '../telemetry/events.ts'
import { PartitionLease, schedulerBeatMs, shareEveryMs } from './hold-partitions.ts'

function setup() {
  const world = createVirtualWorld()
  /** The uncertainty of the clocks, by scheduler. */
  const uncertainty = new Map<unknown, number>()
  const { store, partitions } = openMemoryStore(world.clock)
  function start(port: Partitions = partitions) {
    let held: readonly number[] = []
    const changes: number[] = []
    const clock = { ...world.clock, uncertaintyMs: () => uncertainty.get(lease) ?? 0 }
    const lease: PartitionLease = new PartitionLease({
      clock,
      ids: world.ids,
      partitions: port,
      lease: port,
      onHeld(partitionIds) {
        held = partitionIds
        changes.push(partitionIds.length)
      },
    })
    return { lease, changes, held: () => held.toSorted((a, b) => a - b) }
  }
  /** Seconds pass in which these schedulers beat and share as their loops do. */
  async function run(leases: readonly { lease: PartitionLease }[], seconds: number): Promise<void> {
    for (let ms = 0; ms < seconds * 1_000; ms += shareEveryMs) {
      for (const { lease } of leases) {
        if (ms % schedulerBeatMs === 0) while ((await lease.beat()) === 'more');
        await lease.share()
      }
      await world.advance(shareEveryMs)
    }
  }
  const lose = ({ lease }: { lease: PartitionLease }, ms: number) => uncertainty.set(lease, ms)
  return { world, store, partitions, start, run, lose }
}

type Started = ReturnType<ReturnType<typeof setup>['start']>

function assertShared(all: readonly Started[]): void {
  const held = all.flatMap((one) => one.held())
  assert.deepEqual(
    held.toSorted((a, b) => a - b),
    Array.from({ length: partitionsCount }, (_, id) => id),
    'each partition has one owner',
  )
  const counts = all.map((one) => one.held().length)
  assert(Math.max(...counts) - Math.min(...counts) <= 1, `shares ${counts}`)
}

test('a scheduler that has not joined holds nothing and takes nothing', async () => {
  const { start, store } = setup()
  const one = start()
  await one.lease.share()
  assert.deepEqual(one.held(), [])
  assert(store.holders.every((holder) => holder === null))
})

test('a lone scheduler has every partition after its first beat and look, and is called back once', async () => {
  const { start, run } = setup()
  const one = start()
  await run([one], 5)
  assertShared([one])
  assert.deepEqual(one.changes, [64])
})

test('schedulers that join share equally, and a partition is let go by one before another has it', async () => {
  const { start, run, store } = setup()
  const all = [start()]
  await run(all, 2)
  for (let n = 2; n <= 5; n++) {
    all.push(start())
    for (let second = 0; second < 4; second++) {
      await run(all, 1)
      const held = all.flatMap((one) => one.held())
      assert.equal(new Set(held).size, held.length, 'no partition is held twice')
    }
    assertShared(all)
  }
  assert.equal(new Set(store.holders).size, 5)
})

test('a scheduler that leaves gives everything back at once', async () => {
  const { start, run, store } = setup()
  const [one, two] = [start(), start()]
  await run([one, two], 4)
  await one.lease.leave()
  assert.equal(store.holders.filter((holder) => holder === null).length, 32)
  await run([two], 2)
  assertShared([two])
  await one.lease.leave()
})

test('a scheduler that goes silent is expelled after its term, and within ten seconds others have its share', async () => {
  const { start, run } = setup()
  const [dying, living] = [start(), start()]
  await run([dying, living], 4)
  const expelled = schedulerExpelled.next()
  await run([living], 5)
  assert.equal(living.held().length, 32)
  await run([living], 4)
  assertShared([living])
  const { silentMs } = await expelled
  assert(silentMs >= 6_000 && silentMs < 8_000, `${silentMs}`)
})

test('the partitions of an expelled scheduler are looked at again at once', async () => {
  const { start, run, store, world } = setup()
  const [silent, other] = [start(), start()]
  await run([silent, other], 6)
  let more = 'idle'
  for (let looks = 0; looks < 20 && more === 'idle'; looks++) {
    await world.advance(shareEveryMs)
    more = await other.lease.share()
  }
  assert.deepEqual([more, store.schedulers.size], ['more', 1])
  assert.equal(await other.lease.share(), 'idle')
  assertShared([other])
})

test('a living scheduler is never expelled', async () => {
  const { start, run, store } = setup()
  const all = [start(), start()]
  await run(all, 4)
  const before = [...store.schedulers.keys()]
  await run(all, 600)
  assert.deepEqual([...store.schedulers.keys()], before)
})

test('a scheduler that was expelled holds nothing until it has joined under a new id', async () => {
  const { start, run, store, partitions } = setup()
  const one = start()
  await run([one], 2)
  const [old] = [...store.schedulers]
  await partitions.expel({ holderId: old![0], beats: old![1] })
  assert.equal(one.held().length, 64, 'it cannot know yet')
  assert.equal(await one.lease.beat(), 'more')
  assert.deepEqual(one.held(), [])
  await one.lease.share()
  assert.deepEqual(one.held(), [], 'it has not joined')
  assert.equal(await one.lease.beat(), 'idle')
  await one.lease.share()
  assert.equal(one.held().length, 64)
  assert.equal(store.schedulers.size, 1)
  assert.notEqual([...store.schedulers.keys()][0], old![0])
  assert.deepEqual(one.changes, [64, 0, 64])
})

test('a scheduler that finds itself expelled during a look holds nothing after it', async () => {
  const { start, run, store, partitions } = setup()
  const link: Partitions = {
    join: (id) => partitions.join(id),
    beat: (id) => partitions.beat(id),
    leave: (id) => partitions.leave(id),
    view: () => partitions.view(),
    take: (id, ids) => partitions.take(id, ids),
    release: (id, ids) => partitions.release(id, ids),
    expel: (beat) => partitions.expel(beat),
  }
  const one = start(link)
  await run([one], 2)
  link.view = async () => {
    const view = await partitions.view()
    const [old] = [...store.schedulers]
    await partitions.expel({ holderId: old![0], beats: old![1] })
    await one.lease.beat()
    return view
  }
  await one.lease.share().catch(() => {})
  assert.deepEqual(one.held(), [])
})

test('a join is repeated under the same id after its answer was lost', async () => {
  const { start, store, partitions } = setup()
  const join = partitions.join.bind(partitions)
  partitions.join = async (schedulerId) => {
    await join(schedulerId)
    partitions.join = join
    throw new Error('the answer was lost')
  }
  const one = start()
  await assert.rejects(one.lease.beat(), /lost/)
  await one.lease.beat()
  assert.equal(store.schedulers.size, 1)
})

test('partitions that were taken although the answer was lost are noticed at the next poll', async () => {
  const { start, partitions } = setup()
  const take = partitions.take.bind(partitions)
  partitions.take = async (schedulerId, ids) => {
    await take(schedulerId, ids)
    partitions.take = take
    throw new Error('the answer was lost')
  }
  const one = start()
  await one.lease.beat()
  await assert.rejects(one.lease.share(), /lost/)
  assert.deepEqual(one.held(), [])
  await one.lease.share()
  assert.equal(one.held().length, 64)
})

test('a scheduler that does not know the time releases its partitions, others hold them within two looks, and it comes back', async () => {
  const { start, run, lose, store } = setup()
  const all = [start(), start(), start()]
  await run(all, 6)
  assertShared(all)
  const [one, ...others] = all
  const said: string[] = []
  using _lost = clockLost.subscribe(({ uncertaintyMs }) => said.push(`lost at ${uncertaintyMs}`))
  using _regained = clockRegained.subscribe(({ uncertaintyMs }) => said.push(`regained at ${uncertaintyMs}`))
  lose(one!, 1_000)
  await run(all, 2)
  assertShared(all)
  lose(one!, 1_001)
  await run(all, 2)
  assert.deepEqual(one!.held(), [])
  assertShared(others)
  assert.equal(store.schedulers.size, 2, 'the others do not count on it')
  lose(one!, Number.POSITIVE_INFINITY)
  await run(all, 10)
  assertShared(others)
  lose(one!, 20)
  await run(all, 6)
  assertShared(all)
  assert.deepEqual(said, ['lost at 1001', 'regained at 20'])
})

test('a leave that did not get through is repeated, and meanwhile nothing is held', async () => {
  const { start, run, lose, partitions, store } = setup()
  const one = start()
  await run([one], 2)
  assert.equal(one.held().length, 64)
  const leave = partitions.leave.bind(partitions)
  let tries = 0
  partitions.leave = async (schedulerId) => {
    tries += 1
    if (tries < 3) throw new Error('away')
    return leave(schedulerId)
  }
  lose(one, 5_000)
  await assert.rejects(one.lease.share(), /away/)
  assert.deepEqual(one.held(), [])
  // By now the clock is good again: the remains of the old lease must not stand in the way of the new one.
  lose(one, 0)
  await assert.rejects(one.lease.beat(), /away/)
  await one.lease.beat()
  await one.lease.share()
  assert.equal(one.held().length, 64)
  assert.equal(store.schedulers.size, 1)
})

test('a scheduler that does not know the time when it starts does not join', async () => {
  const { start, run, lose, store } = setup()
  const one = start()
  lose(one, Number.POSITIVE_INFINITY)
  await run([one], 4)
  assert.equal(store.schedulers.size, 0)
  lose(one, 0)
  await run([one], 2)
  assert.equal(one.held().length, 64)
})

test('a scheduler that leaves holds nothing from then on, and does not come back, whichever call was under way', async () => {
  const { start, run, store, partitions } = setup()
  const [one, two] = [start(), start()]
  await run([one, two], 6)
  await one.lease.leave()
  assert.deepEqual(one.held(), [])
  await run([one, two], 2)
  assertShared([two])
  assert.equal(store.schedulers.size, 1)

  // Left while it was joining, and while it was taking.
  const three = start()
  const join = partitions.join.bind(partitions)
  partitions.join = async (schedulerId) => {
    const left = three.lease.leave()
    await join(schedulerId)
    await left
  }
  await three.lease.beat()
  assert.equal(store.schedulers.size, 1)
  partitions.join = join
  await two.lease.leave()
  const four = start()
  await four.lease.beat()
  const take = partitions.take.bind(partitions)
  partitions.take = async (schedulerId, ids) => {
    const taken = await take(schedulerId, ids)
    await four.lease.leave()
    return taken
  }
  await four.lease.share()
  assert.deepEqual(four.held(), [])
  assert(store.holders.every((holder) => holder === null))
  assert.equal(store.schedulers.size, 0)
})

test('a leave that failed is repeated', async () => {
  const { start, run, store, partitions } = setup()
  const one = start()
  await run([one], 2)
  const leave = partitions.leave.bind(partitions)
  partitions.leave = async () => {
    throw new Error('away')
  }
  await assert.rejects(one.lease.leave(), /away/)
  partitions.leave = leave
  await one.lease.leave()
  assert.equal(store.schedulers.size, 0)
})

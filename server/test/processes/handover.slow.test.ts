// Schedulers come and go: partitions are redistributed, no more of them move than needed, and their holders are
// visible.
import assert from 'node:assert/strict'
import test from 'node:test'
import { until } from '../e2e/api.ts'
import { createFleet, type Holding, untilHeldBy, withTime } from './fleet.ts'

interface PartitionList {
  partitions: { partition_id: number; scheduler_id: string | null }[]
  schedulers: Holding[]
}

test(
  'partitions are shared among live schedulers: given back on SIGTERM, taken over after kill -9',
  withTime,
  async (t) => {
    const fleet = await createFleet(t)
    const [api, first, second] = await Promise.all([
      fleet.start('api'),
      fleet.start('scheduler'),
      fleet.start('scheduler'),
    ])
    await untilHeldBy(fleet, 2)
    const holders = async () =>
      (await api!.api.get<PartitionList>('/partitions')).partitions.map((one) => one.scheduler_id)
    const metric = async () => {
      const text = await (await fetch(`${api!.url}/metrics`)).text()
      const lines = text.split('\n').filter((line) => line.startsWith('carillon_partitions_'))
      return lines.map((line) => line.replace(/^carillon_partitions_/, ''))
    }
    const two = await holders()
    const [a, b] = [...new Set(two)]
    assert.deepEqual([a, b].map((id) => two.filter((one) => one === id).length).toSorted(), [32, 32])
    const expected = [`held{scheduler="${a}"} 32`, `held{scheduler="${b}"} 32`, 'unowned 0']
    assert.deepEqual((await metric()).toSorted(), expected.toSorted())

    // One joins: it gets its share, and the others keep the rest of theirs.
    const third = await fleet.start('scheduler')
    await untilHeldBy(fleet, 3)
    const three = await holders()
    const moved = three.filter((holder, id) => holder !== two[id])
    assert.equal(new Set(moved).size, 1, 'all that moved went to the one that joined')
    assert.equal(moved.length, 21)

    // One leaves: it says so, and nobody has to find out by its silence.
    await third.stop()
    await untilHeldBy(fleet, 2)
    const again = await holders()
    const kept = again.filter((holder, id) => holder === three[id])
    assert.equal(kept.length, 64 - 21, 'nobody else gave anything away')
    for (const one of [first!, second!]) assert.deepEqual(one.events('scheduler.expelled'), [])

    // One is killed: the other finds out, and takes over all of it.
    first!.signal('SIGKILL')
    await first!.program.exit
    const [last] = await untilHeldBy(fleet, 1)
    assert.deepEqual(new Set(await holders()), new Set([last!.scheduler_id]))
    assert.equal(second!.events('scheduler.expelled').length, 1)
    assert.deepEqual(await metric(), ['unowned 0', `held{scheduler="${last!.scheduler_id}"} 64`])
  },
)

test(
  'a scheduler that stood still for longer than its lease gives way, and comes back as another',
  withTime,
  async (t) => {
    const fleet = await createFleet(t)
    const [first, second] = await Promise.all([fleet.start('scheduler'), fleet.start('scheduler')])
    const before = await untilHeldBy(fleet, 2)
    first!.signal('SIGSTOP')
    const [survivor] = await untilHeldBy(fleet, 1)
    first!.signal('SIGCONT')
    const after = await untilHeldBy(fleet, 2)
    const ids = (holdings: Holding[]) => holdings.map((one) => one.scheduler_id)
    assert(ids(before).includes(survivor!.scheduler_id) && ids(after).includes(survivor!.scheduler_id))
    assert.equal(new Set([...ids(before), ...ids(after)]).size, 3, 'the id that was declared dead stays dead')
    await until(() => (second!.events('scheduler.expelled').length === 1 ? true : null), 'it is told')
    await first!.stop()
    await second!.stop()
    const { rows } = await fleet.client.query('SELECT * FROM schedulers')
    assert.deepEqual(rows, [], 'who stops leaves nothing behind')
  },
)

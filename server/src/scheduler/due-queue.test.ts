import assert from 'node:assert/strict'
import test from 'node:test'
import { SeededRandom } from '../../test/virtual-world.ts'
import { epochMs } from '../lib/time/epoch.ts'
import { DueQueue } from './due-queue.ts'
import type { Entry } from './entry.ts'

/** An entry with only the fields that the due queue reads. */
function entry(jobId: string, dueAt: number, partitionId = 0, tenantId = 'tenant'): Entry {
  return { jobId, partitionId, tenantId, dueAt: epochMs(dueAt) } as Entry
}

function take(dueQueue: DueQueue, now: number, limit = 1_000): string[] {
  return dueQueue.takeDue(epochMs(now), limit).map(({ jobId }) => jobId)
}

test('a job is handed out when it is due, not before, and once', () => {
  const dueQueue = new DueQueue()
  dueQueue.put(entry('a', 1_000))
  assert.deepEqual(take(dueQueue, 999), [])
  assert.deepEqual(take(dueQueue, 1_000), ['a'])
  assert.deepEqual(take(dueQueue, 1_000), [])
  assert.equal(dueQueue.size, 0)
  assert.equal(dueQueue.has('a'), false)
})

test('jobs are handed out in the order of their due times, however they were put', () => {
  const dueQueue = new DueQueue()
  for (const dueAt of [5_000, 1_000, 4_000, 2_000, 3_000]) dueQueue.put(entry(`at ${dueAt}`, dueAt))
  assert.equal(dueQueue.nextDueAt(), 1_000)
  assert.deepEqual(take(dueQueue, 9_000, 2), ['at 1000', 'at 2000'])
  assert.equal(dueQueue.nextDueAt(), 3_000)
  assert.deepEqual(take(dueQueue, 4_000), ['at 3000', 'at 4000'])
})

test('tenants take turns: a small tenant does not wait for the herd of another', () => {
  const dueQueue = new DueQueue()
  for (let n = 0; n < 100; n++) dueQueue.put(entry(`herd ${n}`, 1_000, 0, 'herd'))
  for (let n = 0; n < 3; n++) dueQueue.put(entry(`quiet ${n}`, 2_000, 0, 'quiet'))
  const quiet = ['quiet 0', 'quiet 1', 'quiet 2']
  assert.deepEqual(take(dueQueue, 2_000, 10), quiet, 'alone')
  assert.equal(take(dueQueue, 2_000, 10).length, 10)
  for (let n = 0; n < 3; n++) dueQueue.put(entry(`quiet ${n}`, 3_000, 0, 'quiet'))
  assert.equal(take(dueQueue, 2_000, 10).length, 10)
  for (let n = 3; n < 6; n++) dueQueue.put(entry(`quiet ${n}`, 3_000, 0, 'quiet'))
  assert.equal(take(dueQueue, 3_000, 10).length, 6)
  // Were small tenants always alone, a herd would wait for as long as they have jobs due.
  for (let n = 0; n < 3; n++) dueQueue.put(entry(`quiet ${n}`, 4_000, 0, 'quiet'))
  const mixed = take(dueQueue, 4_000, 10)
  assert.deepEqual(
    mixed.filter((jobId) => jobId.startsWith('quiet')),
    quiet,
  )
  // The rest of its share goes to the others.
  assert.equal(mixed.length, 10)
  for (let n = 0; n < 3; n++) dueQueue.put(entry(`quiet ${n}`, 5_000, 0, 'quiet'))
  assert.equal(take(dueQueue, 5_000).length, 76, 'all that is left fits into one')
})

test('jobs due at the same instant are handed out in the order in which their tenant put them', () => {
  const dueQueue = new DueQueue()
  for (const [n, tenantId] of ['a', 'b', 'a', 'c', 'b', 'a'].entries())
    dueQueue.put(entry(`${tenantId} ${n}`, 1_000, 0, tenantId))
  dueQueue.put(entry('a early', 500, 0, 'a'))
  assert.deepEqual(take(dueQueue, 1_000, 3), ['a early', 'b 1', 'c 3'])
  assert.equal(dueQueue.waiting, 4)
  assert.deepEqual(take(dueQueue, 1_000), ['a 0', 'a 2', 'a 5', 'b 4'])
})

test('each tenant has its turn, also when there are more tenants than room', () => {
  const dueQueue = new DueQueue()
  for (let n = 0; n < 300; n++) dueQueue.put(entry(`job ${n}`, 1_000, 0, `tenant ${n % 30}`))
  const tenants = new Set<number>()
  for (let turn = 0; turn < 3; turn++)
    for (const jobId of take(dueQueue, 1_000, 10)) tenants.add(Number(jobId.slice(4)) % 30)
  assert.equal(tenants.size, 30)
})

test('a job that is put again is due at its new time only, sooner or later', () => {
  const dueQueue = new DueQueue()
  dueQueue.put(entry('later', 1_000))
  dueQueue.put(entry('later', 5_000))
  dueQueue.put(entry('sooner', 5_000))
  dueQueue.put(entry('sooner', 1_000))
  assert.equal(dueQueue.size, 2)
  assert.deepEqual(take(dueQueue, 4_999), ['sooner'])
  assert.deepEqual(take(dueQueue, 5_000), ['later'])
})

test('a job put twice for one instant is handed out once', () => {
  const dueQueue = new DueQueue()
  const same = entry('a', 1_000)
  dueQueue.put(same)
  dueQueue.put(same)
  dueQueue.put(entry('a', 1_000))
  assert.deepEqual(take(dueQueue, 1_000), ['a'])
  assert.equal(dueQueue.nextDueAt(), null)
})

test('jobs of partitions that are gone are not handed out, and may come back', () => {
  const dueQueue = new DueQueue()
  dueQueue.put(entry('ours', 1_000, 1))
  dueQueue.put(entry('theirs', 1_000, 2))
  dueQueue.removePartitions((partitionId) => partitionId === 1)
  assert.equal(dueQueue.size, 1)
  assert.equal(dueQueue.has('theirs'), false)
  dueQueue.put(entry('theirs', 2_000, 2))
  assert.deepEqual(take(dueQueue, 1_999), ['ours'])
  assert.deepEqual(take(dueQueue, 2_000), ['theirs'])
})

/** The same job in another version. */
const ofVersion = (version: number, dueAt: number): Entry => ({ ...entry('a', dueAt), version })

test('a later version of a job replaces an earlier one, and not the other way round', () => {
  const dueQueue = new DueQueue()
  dueQueue.put(ofVersion(1, 1_000))
  dueQueue.put(ofVersion(2, 5_000))
  dueQueue.put(ofVersion(1, 2_000))
  assert.equal(dueQueue.size, 1)
  assert.deepEqual(take(dueQueue, 4_999), [])
  assert.deepEqual(
    dueQueue.takeDue(epochMs(5_000), 10).map(({ version }) => version),
    [2],
  )
  assert.equal(dueQueue.nextDueAt(), null)
})

test('an entry that was handed out is put back, unless the job was put again meanwhile', () => {
  const dueQueue = new DueQueue()
  dueQueue.put(ofVersion(1, 1_000))
  const [taken] = dueQueue.takeDue(epochMs(1_000), 10)
  dueQueue.putBack({ ...taken!, dueAt: epochMs(2_000) })
  assert.deepEqual(take(dueQueue, 1_999), [])
  const [again] = dueQueue.takeDue(epochMs(2_000), 10)
  for (const version of [1, 2]) {
    dueQueue.put(ofVersion(version, 4_000))
    dueQueue.putBack({ ...again!, dueAt: epochMs(3_000) })
    assert.equal(dueQueue.size, 1)
    assert.deepEqual(take(dueQueue, 3_999), [], `version ${version}`)
    assert.deepEqual(
      dueQueue.takeDue(epochMs(4_000), 10).map((one) => one.version),
      [version],
    )
  }
})

test('an entry that was handed out replaces an earlier version that was put late', () => {
  const dueQueue = new DueQueue()
  dueQueue.put(ofVersion(2, 1_000))
  const [taken] = dueQueue.takeDue(epochMs(1_000), 10)
  // A load that read the cursor before the edit, and came to its end after it.
  dueQueue.put(ofVersion(1, 1_000))
  dueQueue.putBack({ ...taken!, dueAt: epochMs(2_000) })
  assert.deepEqual(take(dueQueue, 1_999), [], 'the earlier version is out of date')
  assert.deepEqual(
    dueQueue.takeDue(epochMs(2_000), 10).map(({ version }) => version),
    [2],
  )
})

test('a herd of jobs due at the same instant is handed out piece by piece', () => {
  const dueQueue = new DueQueue()
  for (let i = 0; i < 2_500; i++) dueQueue.put(entry(`job ${i}`, 1_000))
  const taken = [...take(dueQueue, 1_000), ...take(dueQueue, 1_000)]
  assert.equal(taken.length, 2_000)
  assert.equal(dueQueue.nextDueAt(), 1_000)
  taken.push(...take(dueQueue, 1_000))
  assert.equal(new Set(taken).size, 2_500)
})

for (const seed of [1, 2, 3]) {
  test(`random operations have the same results as on a plain map (seed ${seed})`, () => {
    const random = new SeededRandom(seed)
    const draw = (below: number) => Math.floor(random.next() * below)
    const dueQueue = new DueQueue()
    const model = new Map<string, Entry>()
    let now = 0
    for (let step = 0; step < 4_000; step++) {
      const what = draw(10)
      if (what < 6) {
        const job = draw(60)
        // A small number of instants, so that buckets are shared; a past one as after a failed fire.
        const one = entry(`job ${job}`, Math.max(0, now - 2_000 + draw(10) * 500), job % 4)
        dueQueue.put(one)
        model.set(one.jobId, one)
      } else if (what < 9) {
        now += draw(3) * 250
        const limit = 1 + draw(8)
        const taken = dueQueue.takeDue(epochMs(now), limit)
        const due = [...model.values()].filter(({ dueAt }) => dueAt <= now)
        assert.equal(taken.length, Math.min(limit, due.length))
        for (const one of taken) assert.equal(model.get(one.jobId), one)
        for (const { jobId } of taken) model.delete(jobId)
        // No entry that was left is due before one that was handed out.
        const left = due.filter((one) => !taken.includes(one))
        const latest = Math.max(...taken.map(({ dueAt }) => dueAt))
        assert(left.every(({ dueAt }) => dueAt >= latest))
      } else {
        const gone = draw(4)
        dueQueue.removePartitions((partitionId) => partitionId !== gone)
        for (const { jobId, partitionId } of [...model.values()])
          if (partitionId === gone) model.delete(jobId)
      }
      assert.equal(dueQueue.size, model.size)
      for (let job = 0; job < 60; job++) assert.equal(dueQueue.has(`job ${job}`), model.has(`job ${job}`))
      const next = Math.min(...[...model.values()].map(({ dueAt }) => dueAt))
      // It may be the time of a replaced entry: too early, never too late.
      assert((dueQueue.nextDueAt() ?? Number.POSITIVE_INFINITY) <= next)
    }
  })
}

import assert from 'node:assert/strict'
import test from 'node:test'
import { SeededRandom } from '../../../test/virtual-world.ts'
import { partitionsCount } from '../jobs/job.ts'
import { planShare } from './partition-share.ts'

type Holders = (string | null)[]

/** The partitions and the schedulers that share them, each by its own look at all of them. */
function createShares() {
  const holders: Holders = new Array(partitionsCount).fill(null)
  const schedulers = new Set<string>()
  /** Everyone looks at the same moment, as at its worst; of two that reach for one, the first has it. */
  function lookTogether(): number {
    const seen = [...holders]
    const names = [...schedulers]
    const plans = names.map((self) => ({ self, ...planShare(self, { schedulers: names, holders: seen }) }))
    for (const { self, release } of plans) {
      for (const id of release) {
        assert.equal(holders[id], self, 'only one’s own is released')
        holders[id] = null
      }
    }
    let refused = 0
    for (const { self, take } of plans) {
      assert.equal(new Set(take).size, take.length)
      for (const id of take) {
        assert.equal(seen[id], null, 'only what was free is taken')
        if (holders[id] === null) holders[id] = self
        else refused += 1
      }
    }
    return refused
  }
  function lookInTurn(random: SeededRandom): void {
    const names = [...schedulers].toSorted(() => random.next() - 0.5)
    for (const self of names) {
      const { take, release } = planShare(self, { schedulers: [...schedulers], holders })
      for (const id of release) holders[id] = null
      for (const id of take) holders[id] = self
    }
  }
  function leave(name: string): void {
    schedulers.delete(name)
    for (const [id, holder] of holders.entries()) if (holder === name) holders[id] = null
  }
  const counts = () => [...schedulers].map((name) => holders.filter((holder) => holder === name).length)
  return { holders, schedulers, lookTogether, lookInTurn, leave, counts }
}

function assertEqualShares(counts: readonly number[]): void {
  assert.equal(
    counts.reduce((sum, one) => sum + one, 0),
    partitionsCount,
    'every partition has an owner',
  )
  assert(Math.max(...counts) - Math.min(...counts) <= 1, `shares ${counts}`)
}

test('one scheduler takes everything at once', () => {
  const { schedulers, lookTogether, counts } = createShares()
  schedulers.add('a')
  lookTogether()
  assert.deepEqual(counts(), [64])
})

for (const n of [2, 3, 5, 7, 64]) {
  test(`${n} schedulers that start together have equal shares after two looks`, () => {
    const { schedulers, lookTogether, counts } = createShares()
    for (let i = 0; i < n; i++) schedulers.add(`scheduler ${i}`)
    lookTogether()
    lookTogether()
    assertEqualShares(counts())
  })
}

test('two that join at once reach for mostly different partitions, and have equal shares a look later', () => {
  const { schedulers, lookTogether, counts } = createShares()
  schedulers.add('a')
  lookTogether()
  schedulers.add('b').add('c')
  lookTogether()
  assert.deepEqual(counts(), [22, 0, 0], 'first what is too much is given up')
  const refused = lookTogether()
  assert(refused < 10, `${refused} of 42`)
  lookTogether()
  assertEqualShares(counts())
})

test('more schedulers than partitions: each partition has one owner, the rest hold none', () => {
  const { schedulers, lookTogether, counts } = createShares()
  for (let i = 0; i < 70; i++) schedulers.add(`scheduler ${i}`)
  for (let look = 0; look < 5; look++) lookTogether()
  assertEqualShares(counts())
})

test('once shares are equal nothing moves any more', () => {
  const { holders, schedulers, lookTogether } = createShares()
  for (const name of ['a', 'b', 'c']) schedulers.add(name)
  for (let look = 0; look < 3; look++) lookTogether()
  const settled = [...holders]
  for (let look = 0; look < 10; look++) lookTogether()
  assert.deepEqual(holders, settled)
})

/**
 * The fewest moves possible: a remaining scheduler keeps as many as its share allows, and the larger holders keep the
 * larger shares.
 */
function movesNeeded(before: Holders, schedulers: ReadonlySet<string>): number {
  const n = schedulers.size
  const counts = [...schedulers].map((name) => before.filter((holder) => holder === name).length)
  return counts
    .toSorted((a, b) => b - a)
    .reduce((sum, count, i) => {
      const share = Math.floor(partitionsCount / n) + (i < partitionsCount % n ? 1 : 0)
      return sum + Math.max(0, count - share)
    }, 0)
}

const looksMax = 12

for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
  test(`as schedulers join and leave, only the necessary partitions move, and no move is undone (seed ${seed})`, () => {
    const random = new SeededRandom(seed)
    const { holders, schedulers, lookTogether, lookInTurn, leave, counts } = createShares()
    const next = () => `scheduler ${Math.floor(random.next() * 1e9)}`
    for (let i = 0; i < 40; i++) {
      const before = [...holders]
      const joining = Math.floor(random.next() * 3)
      const leaving = Math.floor(random.next() * Math.min(3, schedulers.size))
      for (const name of [...schedulers].toSorted(() => random.next() - 0.5).slice(0, leaving)) leave(name)
      for (let one = 0; one < joining; one++) schedulers.add(next())
      if (schedulers.size === 0) schedulers.add(next())
      const needed = movesNeeded(before, schedulers)
      const moves = new Array<number>(partitionsCount).fill(0)
      const together = random.next() < 0.5
      for (let look = 0; look < looksMax; look++) {
        const seen = [...holders]
        if (together) lookTogether()
        else lookInTurn(random)
        for (const [id, holder] of holders.entries()) {
          if (holder !== null && holder !== seen[id]) {
            moves[id]! += 1
            if (schedulers.has(before[id] ?? ''))
              assert.notEqual(holder, before[id], 'no one takes back what it gave')
          }
        }
      }
      assertEqualShares(counts())
      const moved = holders.filter((holder, id) => schedulers.has(before[id] ?? '') && holder !== before[id])
      assert.equal(moved.length, needed, `moved of those that stayed, step ${i}`)
      assert(Math.max(...moves) <= 1, `a partition moved ${Math.max(...moves)} times, step ${i}`)
      assert(Math.max(...counts()) <= Math.ceil(partitionsCount / schedulers.size))
    }
  })
}

test('a scheduler that does not see itself among the living takes and releases nothing', () => {
  const holders: Holders = new Array(partitionsCount).fill(null)
  holders[0] = 'a'
  assert.deepEqual(planShare('a', { schedulers: ['b'], holders }), { take: [], release: [] })
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { SeededRandom } from '../../test/virtual-world.ts'
import { partitionsCount } from './job.ts'
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

test('one that joins gets its share, and nothing moves between the others but for the remainder', () => {
  const random = new SeededRandom(3)
  const { holders, schedulers, lookInTurn, counts } = createShares()
  for (let n = 1; n <= 12; n++) {
    const joining = `scheduler ${Math.floor(random.next() * 1e9)}`
    const before = [...holders]
    schedulers.add(joining)
    for (let look = 0; look < 4; look++) lookInTurn(random)
    assertEqualShares(counts())
    const elsewhere = holders.filter((holder, id) => holder !== before[id] && holder !== joining).length
    assert(before.includes(null) || elsewhere < n, `${elsewhere} moved between ${n - 1} others`)
  }
})

test('when one leaves, only what it held moves, but for the remainder', () => {
  const random = new SeededRandom(4)
  const { holders, schedulers, lookInTurn, leave, counts } = createShares()
  for (let i = 0; i < 8; i++) schedulers.add(`scheduler ${i}`)
  for (let look = 0; look < 4; look++) lookInTurn(random)
  for (const leaving of ['scheduler 3', 'scheduler 0', 'scheduler 7', 'scheduler 5']) {
    const before = [...holders]
    leave(leaving)
    for (let look = 0; look < 4; look++) lookInTurn(random)
    assertEqualShares(counts())
    const moved = holders.filter((holder, id) => holder !== before[id] && before[id] !== leaving).length
    assert(moved < schedulers.size, `${moved} moved between ${schedulers.size}`)
  }
})

test('whoever does not know itself among the living takes and releases nothing', () => {
  const holders: Holders = new Array(partitionsCount).fill(null)
  holders[0] = 'a'
  assert.deepEqual(planShare('a', { schedulers: ['b'], holders }), { take: [], release: [] })
})

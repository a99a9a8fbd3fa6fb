import assert from 'node:assert/strict'
import test from 'node:test'
import { directMaxOf, heldCountMax, shareOf, unspreadMax, waitingCountMax } from './spread.ts'

const { POSITIVE_INFINITY: unbounded } = Number

test('a worker without peers claims as much as it has room for', () => {
  assert.equal(shareOf(0, { held: [], waiting: 12 }), unbounded)
  assert.equal(shareOf(400, { held: [], waiting: 1 }), unbounded)
  assert.equal(directMaxOf(400, { held: [], waiting: 1 }), unbounded)
})

test('idle workers divide the waiting executions equally', () => {
  assert.equal(shareOf(0, { held: [0, 0], waiting: 12 }), 4)
  assert.equal(shareOf(0, { held: [0], waiting: 9 }), 5)
})

test('a worker that holds its share leaves the rest to the ones that hold less', () => {
  assert.equal(shareOf(4, { held: [0, 0], waiting: 8 }), 0)
  assert.equal(shareOf(0, { held: [4, 0], waiting: 8 }), 4)
  assert.equal(shareOf(3, { held: [4, 4], waiting: 1 }), 1)
})

test('a few executions are not spread', () => {
  assert.equal(shareOf(0, { held: [0, 0], waiting: 1 }), unspreadMax)
  assert.equal(shareOf(unspreadMax - 1, { held: [0, 0], waiting: 1 }), 1)
  assert.equal(shareOf(unspreadMax, { held: [0, 0], waiting: 1 }), 0)
})

test('many waiting executions are claimed as fast as possible', () => {
  assert.equal(shareOf(90, { held: [0, 0], waiting: waitingCountMax }), unbounded)
})

test('workers that hold more than is counted are equal, and less loaded ones go before them', () => {
  assert.equal(shareOf(900, { held: [heldCountMax, heldCountMax], waiting: 1 }), unbounded)
  assert.equal(shareOf(900, { held: [heldCountMax, 20], waiting: 1 }), 0)
  assert.equal(shareOf(20, { held: [heldCountMax, heldCountMax], waiting: 50 }), 337)
})

test('the shares of all workers together cover the waiting executions', () => {
  for (let a = 0; a < 12; a++)
    for (let b = 0; b < 12; b++)
      for (let waiting = 1; waiting < 12; waiting++) {
        const shares = [shareOf(a, { held: [b, 5], waiting }), shareOf(b, { held: [a, 5], waiting })]
        shares.push(shareOf(5, { held: [a, b], waiting }))
        assert(
          shares.reduce((sum, share) => sum + share, 0) >= waiting,
          `${a}, ${b}, 5 held, ${waiting} waiting`,
        )
      }
})

test('twelve executions that come one by one are divided equally among three workers', () => {
  const held = [0, 0, 0]
  const others = (index: number) => held.filter((_, at) => at !== index)
  for (let waiting = 1, sent = 1; sent <= 12; sent++, waiting = 1) {
    // The first worker hears of each execution before the others do.
    for (let index = 0; waiting > 0; index++) {
      const share = shareOf(held[index]!, { held: others(index), waiting })
      if (share === 0) continue
      held[index]! += 1
      waiting -= 1
    }
  }
  assert.deepEqual(held, [4, 4, 4])
})

test('claims on insert go a little beyond the mean', () => {
  assert.equal(directMaxOf(0, { held: [0, 0], waiting: 0 }), unspreadMax)
  assert.equal(directMaxOf(4, { held: [4, 4], waiting: 0 }), 5)
  assert.equal(directMaxOf(40, { held: [40, 40], waiting: 0 }), 45)
  assert.equal(directMaxOf(60, { held: [0, 0], waiting: 0 }), 23)
})

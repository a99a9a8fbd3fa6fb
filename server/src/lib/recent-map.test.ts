import assert from 'node:assert/strict'
import test from 'node:test'
import { RecentMap } from './recent-map.ts'

const create = () => new RecentMap<number>({ weigh: (value) => value, weightMax: 40 })

test('used entries stay, entries unused for two halves go', () => {
  const map = create()
  for (const key of ['a', 'b', 'c']) map.set(key, 10)
  map.prune() // 30 of a half of 20: they are the older ones now
  assert.deepEqual(
    ['a', 'b', 'c'].map((key) => map.has(key)),
    [true, true, true],
  )
  assert.equal(map.get('a'), 10)
  for (const key of ['d', 'e']) map.set(key, 10)
  map.prune()
  assert.deepEqual(
    ['a', 'b', 'c', 'd', 'e'].map((key) => map.get(key)),
    [10, undefined, undefined, 10, 10],
  )
})

test('nothing goes while a half is not full, and the weight is that of both', () => {
  const map = create()
  map.set('a', 5)
  map.set('a', 15)
  map.prune()
  map.prune()
  assert.deepEqual([map.get('a'), map.weight], [15, 15])
  map.set('b', 10)
  map.prune()
  map.set('c', 1)
  assert.deepEqual([map.has('a'), map.weight], [true, 26])
})

test('without weights the number of values is bounded, and a value that is used stays', () => {
  const map = new RecentMap<number>({ weightMax: 20 })
  map.set('kept', -1)
  for (let i = 0; i < 1_000; i++) {
    map.set(`${i}`, i)
    map.prune()
    assert.equal(map.get('kept'), -1)
    assert(map.weight <= 22, `${map.weight}`)
  }
  assert.equal(map.get('0'), undefined)
  assert.equal(map.get('999'), 999)
})

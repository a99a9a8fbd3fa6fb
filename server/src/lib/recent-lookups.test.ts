import assert from 'node:assert/strict'
import test from 'node:test'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { RecentLookups } from './recent-lookups.ts'

function setup(entriesMax = 100) {
  const world = createVirtualWorld()
  const recent = new RecentLookups<string>(world.clock, {
    ageMsMax: 5_000,
    absentAgeMsMax: 1_000,
    entriesMax,
  })
  const asked: string[] = []
  /** The rows of the table; absent: null. */
  const table = new Map<string, string>()
  const get = (key: string) =>
    recent.get(key, async () => {
      asked.push(key)
      return table.get(key) ?? null
    })
  return { world, recent, table, asked, get }
}

test('an answer is asked for once, and again when it is 5 s old', async () => {
  const { world, table, asked, get } = setup()
  table.set('a', 'one')
  assert.equal(await get('a'), 'one')
  table.set('a', 'two')
  await world.advance(4_999)
  assert.equal(await get('a'), 'one')
  await world.advance(1)
  assert.equal(await get('a'), 'two')
  assert.deepEqual(asked, ['a', 'a'])
})

test('a miss is remembered for its own time', async () => {
  const { world, table, asked, get } = setup()
  assert.equal(await get('a'), null)
  table.set('a', 'one')
  await world.advance(999)
  assert.equal(await get('a'), null)
  await world.advance(1)
  assert.equal(await get('a'), 'one')
  assert.equal(asked.length, 2)
})

test('many that ask for the same at once ask once', async () => {
  const { table, asked, get } = setup()
  table.set('a', 'one')
  assert.deepEqual(await Promise.all([get('a'), get('a'), get('a')]), ['one', 'one', 'one'])
  assert.deepEqual(asked, ['a'])
})

test('no more is remembered than allowed, the oldest goes first, and no miss evicts a found value', async () => {
  const { recent, table, asked, get } = setup(3)
  for (const key of ['a', 'b', 'c', 'd']) table.set(key, key)
  for (const key of ['a', 'b', 'c', 'd', 'x', 'y', 'z', 'w']) await get(key)
  assert.equal(recent.size, 6)
  asked.length = 0
  for (const key of ['b', 'c', 'd', 'y', 'z', 'w']) await get(key)
  assert.deepEqual(asked, [])
  await get('a')
  assert.deepEqual(asked, ['a'])
})

test('changed values are forgotten, and the rest are not', async () => {
  const { recent, table, asked, get } = setup()
  for (const key of ['a', 'b']) table.set(key, key)
  for (const key of ['a', 'b']) await get(key)
  recent.forget((value) => value === 'a')
  for (const key of ['a', 'b']) await get(key)
  assert.deepEqual(asked, ['a', 'b', 'a'])
})

test('an answer that was read before a change is not remembered after it', async () => {
  const { recent } = setup()
  const reading = Promise.withResolvers<string>()
  const before = recent.get('a', () => reading.promise)
  recent.forget(() => true)
  const after = recent.get('a', async () => 'new')
  reading.resolve('old')
  assert.deepEqual(await Promise.all([before, after]), ['old', 'new'])
  assert.equal(await recent.get('a', () => assert.fail('must be remembered')), 'new')
})

test('a lookup that fails is not remembered', async () => {
  const { recent, get, table } = setup()
  table.set('a', 'one')
  await assert.rejects(
    recent.get('a', async () => Promise.reject(new Error('away'))),
    /away/,
  )
  assert.equal(await get('a'), 'one')
})

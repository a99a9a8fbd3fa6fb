import assert from 'node:assert/strict'
import test from 'node:test'
import { setImmediate as settle } from 'node:timers/promises'
import { Unavailable } from '../../lib/unavailable.ts'
import { TenantTurns } from './tenant-turns.ts'

/**
 * Calls that take a place write their name into `served`; a name with a capital is of an operator. `expire` is the end of
 * every wait.
 */
function setup({ isShared = true, waitingMax = 100, operatorPlaces = 0 } = {}) {
  const waits = new Set<() => void>()
  const turns = new TenantTurns({
    placesMax: 4,
    operatorPlaces,
    shareMax: 2,
    waitingMax,
    waitMsMax: 5_000,
    of: 'the database',
    isShared: () => isShared,
    schedule: (_ms, callback) => {
      waits.add(callback)
      return { cancel: () => void waits.delete(callback) }
    },
  })
  const holderOf = (name: string) => ({ tenantId: name[0]!.toLowerCase(), operator: /^[A-Z]/.test(name) })
  const served: string[] = []
  const take = async (name: string) => {
    const leave = await turns.take(holderOf(name))
    served.push(name)
    return leave
  }
  const expire = () => {
    for (const callback of waits) callback()
  }
  return { take, served, expire, waits }
}

test('a tenant has at most its share of the places while another exists', async () => {
  const { take, served } = setup()
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'b3']) void take(name)
  await settle()
  assert.deepEqual(served, ['a1', 'a2', 'b1', 'b2'])
})

test('the only tenant has all places', async () => {
  const { take, served } = setup({ isShared: false })
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) void take(name)
  await settle()
  assert.deepEqual(served, ['a1', 'a2', 'a3', 'a4'])
})

test('a free place goes to the waiting tenant that holds the fewest, however long the queue of another is', async () => {
  const { take, served } = setup()
  const first = await Promise.all(['a1', 'a2', 'b1', 'b2'].map(take))
  for (const name of ['a3', 'a4', 'a5', 'b3', 'c1', 'c2']) void take(name)
  await settle()
  served.length = 0
  first[0]!()
  await settle()
  assert.deepEqual(served, ['c1'])
  first[1]!()
  await settle()
  assert.deepEqual(served, ['c1', 'a3'])
})

test('tenants that hold as many places take turns', async () => {
  const { take, served } = setup()
  const leaves = await Promise.all(['a1', 'a2', 'b1', 'b2'].map(take))
  const waiting = ['c1', 'c2', 'd1', 'd2'].map(take)
  leaves[0]!()
  leaves[1]!()
  ;(await waiting[0]!)()
  ;(await waiting[2]!)()
  await settle()
  assert.deepEqual(served.slice(4), ['c1', 'd1', 'c2', 'd2'])
})

test('a wait that is over is refused, and takes no place afterwards', async () => {
  const { take, expire, waits } = setup()
  const [leave] = await Promise.all([take('a1'), take('a2')])
  const refused = assert.rejects(take('a3'), Unavailable)
  expire()
  await refused
  assert.equal(waits.size, 0)
  leave!()
  const leaves = await Promise.all([take('a4'), take('b1'), take('b2')])
  assert.equal(leaves.length, 3)
})

test('more than the bound do not wait, and one tenant takes no more than a quarter of it', async () => {
  const { take } = setup({ waitingMax: 8 })
  await Promise.all([take('a1'), take('a2')])
  const waiting = [take('a'), take('a')]
  await assert.rejects(take('a'), Unavailable)
  await Promise.all([take('b1'), take('b2')])
  void waiting
  void take('b')
  await assert.rejects(async () => {
    for (const name of ['b', 'c', 'c', 'd', 'd']) void take(name)
    await take('e')
  }, Unavailable)
})

test('a place is kept for operators, and they have all of them whichever tenants wait', async () => {
  for (const isShared of [true, false]) {
    const { take, served } = setup({ operatorPlaces: 1, isShared })
    for (const name of ['a1', 'b1', 'c1', 'd1']) void take(name)
    await settle()
    assert.deepEqual(served, ['a1', 'b1', 'c1'])
    void take('A1')
    await settle()
    assert.deepEqual(served, ['a1', 'b1', 'c1', 'A1'])
  }
  const { take, served } = setup({ operatorPlaces: 1 })
  const leaves = await Promise.all(['A1', 'A2', 'A3', 'A4'].map(take))
  for (const name of ['A5', 'b1']) void take(name)
  leaves[0]!()
  leaves[1]!()
  await settle()
  assert.deepEqual(served.slice(4), ['b1', 'A5'])
})

test('an operator uses up no share of the tenant that it acts for', async () => {
  const { take, served } = setup({ operatorPlaces: 1 })
  for (const name of ['A1', 'A2', 'a1', 'a2', 'b1']) void take(name)
  await settle()
  assert.deepEqual(served, ['A1', 'A2', 'a1', 'a2'])
})

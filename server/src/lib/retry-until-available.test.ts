import assert from 'node:assert/strict'
import test from 'node:test'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { retryUntilAvailable } from './retry-until-available.ts'
import { Unavailable } from './unavailable.ts'

test('a dependency that does not answer is asked again until it does', async () => {
  const world = createVirtualWorld()
  let asked = 0
  const answer = retryUntilAvailable(world, async () => {
    asked += 1
    if (asked < 4) throw new Unavailable('the database')
    return 'here'
  })
  await world.advance(2_000)
  assert.equal(await answer, 'here')
  assert.equal(asked, 4)
})

test('a dependency that never answers is not asked for ever', async () => {
  const world = createVirtualWorld()
  const answer = assert.rejects(
    retryUntilAvailable(world, async () => {
      throw new Unavailable('the database')
    }),
    Unavailable,
  )
  await world.advance(31_000)
  await answer
})

test('any other error is no reason to ask again', async () => {
  let asked = 0
  const ask = async () => {
    asked += 1
    throw new TypeError('a bug')
  }
  await assert.rejects(retryUntilAvailable(createVirtualWorld(), ask), TypeError)
  assert.equal(asked, 1)
})

// Noisy-neighbour isolation: slots of small tenants are fired alone, before the fires of a herd.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setImmediate as settle } from 'node:timers/promises'
import { setup } from '../../test/fire-scene.ts'

const quietTenant = '01980000-0000-7000-8000-00000000cafe'

/** A herd of 600 and three jobs of another tenant, all due now; the fire of the three is held. */
async function setupHerd() {
  const parts = await setup()
  const { createJob, at, load, fire, fireOnceBy, asked } = parts
  for (let i = 0; i < 600; i++) await createJob({ slotAt: at(600) })
  for (let i = 0; i < 3; i++) await createJob({ tenantId: quietTenant, slotAt: at(600) })
  await load()
  const gate = Promise.withResolvers<void>()
  fireOnceBy(async (real, items) => {
    await gate.promise
    return real(items)
  })
  const few = fire()
  // The first fire of a tenant looks up its limits.
  await settle()
  assert.equal(asked[0]!.length, 3, 'they come first')
  return { ...parts, few, ...gate }
}

test('a herd waits while slots of small tenants are being fired', async () => {
  const { fire, asked, shared, few, resolve } = await setupHerd()
  assert.equal(await fire(), 2)
  assert.equal(asked.length, 1)
  resolve()
  assert.equal(await few, 'more')
  assert.equal(await fire(), 'more')
  assert.equal(asked[1]!.length, 500)
  while ((await fire()) === 'more');
  assert.equal(asked[2]!.length, 100)
  assert.deepEqual(shared, [true, true, false], 'a herd is in its own lane but for its first 50')
})

test('a herd does not wait for long', async () => {
  const { fire, asked, few, resolve, world } = await setupHerd()
  await world.advance(50)
  assert.equal(await fire(), 'more')
  assert.equal(asked[1]!.length, 500)
  resolve()
  await few
})

test('a herd does not wait when the fire of small tenants has failed', async () => {
  const { fire, asked, few, reject } = await setupHerd()
  reject(new Error('the answer was lost'))
  await assert.rejects(few, /was lost/)
  await fire()
  assert.equal(asked.length, 2)
})

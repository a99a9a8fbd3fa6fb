import assert from 'node:assert/strict'
import test from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type PlacesOptions, QuestionPlaces } from './question-places.ts'

function setup(options: Partial<PlacesOptions>) {
  const clock = { nowMs: 0 }
  const places = new QuestionPlaces(() => clock.nowMs, {
    ...{ placesMax: 10, placesOfTenantMax: 3, waitingOfTenantMax: 100, waitingMax: 1_000, waitMsMax: 10_000 },
    ...options,
  })
  const started: string[] = []
  const refused: string[] = []
  const ends = new Map<string, () => void>()
  const enter = (tenantId: string, name: string) =>
    places.enter(tenantId, {
      start: () => {
        started.push(name)
        return new Promise<void>((resolve) => ends.set(name, resolve))
      },
      refuse: () => refused.push(name),
    })
  const end = async (name: string) => {
    ends.get(name)!()
    await nextTurn()
  }
  return { enter, end, started, refused, clock }
}

test('a tenant has a bounded number of questions under way; the next starts as one ends', async () => {
  const { enter, end, started } = setup({})
  for (let n = 0; n < 5; n++) enter('a', `a${n}`)
  enter('b', 'b0')
  assert.deepEqual(started, ['a0', 'a1', 'a2', 'b0'])
  await end('a1')
  assert.deepEqual(started.slice(4), ['a3'])
})

test('the last tenth of all places goes to tenants that have none', async () => {
  const { enter, end, started } = setup({})
  for (const tenant of ['a', 'b', 'c', 'd']) for (let n = 0; n < 3; n++) enter(tenant, `${tenant}${n}`)
  // Three tenants with three each; the fourth has the last place, and waits for two.
  assert.equal(started.length, 10)
  enter('e', 'e0')
  assert.equal(started.length, 10)
  await end('a0')
  assert.equal(started.at(-1), 'e0')
})

test('questions that wait start in turn among tenants', async () => {
  const { enter, end, started } = setup({ placesMax: 1 })
  enter('x', 'x')
  for (let n = 0; n < 3; n++) enter('a', `a${n}`)
  for (const tenant of ['b', 'c']) enter(tenant, `${tenant}0`)
  for (const name of ['x', 'a0', 'b0', 'c0', 'a1', 'a2']) await end(name)
  assert.deepEqual(started, ['x', 'a0', 'b0', 'c0', 'a1', 'a2'])
})

test('a question is refused when too many wait, for one tenant or in all', () => {
  const { enter, refused } = setup({ placesOfTenantMax: 1, waitingOfTenantMax: 2, waitingMax: 3 })
  for (let n = 0; n < 4; n++) enter('a', `a${n}`)
  assert.deepEqual(refused, ['a3'])
  for (let n = 0; n < 3; n++) enter('b', `b${n}`)
  assert.deepEqual(refused, ['a3', 'b2'])
})

test('a question that has waited too long is refused instead of started', async () => {
  const { enter, end, started, refused, clock } = setup({ placesOfTenantMax: 1 })
  enter('a', 'a0')
  enter('a', 'a1')
  clock.nowMs = 9_000
  enter('a', 'a2')
  clock.nowMs = 10_000
  await end('a0')
  assert.deepEqual([started, refused], [['a0', 'a2'], ['a1']])
})

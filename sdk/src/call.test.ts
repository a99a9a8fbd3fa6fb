// Which calls are repeated and which are not: a repeat must never do a thing twice.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { type Answer, problem, startScriptedApi } from '../test/scripted-api.ts'
import { createClient, createClientOver } from './client.ts'

/** Answers with these, one after the other, and then well. */
async function setup(t: TestContext, ...answers: (Answer | 'break')[]) {
  const api = await startScriptedApi(t, () => answers.shift() ?? { body: { done: true } })
  return { api, client: createClient({ url: api.url, key: 'k' }) }
}

const keysOf = (asked: readonly { headers: Record<string, unknown> }[]) =>
  asked.map(({ headers }) => headers['idempotency-key'])

test('a trigger is repeated with the same key when its answer is lost', async (t) => {
  const { api, client } = await setup(
    t,
    'break',
    problem(503, 'UNAVAILABLE'),
    problem(409, 'IDEMPOTENCY_KEY_IN_USE'),
  )
  assert.deepEqual(await client.jobs.trigger('1'), { done: true } as unknown)
  const keys = keysOf(api.asked)
  assert.equal(keys.length, 4)
  assert.equal(new Set(keys).size, 1)
  await client.jobs.trigger('1')
  assert.notEqual(keysOf(api.asked)[4], keys[0], 'each call has a key of its own')
})

test('a given idempotency key is the one that is sent', async (t) => {
  const { api, client } = await setup(t, 'break')
  await client.jobs.trigger('1', {}, { idempotencyKey: 'mine' })
  assert.deepEqual(keysOf(api.asked), ['mine', 'mine'])
})

test('a call that must not act twice is not repeated when its answer is lost', async (t) => {
  const { api, client } = await setup(t, 'break', 'break', 'break', problem(503, 'UNAVAILABLE'))
  await assert.rejects(client.jobs.patch('1', {}, { ifMatch: 3 }), { name: 'ConnectionError' })
  await assert.rejects(client.apiKeys.create({ name: 'a', scopes: ['read'] }), { name: 'ConnectionError' })
  await assert.rejects(client.deadLetters.discard('1'), { name: 'ConnectionError' })
  await assert.rejects(client.deadLetters.discard('1'), { code: 'UNAVAILABLE' })
  assert.equal(api.asked.length, 4)
})

test('a call that was refused before it did anything is repeated, even one that must not act twice', async (t) => {
  const { api, client } = await setup(t, { ...problem(429, 'RATE_LIMITED'), headers: { 'retry-after': '0' } })
  await client.deadLetters.discard('1')
  assert.equal(api.asked.length, 2)
})

test('while nobody listens even that is asked again, since nobody can have heard it', async () => {
  let tries = 0
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  const client = createClientOver({ url: 'http://127.0.0.1:1', key: 'k', retries: 2 }, async () => {
    tries++
    // As fetch wraps it; a name with two addresses has an error for each.
    throw new TypeError('fetch failed', { cause: new AggregateError([refused, refused]) })
  })
  await assert.rejects(client.deadLetters.discard('1'), { name: 'ConnectionError' })
  assert.equal(tries, 3)
})

test('it gives up after so many tries, and at once when the server asks for more time than the call has', async (t) => {
  const { api, client } = await setup(t, ...Array.from({ length: 9 }, () => problem(503, 'UNAVAILABLE')))
  const twice = createClient({ url: api.url, key: 'k', retries: 1 })
  await assert.rejects(twice.workers.list(), { status: 503 })
  assert.equal(api.asked.length, 2)
  api.answerWith(() => ({ ...problem(429, 'RATE_LIMITED'), headers: { 'retry-after': '3600' } }))
  await assert.rejects(client.workers.list(), { retryAfterMs: 3_600_000 })
  assert.equal(api.asked.length, 3)
})

test('a refusal of the content is final', async (t) => {
  const { api, client } = await setup(t, problem(422, 'TIER_LIMIT'))
  await assert.rejects(client.jobs.trigger('1'), { code: 'TIER_LIMIT' })
  assert.equal(api.asked.length, 1)
})

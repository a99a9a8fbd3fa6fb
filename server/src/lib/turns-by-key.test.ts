import assert from 'node:assert/strict'
import test from 'node:test'
import { TurnsByKey } from './turns-by-key.ts'

test('work of one key runs in turn, also behind work that failed, and another key does not wait', async () => {
  const turns = new TurnsByKey()
  const said: string[] = []
  const gate = Promise.withResolvers<void>()
  const first = turns.run('a', async () => {
    await gate.promise
    said.push('first')
    throw new Error('first failed')
  })
  const second = turns.run('a', async () => said.push('second'))
  await turns.run('b', async () => said.push('other'))
  assert.deepEqual(said, ['other'])
  gate.resolve()
  await assert.rejects(first, /first failed/)
  await second
  assert.deepEqual(said, ['other', 'first', 'second'])
  assert.equal(turns.size, 0)
})

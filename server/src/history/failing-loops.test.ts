import assert from 'node:assert/strict'
import test from 'node:test'
import { FailingLoops } from './failing-loops.ts'

const { signal } = new AbortController()

test('a loop is named once it failed three times in a row, and no more after a step that succeeded', async () => {
  const loops = new FailingLoops()
  let isBroken = true
  const step = loops.watch('fold statistics', async () => {
    if (isBroken) throw new Error('relation "stats" does not exist')
    return 'idle'
  })
  const other = loops.watch('prune history', async () => 'more')
  const seen: string[] = []
  for (let i = 0; i < 3; i += 1) {
    await assert.rejects(async () => step(signal), /does not exist/, 'the loop still learns of it')
    assert.equal(await other(signal), 'more')
    seen.push(loops.check())
  }
  assert.deepEqual(seen, ['ok', 'ok', 'failing: fold statistics: relation "stats" does not exist'])
  isBroken = false
  await step(signal)
  assert.equal(loops.check(), 'ok')
})

import assert from 'node:assert/strict'
import test from 'node:test'
import { madeAtOf, UuidV7 } from './id.ts'
import { realRandom } from './random.ts'
import { epochMs } from './time/epoch.ts'

function setup(startMs: number) {
  const now = { ms: startMs }
  return { now, ids: new UuidV7(() => epochMs(now.ms), realRandom) }
}

test('an id is a UUIDv7 that carries its millisecond', () => {
  const { ids } = setup(0x0192_abcd_ef01)
  const id = ids.next()
  assert.match(id, /^0192abcd-ef01-7000-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.equal(madeAtOf(id), 0x0192_abcd_ef01)
})

test('ids sort in the order they were made, through a full millisecond and a clock that steps back', () => {
  const { now, ids } = setup(1_000_000)
  const made: string[] = []
  for (let i = 0; i < 10_000; i++) made.push(ids.next())
  now.ms -= 5_000
  for (let i = 0; i < 10; i++) made.push(ids.next())
  now.ms += 60_000
  made.push(ids.next())
  assert.deepEqual(made, made.toSorted())
  assert.equal(new Set(made).size, made.length)
})

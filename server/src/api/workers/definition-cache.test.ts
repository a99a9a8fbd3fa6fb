import assert from 'node:assert/strict'
import test from 'node:test'
import { job } from '../../../test/why-job.ts'
import type { DefinitionKey } from '../../ports/queue.ts'
import { DefinitionCache } from './definition-cache.ts'

function setup(bytesMax?: number) {
  const asked: DefinitionKey[][] = []
  const queue = {
    definitions: async (keys: readonly DefinitionKey[]) => {
      asked.push([...keys])
      return keys.filter(({ jobId }) => jobId !== 'gone').map((key) => ({ ...job, ...key }))
    },
  }
  return { asked, known: new DefinitionCache(queue, bytesMax === undefined ? {} : { bytesMax }) }
}

test('each version is fetched once, and missing versions are fetched together', async () => {
  const { asked, known } = setup()
  const keys = [
    { jobId: 'a', version: 1 },
    { jobId: 'a', version: 2 },
    { jobId: 'a', version: 1 },
  ]
  const find = await known.load(keys)
  assert.equal(find({ jobId: 'a', version: 2 })!.version, 2)
  const again = await known.load([...keys, { jobId: 'gone', version: 1 }])
  assert.equal(again({ jobId: 'a', version: 1 })!.version, 1)
  assert.equal(again({ jobId: 'gone', version: 1 }), undefined)
  assert.deepEqual(asked, [keys.slice(0, 2), [{ jobId: 'gone', version: 1 }]])
})

test('memory is bounded, and the least recently used version goes first; all requested versions are known all the same', async () => {
  const bytes = JSON.stringify({ ...job, jobId: '0', version: 1 }).length
  const { asked, known } = setup(2 * bytes)
  const load = (...ids: string[]) => known.load(ids.map((jobId) => ({ jobId, version: 1 })))
  await load('0', '1')
  await load('0')
  await load('2')
  asked.length = 0
  await load('0')
  assert.deepEqual(asked, [])
  const find = await load('1', '2', '3', '4')
  for (const jobId of ['1', '2', '3', '4']) assert.equal(find({ jobId, version: 1 })!.jobId, jobId)
  assert(known.bytes <= 2 * bytes)
})

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Definition, DefinitionKey } from '../ports/queue.ts'
import { Definitions } from './definitions.ts'

/** A store that has every version of every job, with a payload of this many characters. */
function setup(payloadLength = 10) {
  const asked: DefinitionKey[][] = []
  const queue = {
    async definitions(keys: readonly DefinitionKey[]): Promise<Definition[]> {
      asked.push([...keys])
      return keys.map(({ jobId, version }) => ({
        ...{ jobId, version, tenantId: 'tenant', name: jobId, priority: 5, jitterSeconds: 0 },
        execution: {
          type: 'http',
          callback_url: `https://example.com/${jobId}/${version}`,
          method: 'POST',
          headers: {},
          payload: 'x'.repeat(payloadLength),
          timeout_seconds: 30,
        },
        retryPolicy: { max_retries: 3, backoff: 'FIXED', initial_delay_ms: 1_000, max_delay_ms: 60_000 },
      }))
    },
  }
  return { asked, definitions: new Definitions(queue, '1.2.3') }
}

const key = (jobId: string, version = 1): DefinitionKey => ({ jobId, version })

test('missing definitions are fetched in one query, each once', async () => {
  const { asked, definitions } = setup()
  await definitions.load([key('a'), key('b'), key('a'), key('a', 2)])
  assert.deepEqual(asked, [[key('a'), key('b'), key('a', 2)]])
  const urls = [definitions.get('a', 1), definitions.get('a', 2)].map(
    (prepared) => prepared?.executor === 'http' && prepared.url,
  )
  assert.deepEqual(urls, ['https://example.com/a/1', 'https://example.com/a/2'])
})

test('known definitions are not fetched again', async () => {
  const { asked, definitions } = setup()
  await definitions.load([key('a')])
  await definitions.load([key('a')])
  await definitions.load([key('a'), key('b')])
  assert.deepEqual(asked, [[key('a')], [key('b')]])
  await definitions.load([])
  assert.equal(asked.length, 2)
})

test('a definition that was not loaded is undefined', () => {
  assert.equal(setup().definitions.get('a', 1), undefined)
})

test('beyond 64 MB the least recently used definitions are dropped', async () => {
  // Each definition counts about 10 MB.
  const { asked, definitions } = setup(5_000_000)
  const all = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  for (const jobId of all) await definitions.load([key(jobId)])
  assert(definitions.get('a', 1) !== undefined, 'nothing goes before it was used')
  definitions.prune()
  const used = all.filter((jobId) => jobId !== 'b' && definitions.get(jobId, 1) !== undefined)
  assert.equal(used.length, 6, 'nor when it was just loaded')
  definitions.prune()
  definitions.prune()
  assert.deepEqual(
    all.filter((jobId) => definitions.get(jobId, 1) !== undefined),
    used,
  )
  await definitions.load([key('b')])
  assert.deepEqual(asked.at(-1), [key('b')])
})

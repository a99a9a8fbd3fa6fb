import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import test from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { cleanUp } from '../../../test/cleanup.ts'
import { EventStream } from './event-stream.ts'

test('a client that does not read is cut off, and little is buffered for it', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  cleanUp(t, () => server.close())
  const client = get({ port, host: '127.0.0.1' })
  client.on('error', () => {})
  client.on('response', (answer) => answer.pause())
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
  let ends = 0
  const stream = new EventStream({ response, monotonicMs: () => 0, onEnd: () => void ends++ })
  const piece = 'x'.repeat(64 * 1024)
  let most = 0
  for (let n = 0; n < 1_000 && !stream.ended; n++) {
    stream.write(piece)
    most = Math.max(most, response.writableLength)
    await setImmediate()
  }
  assert(stream.ended)
  assert(most < 1024 * 1024, `${most}`)
  client.destroy()
  while (ends === 0) await setImmediate()
  assert.equal(ends, 1)
})

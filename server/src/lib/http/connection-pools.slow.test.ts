// 10,000 tenants that call one origin, at the bound on idle connections that a server sets itself.
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../../test/cleanup.ts'
import { readOpenFilesMax } from '../open-files.ts'
import { realTimers } from '../time/timers.ts'
import { HttpClient } from './client.ts'

const tenants = 10_000
const callsAtOnce = 50
/** As in wiring/server.ts. */
const idleConnectionsMax = Math.min(Math.floor(readOpenFilesMax() / 4), 10_000)

/** A target in this process: its connections take as many descriptors again. */
async function setup(t: TestContext) {
  const open = new Set<Socket>()
  const closed = new EventEmitter()
  let opened = 0
  const server = createServer((socket) => {
    opened += 1
    open.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      closed.emit('closed')
    })
    socket.on('error', () => {})
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp(t, () => server.close())
  cleanUp(t, () => {
    for (const socket of open) socket.destroy()
  })
  const client = new HttpClient(realTimers, () => performance.now(), { idleMs: 300_000, idleConnectionsMax })
  cleanUp(t, () => client[Symbol.asyncDispose]())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const call = async (n: number) => {
    const request = { tenantId: `tenant ${n}`, method: 'GET' as const, url, headers: {} }
    const limits = { timeoutMs: 20_000, responseBytesMax: 100_000, previewBytesMax: 4_096 }
    const outcome = await client.send({ ...request, ...limits })
    assert.equal(outcome.kind, 'answered', JSON.stringify(outcome))
  }
  /** Calls of these tenants, in order and several at once. Returns the calls a second. */
  const callAll = async (from: number, to: number) => {
    const startedMs = performance.now()
    for (let n = from; n < to; n += callsAtOnce) {
      await Promise.all(Array.from({ length: Math.min(callsAtOnce, to - n) }, (_, i) => call(n + i)))
      // The target hears of a closed connection later.
      while (open.size > idleConnectionsMax) await once(closed, 'closed')
    }
    return Math.round(((to - from) / (performance.now() - startedMs)) * 1_000)
  }
  return { callAll, open, opened: () => opened }
}

test('10,000 tenants at one origin keep as many idle connections as a server may have, the latest ones', async (t) => {
  const { callAll, open, opened } = await setup(t)
  const kept = Math.min(tenants, idleConnectionsMax)
  const before = process.memoryUsage().rss
  const connecting = await callAll(0, tenants)
  const bytesPerTenant = Math.round((process.memoryUsage().rss - before) / tenants)
  assert.equal(opened(), tenants)
  assert.equal(open.size, kept)
  const again = await callAll(tenants - kept, tenants)
  assert.equal(opened(), tenants, 'the connections of the tenants that called last are used again')
  t.diagnostic(
    `${kept} idle connections; calls a second: ${connecting} that connect, ${again} that do not; ${bytesPerTenant} bytes a tenant`,
  )
  if (kept === tenants) return
  await callAll(0, 1)
  assert.equal(opened(), tenants + 1, 'the connection of the tenant that called first was closed')
  // It took the place of the tenant that has not called for longest.
  await callAll(tenants - kept + 1, tenants)
  assert.equal(opened(), tenants + 1)
  await callAll(tenants - kept, tenants - kept + 1)
  assert.equal(opened(), tenants + 2)
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import pg from 'pg'
import { cleanUp } from '../cleanup.ts'
import { createDatabase } from '../database.ts'
import { startProxy } from './proxy.ts'

/** PostgreSQL behind a proxy, and a client in front of it. */
async function setup(t: TestContext) {
  const { socketDir, database } = await createDatabase(t, { template: 'empty' })
  const target = { path: join(socketDir, '.s.PGSQL.5432') }
  const proxy = await startProxy({ target })
  cleanUp(t, () => proxy.close())
  const open = async (connectionString?: string) => {
    const client = new pg.Client(
      connectionString === undefined ? { host: socketDir, user: 'postgres', database } : { connectionString },
    )
    client.on('error', () => {})
    await client.connect()
    cleanUp(t, () => Promise.race([client.end(), once(client, 'end')]))
    return client
  }
  const direct = await open()
  await direct.query('CREATE TABLE kept (n int)')
  const count = async () => {
    const { rows } = await direct.query('SELECT count(*)::int AS n FROM kept')
    return rows[0].n as number
  }
  const url = proxy.databaseUrl(database)
  return { proxy, target, open, url, client: await open(url), direct, count }
}

const insert = { name: 'insert', text: 'INSERT INTO kept VALUES ($1)', values: [1] }

test('a cut resets open connections and refuses new ones until it is restored', async (t) => {
  const { proxy, open, url, client } = await setup(t)
  const waiting = assert.rejects(client.query('SELECT pg_sleep(60)'))
  proxy.cut()
  await waiting
  await assert.rejects(open(url))
  proxy.restore()
  assert.deepEqual((await (await open(url)).query('SELECT 1 AS n')).rows, [{ n: 1 }])
})

test('nothing passes a stalled proxy, and all of it when it goes on', async (t) => {
  const { proxy, client, direct, count } = await setup(t)
  proxy.stall()
  const written = client.query(insert)
  await direct.query('SELECT pg_sleep(0.05)')
  assert.equal(await count(), 0)
  proxy.resume()
  await written
  assert.equal(await count(), 1)
})

test('half open, the statement arrives and its reply does not', async (t) => {
  const { proxy, client, direct, count } = await setup(t)
  proxy.halfOpen('to-server')
  let answered = false
  const written = client.query(insert).then(() => {
    answered = true
  })
  for (let looks = 0; (await count()) === 0 && looks < 2_000; looks++)
    await direct.query('SELECT pg_sleep(0.01)')
  assert.equal(await count(), 1)
  assert.equal(answered, false)
  proxy.resume()
  await written
})

test('a slow link passes everything in order', async (t) => {
  const { proxy, client, count } = await setup(t)
  proxy.delay(30)
  const startedMs = performance.now()
  await client.query(insert)
  assert(performance.now() - startedMs >= 60)
  proxy.delay(0)
  await client.query(insert)
  assert.equal(await count(), 2)
})

test('the reply to a single statement that wrote is swallowed, and the write stays', async (t) => {
  const { proxy, open, url, client, count } = await setup(t)
  proxy.swallowCommitReplies({ next: 1 })
  await client.query('SELECT 1')
  await assert.rejects(client.query(insert), /terminated|ECONNRESET/)
  assert.equal(await count(), 1)
  assert.equal(proxy.swallowed, 1)
  const next = await open(url)
  await next.query(insert)
  await next.query(insert)
  assert.equal(await count(), 3)
})

test('of a transaction only the reply to COMMIT is swallowed', async (t) => {
  const { proxy, client, count } = await setup(t)
  // Prepared once, so that only its name travels the second time.
  await client.query(insert)
  proxy.swallowCommitReplies({ next: 1 })
  await client.query('BEGIN')
  await client.query(insert)
  await assert.rejects(client.query('COMMIT'), /terminated|ECONNRESET/)
  assert.equal(await count(), 2)
})

test('a write that failed and a transaction that was rolled back are no unknown outcomes', async (t) => {
  const { proxy, client } = await setup(t)
  proxy.swallowCommitReplies({ next: 1 })
  await assert.rejects(client.query({ ...insert, values: ['no number'] }), /invalid input syntax/)
  await client.query('BEGIN')
  await assert.rejects(client.query('SELECT 1/0'), /division by zero/)
  assert.equal((await client.query('COMMIT')).command, 'ROLLBACK')
  assert.equal(proxy.swallowed, 0)
})

test('a share of all commits loses its reply, the draw says which', async (t) => {
  const { socketDir, database } = await createDatabase(t, { template: 'empty' })
  const draws = [0.9, 0.1]
  const proxy = await startProxy({
    target: { path: join(socketDir, '.s.PGSQL.5432') },
    random: () => draws.shift()!,
  })
  cleanUp(t, () => proxy.close())
  const client = new pg.Client({ connectionString: proxy.databaseUrl(database) })
  client.on('error', () => {})
  await client.connect()
  proxy.swallowCommitReplies({ share: 0.5 })
  await client.query('CREATE TABLE one (n int)')
  await assert.rejects(client.query('CREATE TABLE two (n int)'))
  assert.deepEqual(draws, [])
})

test('redirected, new connections go elsewhere and old ones are reset', async (t) => {
  const { proxy, client, url, open, target } = await setup(t)
  const other = createServer((socket) => socket.on('error', () => {}).end('other'))
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  cleanUp(t, () => new Promise((resolve) => other.close(resolve)))
  const reset = assert.rejects(client.query('SELECT pg_sleep(60)'))
  proxy.redirect({ host: '127.0.0.1', port: (other.address() as AddressInfo).port })
  await reset
  const socket: Socket = connect(proxy.port, proxy.host)
  const [said] = await once(socket, 'data')
  socket.destroy()
  assert.equal(String(said), 'other')
  proxy.redirect(target)
  assert.deepEqual((await (await open(url)).query('SELECT 1 AS n')).rows, [{ n: 1 }])
})

test('traffic other than PostgreSQL passes unchanged and complete in both directions, including the end of each direction', async (t) => {
  const echo = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket))
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve))
  cleanUp(t, () => new Promise((resolve) => echo.close(resolve)))
  const proxy = await startProxy({
    target: { host: '127.0.0.1', port: (echo.address() as AddressInfo).port },
  })
  cleanUp(t, () => proxy.close())
  proxy.swallowCommitReplies({ share: 1 })
  const socket = connect({ port: proxy.port, host: proxy.host, allowHalfOpen: true })
  const sent = Buffer.alloc(5_000_000, 'GET / HTTP/1.1\r\n')
  socket.end(sent)
  const got: Buffer[] = []
  for await (const chunk of socket) got.push(chunk)
  assert(Buffer.concat(got).equals(sent))
  await proxy.close()
  assert.equal(proxy.connections, 0)
})

// The steps of a newcomer: start, look, stop, start again; and a bad day: kill -9.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { createClient } from '@carillon/sdk'
import { realTimers } from '../../src/lib/time/timers.ts'
import { makeDataDir, makeEmptyDataDir } from '../data-dir.ts'
import { createDatabase, POSTGRES_VERSIONS } from '../database.ts'
import { EventReader } from '../event-reader.ts'
import { describeProcess, kill, Program, untilGone } from './program.ts'

async function setup(t: TestContext, make = makeDataDir) {
  const dataDir = await make(t)
  const start = (env: Record<string, string> = {}) => new Program(t, { dataDir, env })
  return { dataDir, start }
}

async function isReady(url: string): Promise<boolean> {
  return (await createClient({ url }).ready()).status === 'ready'
}

test('a server that was just started', async (t) => {
  const { dataDir, start } = await setup(t, makeEmptyDataDir)
  const program = start({ CARILLON_PROCESSES: '1' })
  const url = await program.ready()

  await t.test(
    'has said where the API is, where the data is and which key to use, and it is true',
    async () => {
      assert(await isReady(url))
      const { workers } = await createClient({ url, key: program.key() }).workers.list()
      assert.equal(workers.length, 1)
      assert.match(program.stdout, new RegExp(`Data\\s+${dataDir} \\(embedded PostgreSQL 18\\.`))
      assert.match(program.stdout, new RegExp(`kept in ${join(dataDir, 'api-key')}`))
      assert.equal((await stat(dataDir)).mode & 0o777, 0o700)
    },
  )

  await t.test('logs in the first visitor that opens its link', async () => {
    const [, link, code] = /Open\s+(\S+)\/#code=(\S+) {2}\(one-time link\)/.exec(program.stdout)!
    assert.equal(link, url)
    assert.equal((await fetch(`${url}/`)).status, 200)
    const logIn = () =>
      fetch(`${url}/api/v1/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: url },
        body: JSON.stringify({ code }),
      })
    const opened = await logIn()
    assert.equal(opened.status, 200)
    assert.equal(((await opened.json()) as { operator: boolean }).operator, true)
    const cookie = opened.headers.get('set-cookie')!.split(';')[0]!
    const seen = await fetch(`${url}/api/v1/jobs`, { headers: { cookie, 'x-carillon-client': 'dashboard' } })
    assert.equal(seen.status, 200)
    assert.equal((await logIn()).status, 401)
    for (const secret of [code!, cookie.split('=')[1]!]) assert(!program.stderr.includes(secret))
  })

  await t.test('has metrics with its version, requests by route and workers by state', async () => {
    await fetch(`${url}/livez`)
    const text = await (await fetch(`${url}/metrics`)).text()
    assert.match(text, /carillon_info\{version="\d+\.\d+\.\d+"\} 1/)
    assert.match(text, /carillon_http_request_seconds_count\{[^}]*route="\/livez"[^}]*\} 1/)
    assert.match(text, /carillon_workers\{state="ACTIVE"\} 1/)
  })

  await t.test('is named by a second start, which exits and harms nothing', async () => {
    const second = start()
    assert.equal(await second.exit, 1)
    assert.match(second.stderr, new RegExp(`already runs on .*: process ${program.child.pid} at ${url}\\.`))
    assert(await isReady(url))
  })
})

test('a signal stops everything, and the next start has the same data', async (t) => {
  const { start } = await setup(t)
  let program = start()
  await program.ready()
  const key = program.key()
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    await t.test(signal, async () => {
      const tree = program.tree()
      assert(tree.length > 5)
      program.child.kill(signal)
      assert.equal(await program.exit, 0, program.said())
      assert.match(program.stdout, /Stopped\. Nothing is left running/)
      await untilGone(tree)
      program = start()
      assert(await isReady(await program.ready()))
      assert.equal(program.key(), key)
    })
})

test('one Ctrl-C that arrives twice is one Ctrl-C', async (t) => {
  const { start } = await setup(t)
  const program = start()
  const url = await program.ready()
  const running = fetch(`${url}/echo?delay_ms=700`).then((response) => response.status)
  await fetch(`${url}/livez`)
  program.child.kill('SIGINT')
  await program.says(/Stopping/)
  program.child.kill('SIGINT')
  assert.equal(await running, 200)
  assert.equal(await program.exit, 0, program.said())
})

test('a second Ctrl-C, later, ends everything at once', async (t) => {
  const { start } = await setup(t)
  const program = start()
  const url = await program.ready()
  const tree = program.tree()
  const cut = assert.rejects(fetch(`${url}/echo?delay_ms=30000`))
  await fetch(`${url}/livez`)
  program.child.kill('SIGINT')
  await program.says(/Stopping/)
  await realTimers.wait(1_100) // long enough that the second signal does not count as a repeat of the first
  program.child.kill('SIGINT')
  assert.equal(await program.exit, 130, program.said())
  await cut
  await untilGone(tree)
})

test('after kill -9 of our process alone nothing is left, and the next start works at once', async (t) => {
  const { start } = await setup(t, makeEmptyDataDir)
  const first = start()
  await first.ready()
  const tree = first.tree()
  first.child.kill('SIGKILL')
  const second = start()
  assert(await isReady(await second.ready()))
  await untilGone(tree)
})

test('after kill -9 of the whole tree the next start works at once', async (t) => {
  const { start } = await setup(t)
  const first = start()
  await first.ready()
  const tree = first.tree()
  for (const pid of tree) kill(pid, 'SIGKILL')
  const second = start()
  assert(await isReady(await second.ready()))
  await untilGone(tree)
})

test('a port in use stops the start with advice and leaves nothing running', async (t) => {
  const { start } = await setup(t)
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => other.close())
  const { port } = other.address() as { port: number }
  const program = start({ CARILLON_PORT: String(port) })
  assert.equal(await program.exit, 1)
  assert.match(
    program.stderr,
    new RegExp(`Port ${port} on 127\\.0\\.0\\.1 is in use .* CARILLON_PORT=${port + 1} npm start`),
  )
  assert.deepEqual(program.tree(), [])
})

test('a misspelt variable stops the start by its name', async (t) => {
  const { dataDir, start } = await setup(t, makeEmptyDataDir)
  const program = start({ CARILLON_PROT: '1' })
  assert.equal(await program.exit, 1)
  assert.match(program.stderr, /CARILLON_PROT is not a setting\. Did you mean CARILLON_PORT\?/)
  await assert.rejects(stat(dataDir), { code: 'ENOENT' })
})

test('child processes are announced, get the same flags, work, come back when killed, and end with the first', async (t) => {
  const { start } = await setup(t)
  const program = start({ CARILLON_PROCESSES: '2' })
  const url = await program.ready()
  const client = createClient({ url, key: program.key() })
  const twoActive = async () => {
    while (true) {
      const { workers } = await client.workers.list()
      const active = workers.filter(({ status }) => status === 'ACTIVE')
      if (active.length === 2) return active.map((worker) => worker.worker_id)
      await realTimers.wait(50)
    }
  }
  assert.match(program.stdout, / in 2 processes \(CARILLON_PROCESSES\)/)
  const before = await twoActive()
  const children = program.tree().filter((pid) => isChild(pid))
  assert.equal(children.length, 1)
  for (const pid of [program.child.pid!, ...children])
    assert.match(describeProcess(pid), / --max-semi-space-size=64 /)
  kill(children[0]!, 'SIGKILL')
  // The killed one is still listed for the ten seconds of its lease, so wait for a third id.
  while (true) {
    const { workers } = await client.workers.list()
    if (workers.some((worker) => !before.includes(worker.worker_id))) break
    await realTimers.wait(50)
  }
  const tree = program.tree()
  program.child.kill('SIGKILL')
  await untilGone(tree)
})

function isChild(pid: number): boolean {
  return describeProcess(pid).includes('child-process.ts')
}

for (const version of POSTGRES_VERSIONS) {
  test(`an external PostgreSQL ${version} is migrated and used, and nothing embedded is started`, async (t) => {
    const { dataDir, start } = await setup(t, makeEmptyDataDir)
    const { socketDir, database } = await createDatabase(t, { version, template: 'empty' })
    const databaseUrl = `postgres://carillon@localhost/${database}?host=${encodeURIComponent(socketDir)}`
    const program = start({ CARILLON_DATABASE_URL: databaseUrl, CARILLON_PROCESSES: '1' })
    const url = await program.ready()
    const { workers } = await createClient({ url, key: program.key() }).workers.list()
    assert.equal(workers.length, 1)
    assert.deepEqual(program.tree(), [program.child.pid])
    await assert.rejects(stat(join(dataDir, 'pg')), { code: 'ENOENT' })
    program.child.kill('SIGTERM')
    assert.equal(await program.exit, 0, program.said())
  })
}

test('a request that takes long is given the drain time and no more', async (t) => {
  const { start } = await setup(t)
  const program = start({ CARILLON_DRAIN_SECONDS: '1' })
  const url = await program.ready()
  const quick = fetch(`${url}/echo?delay_ms=500`).then((response) => response.status)
  const slow = assert.rejects(fetch(`${url}/echo?delay_ms=30000`))
  // Both are under way once a third one, sent after them, was answered.
  await fetch(`${url}/livez`)
  program.child.kill('SIGTERM')
  assert.equal(await quick, 200)
  await slow
  assert.equal(await program.exit, 0, program.said())
})

test('a stream of events tells of real executions, and is ended by the stop, not cut off', async (t) => {
  const { start } = await setup(t)
  const program = start({ CARILLON_PROCESSES: '1', CARILLON_DRAIN_SECONDS: '60' })
  const url = await program.ready()
  const client = createClient({ url, key: program.key() })
  const reader = await EventReader.open(t, `${url}/api/v1/events`, {
    authorization: `Bearer ${program.key()}`,
  })
  await reader.data('pulse')
  const { job_id: jobId } = await client.jobs.create({
    name: 'each second',
    schedule: 'PT1S',
    execution: { callback_url: `${url}/echo` },
  })
  assert.equal((await reader.data('jobs')).items[0]!.job_id, jobId)
  const { items } = await reader.data('executions')
  assert(items.every((one) => one.job_name === 'each second'))
  while ((await reader.data('pulse')).succeeded === 0);
  program.child.kill('SIGTERM')
  while ((await reader.next()) !== null);
  assert.equal(await program.exit, 0, program.said())
})

test('a PostgreSQL that hangs does not hold up the stop, and the next start works', async (t) => {
  const { start } = await setup(t)
  const first = start({ CARILLON_DRAIN_SECONDS: '1' })
  await first.ready()
  const tree = first.tree()
  // All but the leash, which names PostgreSQL in its command line too.
  const isPostgres = (pid: number) =>
    /postgres/.test(describeProcess(pid)) && !/leash/.test(describeProcess(pid))
  for (const pid of tree.filter(isPostgres)) kill(pid, 'SIGSTOP')
  first.child.kill('SIGTERM')
  assert.equal(await first.exit, 0, first.said())
  await untilGone(tree)
  assert(await isReady(await start().ready()))
})

import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { after, before, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import { cleanUp } from '../../test/cleanup.ts'
import { copyPostgres, makeTemporaryDir } from '../../test/data-dir.ts'
import { StopRequested } from '../lib/operating-error.ts'
import { realTimers } from '../lib/time/timers.ts'
import { postgresReady } from '../telemetry/events.ts'
import { embeddedPackageName, prepareBinaries } from './binaries.ts'
import { withDataAccess } from './data-directory.ts'
import { EmbeddedPostgres } from './embedded-postgres.ts'
import { AlreadyRunning } from './hold-postgres.ts'
import { isAlive } from './leash.ts'
import { connectOwner } from './owner-lock.ts'
import { findPostmaster } from './postmaster.ts'
import { chooseUser } from './system-user.ts'

const deps = { clock: { monotonicMs: () => performance.now() }, timers: realTimers }
const holder = join(import.meta.dirname, '../../test/embedded-holder.ts')

// An initialised directory to copy: initdb takes a second, a copy a tenth.
let template: string
before(async () => {
  template = await makeTemporaryDir('carillon-embedded-')
  const embedded = await EmbeddedPostgres.open(deps, { dataDir: template })
  await embedded.stop(5_000)
})
after(() => rm(template, { recursive: true }))

async function setup(t: TestContext, options: { empty?: boolean; within?: string } = {}) {
  const parent = await makeTemporaryDir('carillon-embedded-')
  cleanUp(t, () => rm(parent, { recursive: true, maxRetries: 10 }))
  const dataDir = join(parent, options.within ?? 'data')
  const pgDir = join(dataDir, 'pg')
  const children: ChildProcess[] = []
  cleanUp(t, async () => {
    for (const child of children) child.kill('SIGKILL')
    await until(nothingRuns(pgDir), 'PostgreSQL stops after its process')
  })
  if (!options.empty) await copyTemplate(dataDir)
  const open = async () => {
    const embedded = await EmbeddedPostgres.open(deps, { dataDir })
    cleanUp(t, () => embedded.stop(5_000))
    return embedded
  }
  return { dataDir, pgDir, open, hold: () => startHolder(dataDir, children) }
}

async function copyTemplate(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await copyPostgres(template, dataDir)
}

/** Another process that holds the directory; says `ready`, or why it could not. */
async function startHolder(
  dataDir: string,
  children: ChildProcess[],
): Promise<{ child: ChildProcess; said: string }> {
  const child = spawn(process.execPath, [holder, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const [text] = (await once(child.stdout!, 'data')) as [Buffer]
  return { child, said: text.toString().trim() }
}

async function query<R extends object>(embedded: EmbeddedPostgres, text: string): Promise<R[]> {
  const client = new pg.Client({ host: embedded.socketDir, user: 'postgres', database: 'carillon' })
  await client.connect()
  try {
    return (await client.query<R>(text)).rows
  } finally {
    await client.end()
  }
}

async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < 60_000; waitedMs += 20) {
    if (await condition()) return
    await realTimers.wait(20)
  }
  assert.fail(`within a minute: ${what}`)
}

const nothingRuns = (pgDir: string) => async () => (await findPostmaster(pgDir)) === null

test('a first start makes the data, a second one finds it again', async (t) => {
  const { dataDir, pgDir, open } = await setup(t, { empty: true })
  const first = await open()
  await query(first, 'CREATE TABLE kept AS SELECT 42 AS n')
  await first.stop(5_000)
  assert.equal(await findPostmaster(pgDir), null)
  assert.deepEqual((await readdir(dataDir)).toSorted(), ['pg', 'postgres.log'])
  const second = await open()
  assert.deepEqual(await query(second, 'SELECT n FROM kept'), [{ n: 42 }])
  assert.match(second.version, /^18\./)
})

test('no TCP port is opened', async (t) => {
  const { open } = await setup(t)
  assert.deepEqual(await query(await open(), 'SHOW listen_addresses'), [{ listen_addresses: '' }])
})

test('a second start is told which process runs, and harms nothing', async (t) => {
  const { open, hold } = await setup(t)
  const { child, said } = await hold()
  assert.equal(said, 'ready')
  await assert.rejects(open(), (error: unknown) => {
    assert(error instanceof AlreadyRunning)
    assert.deepEqual(error.owner, { pid: child.pid, url: 'http://127.0.0.1:7777' })
    assert.match(
      error.message,
      /already runs on .*: process \d+ at http:\/\/127\.0\.0\.1:7777\. Stop it first/,
    )
    return true
  })
  assert(isAlive(child.pid!))
})

test('of two first starts at the same moment one runs and the other says so', async (t) => {
  const { hold } = await setup(t, { empty: true })
  const said = (await Promise.all([hold(), hold()])).map((one) => one.said).toSorted()
  assert.match(said[0]!, /^Carillon already runs on /)
  assert.equal(said[1], 'ready')
})

test('of two later starts at the same moment one runs and the other says so, every time', async (t) => {
  const { pgDir, hold } = await setup(t)
  for (let i = 0; i < 5; i++) {
    const both = await Promise.all([hold(), hold()])
    const said = both.map((one) => one.said).toSorted()
    assert.match(said[0]!, /^Carillon already runs on /)
    assert.equal(said[1], 'ready')
    for (const { child } of both) child.kill('SIGKILL')
    await until(nothingRuns(pgDir), 'PostgreSQL stops after its process')
  }
})

test('a PostgreSQL that hangs with all its processes is stopped all the same, and the next one starts', async (t) => {
  const { pgDir, open } = await setup(t)
  const first = await open()
  const postmaster = (await findPostmaster(pgDir))!
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'pid=,ppid='])
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
  const all = [postmaster, ...rows.filter(([, parent]) => parent === postmaster).map(([pid]) => pid!)]
  for (const pid of all) process.kill(pid, 'SIGSTOP')
  await first.stop(100)
  assert.deepEqual(all.filter(isAlive), [])
  assert.equal((await query(await open(), 'SELECT 1 AS n')).length, 1)
})

test('a place where no data directory can be is refused by name', async () => {
  for (const dataDir of ['/dev/null', '/dev/null/data', '/proc/nope/data']) {
    await assert.rejects(
      EmbeddedPostgres.open(deps, { dataDir }),
      /The data directory .* \(CARILLON_DATA\) cannot be used: /,
    )
  }
})

test('PostgreSQL does not outlive a process that was killed, and the next start recovers', async (t) => {
  const { pgDir, open, hold } = await setup(t)
  const { child } = await hold()
  child.kill('SIGKILL')
  await until(nothingRuns(pgDir), 'PostgreSQL stops after its process')
  assert.equal((await query(await open(), 'SELECT 1 AS n')).length, 1)
})

test('a start right after the kill waits for the old PostgreSQL to go', async (t) => {
  const { open, hold } = await setup(t)
  const { child } = await hold()
  child.kill('SIGKILL')
  assert.equal((await query(await open(), 'SELECT 1 AS n')).length, 1)
})

test('everything killed at once, the next start recovers', async (t) => {
  const { pgDir, open, hold } = await setup(t)
  const { child } = await hold()
  const postmaster = (await findPostmaster(pgDir))!
  child.kill('SIGKILL')
  process.kill(postmaster, 'SIGKILL')
  assert.equal((await query(await open(), 'SELECT 1 AS n')).length, 1)
})

test('a PostgreSQL that is killed comes back by itself', async (t) => {
  const { pgDir, open } = await setup(t)
  const embedded = await open()
  await query(embedded, 'CREATE TABLE kept AS SELECT 42 AS n')
  const back = postgresReady.next()
  process.kill((await findPostmaster(pgDir))!, 'SIGKILL')
  assert.equal((await back).how, 'started')
  assert.deepEqual(await query(embedded, 'SELECT n FROM kept'), [{ n: 42 }])
})

test('losing only our session keeps PostgreSQL and takes the lock again', async (t) => {
  const { pgDir, open } = await setup(t)
  const embedded = await open()
  const postmaster = await findPostmaster(pgDir)
  const back = postgresReady.next()
  await query(
    embedded,
    `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = 7420 AND objid = 1`,
  )
  assert.equal((await back).postgresPid, postmaster)
})

test('a crash in the middle of making the data leaves nothing half made', async (t) => {
  const { dataDir, open } = await setup(t, { empty: true })
  const child = spawn(process.execPath, [holder, dataDir], { stdio: 'ignore' })
  await until(
    async () => (await readdir(dataDir).catch(() => [])).some((name) => name.includes('draft')),
    'a draft',
  )
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert(!(await readdir(dataDir)).includes('pg'))
  assert.equal((await query(await open(), 'SELECT 1 AS n')).length, 1)
  assert.deepEqual((await readdir(dataDir)).toSorted(), ['pg', 'postgres.log'])
})

test('lock files that name a living stranger do not keep us from starting', async (t) => {
  const { pgDir, open } = await setup(t)
  // A process of the user PostgreSQL runs as, which PostgreSQL would take for itself.
  const stranger = spawn('sleep', ['60'], { ...((await chooseUser(pgDir)) ?? {}), cwd: '/' })
  cleanUp(t, () => stranger.kill())
  const content = `${stranger.pid}\n${pgDir}\n1700000000\n5432\n.\n\n0 0\nready\n`
  await writeFile(join(pgDir, 'postmaster.pid'), content)
  await writeFile(join(pgDir, '.s.PGSQL.5432.lock'), content)
  assert.equal((await query(await open(), 'SELECT 1 AS n')).length, 1)
  assert(isAlive(stranger.pid!))
})

/** A PostgreSQL that nobody holds, as a killed leash leaves it behind. */
async function startOrphan({ dataDir, pgDir }: { dataDir: string; pgDir: string }): Promise<number> {
  const user = await chooseUser(pgDir)
  const binaries = await prepareBinaries(embeddedPackageName(), user, dataDir)
  await withDataAccess(pgDir, user, async ({ argument, descriptor }) => {
    const flags = ['-c', 'listen_addresses=', '-c', 'unix_socket_directories=.']
    spawn(binaries.postgres, ['-D', argument, ...flags], {
      ...(user ?? {}),
      cwd: '/',
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', descriptor],
    }).unref()
  })
  // Its process exists before its socket does: a connecting client must find both.
  await until(async () => {
    const lock = await connectOwner(pgDir)
    await lock?.client.end()
    return lock !== null
  }, 'the orphan answers')
  return (await findPostmaster(pgDir))!
}

test('a PostgreSQL that nobody owns is adopted, and stopped with us', async (t) => {
  const { dataDir, pgDir, open } = await setup(t)
  const orphan = await startOrphan({ dataDir, pgDir })
  const ready = postgresReady.next()
  const embedded = await open()
  const { how, postgresPid } = await ready
  assert.deepEqual({ how, postgresPid }, { how: 'adopted', postgresPid: orphan })
  await embedded.stop(5_000)
  assert.equal(await findPostmaster(pgDir), null)
})

test('a PostgreSQL that its starter has not locked yet is left to its starter', async (t) => {
  const { dataDir, pgDir } = await setup(t)
  const postmaster = await startOrphan({ dataDir, pgDir })
  // The clock stands still until there is an owner, so the second that must pass without one never does.
  let lockedMs: number | null = null
  const clock = { monotonicMs: () => (lockedMs === null ? 0 : performance.now() - lockedMs) }
  const looked = Promise.withResolvers<void>()
  let looks = 0
  const timers = {
    ...realTimers,
    wait(ms: number) {
      if (++looks === 3) looked.resolve()
      return realTimers.wait(ms)
    },
  }
  const opening = EmbeddedPostgres.open({ clock, timers }, { dataDir })
  const refused = assert.rejects(opening, AlreadyRunning)
  await Promise.race([looked.promise, refused])
  const starter = new pg.Client({
    host: pgDir,
    user: 'postgres',
    database: 'postgres',
    application_name: `carillon ${process.ppid} http://127.0.0.1:1`,
  })
  starter.on('error', () => {})
  await starter.connect()
  const { rows } = await starter.query('SELECT pg_try_advisory_lock(7420, 1) AS locked')
  assert.deepEqual(rows, [{ locked: true }])
  lockedMs = performance.now()
  await refused
  await starter.end()
  process.kill(postmaster, 'SIGINT')
})

test('a data directory deeper than a socket path may be works', async (t) => {
  const { open } = await setup(t, { within: `${'deep'.repeat(20)}/${'deeper'.repeat(20)}` })
  assert.equal((await query(await open(), 'SELECT 1 AS n')).length, 1)
})

test('data that cannot be started from is refused with the reason PostgreSQL gives', async (t) => {
  const { pgDir, open } = await setup(t)
  await writeFile(join(pgDir, 'PG_VERSION'), '12\n')
  await assert.rejects(open(), /PostgreSQL did not start[\s\S]*initialized by PostgreSQL version 12/)
})

test('data of another user is refused with advice', async (t) => {
  const { dataDir, pgDir } = await setup(t)
  await rm(pgDir, { recursive: true })
  await mkdir(pgDir)
  await cp(join(template, 'pg', 'PG_VERSION'), join(pgDir, 'PG_VERSION'))
  const isRoot = process.getuid!() === 0
  const opened = EmbeddedPostgres.open(deps, { dataDir })
  // As an ordinary user the directory just made is ours, so PostgreSQL itself finds it incomplete.
  await assert.rejects(opened, isRoot ? /belongs to root.*chown -R \d+:\d+ / : /PostgreSQL did not start/)
})

test('a stop during a start that takes long ends it', async (t) => {
  const { dataDir, pgDir } = await setup(t)
  const stop = new AbortController()
  stop.abort()
  await assert.rejects(EmbeddedPostgres.open(deps, { dataDir, signal: stop.signal }), StopRequested)
  await until(nothingRuns(pgDir), 'PostgreSQL stops')
})

test('the log shows the actions of PostgreSQL', async (t) => {
  const { dataDir, open } = await setup(t)
  await open()
  assert.match(
    await readFile(join(dataDir, 'postgres.log'), 'utf8'),
    /database system is ready to accept connections/,
  )
})

test('the log is bounded while PostgreSQL runs, and PostgreSQL writes on', async (t) => {
  const { dataDir } = await setup(t)
  const embedded = await EmbeddedPostgres.open(deps, { dataDir, logLookMs: 20 })
  cleanUp(t, () => embedded.stop(5_000))
  const logFile = join(dataDir, 'postgres.log')
  await appendFile(logFile, 'a line\n'.repeat(1_600_000))
  await until(async () => (await stat(logFile)).size === 0, 'the log is emptied')
  assert.match(await readFile(`${logFile}.1`, 'utf8'), /ready to accept connections[\s\S]*a line\n$/)
  await query(embedded, 'SELECT pg_reload_conf()')
  await until(async () => (await stat(logFile)).size > 0, 'PostgreSQL writes to its log')
  assert.match(await readFile(logFile, 'utf8'), /^\d{4}-.*reloading configuration files/)
})

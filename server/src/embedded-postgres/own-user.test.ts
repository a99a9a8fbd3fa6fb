// Started as root: PostgreSQL has a system user of its own, and no other user gets in. As another user there is nothing to
// choose, so these tests are for root.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { chown, link, lstat, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import { cleanUp } from '../../test/cleanup.ts'
import { makeTemporaryDir } from '../../test/data-dir.ts'
import { rootTest } from '../../test/root-test.ts'
import { findListed, type SystemUser, thisSystem } from '../lib/system-users.ts'
import { realTimers } from '../lib/time/timers.ts'
import { postgresHandedOver, postgresUserUnnamed } from '../telemetry/events.ts'
import { embeddedPackageName, prepareBinaries } from './binaries.ts'
import { ensureInitialised, withDataAccess } from './data-directory.ts'
import { EmbeddedPostgres } from './embedded-postgres.ts'
import { isAlive } from './leash.ts'
import { findPostmaster } from './postmaster.ts'
import { chooseUser } from './system-user.ts'

const deps = { clock: { monotonicMs: () => performance.now() }, timers: realTimers }
const stranger = join(import.meta.dirname, '../../test/embedded-stranger.ts')

async function setup(t: TestContext) {
  const dataDir = await makeTemporaryDir('carillon-user-')
  cleanUp(t, () => rm(dataDir, { recursive: true, maxRetries: 10 }))
  const open = async () => {
    const embedded = await EmbeddedPostgres.open(deps, { dataDir })
    cleanUp(t, () => embedded.stop(5_000))
    return embedded
  }
  return { dataDir, pgDir: join(dataDir, 'pg'), open }
}

async function ownUser() {
  const user = await findListed('carillon', thisSystem)
  assert(user !== null)
  return user
}

async function nobodyUser() {
  return (await findListed('nobody', thisSystem))!
}

async function query<R extends object>({ socketDir }: EmbeddedPostgres, text: string): Promise<R[]> {
  const client = new pg.Client({ host: socketDir, user: 'postgres', database: 'carillon' })
  await client.connect()
  try {
    return (await client.query<R>(text)).rows
  } finally {
    await client.end()
  }
}

/** As an earlier version left it: of `nobody`, and open to every process that reaches the socket. */
async function makeOld({ pgDir, open }: Awaited<ReturnType<typeof setup>>): Promise<void> {
  const first = await open()
  await query(first, 'CREATE TABLE kept AS SELECT 42 AS n')
  await first.stop(5_000)
  await rm(join(pgDir, 'pg_ident.conf'))
  await writeFile(join(pgDir, 'pg_ident.conf'), '')
  await writeFile(join(pgDir, 'pg_hba.conf'), 'local all all trust\n')
  const { uid, gid } = await nobodyUser()
  await promisify(execFile)('chown', ['-R', `${uid}:${gid}`, pgDir])
}

async function ownersBelow(dir: string): Promise<Set<number>> {
  const owners = new Set([(await stat(dir)).uid])
  for (const entry of await readdir(dir, { recursive: true })) {
    const found = await lstat(join(dir, entry))
    if (found.isFile() || found.isDirectory()) owners.add(found.uid)
  }
  return owners
}

rootTest('started as root, PostgreSQL runs as a system user that only it uses', async (t) => {
  const { pgDir, open } = await setup(t)
  await open()
  const { uid } = await ownUser()
  assert.deepEqual(await ownersBelow(pgDir), new Set([uid]))
  const status = await readFile(`/proc/${await findPostmaster(pgDir)}/status`, 'utf8')
  assert.match(status, new RegExp(`^Uid:\\s+${uid}\\s+${uid}\\s+${uid}\\s`, 'm'))
})

rootTest('by /proc neither nobody nor the system user gets in; root does', async (t) => {
  const { pgDir, open } = await setup(t)
  await open()
  const host = `/proc/${await findPostmaster(pgDir)}/cwd`
  const knock = async ({ uid, gid }: SystemUser) => {
    const args = [stranger, host, String(uid), String(gid), 'postgres', 'carillon']
    return (await promisify(execFile)(process.execPath, args)).stdout.trim().split('\n')
  }
  for (const answer of await knock(await nobodyUser())) assert.match(answer, /EACCES/)
  for (const answer of await knock(await ownUser())) assert.match(answer, /Peer authentication failed/)
  assert.deepEqual(await knock({ uid: 0, gid: 0 }), ['in as postgres', 'in as carillon'])
})

rootTest('data of nobody is handed over at the next start, and is closed then', async (t) => {
  const scene = await setup(t)
  await makeOld(scene)
  const handedOver = postgresHandedOver.next()
  const embedded = await scene.open()
  const { uid } = await ownUser()
  assert.equal((await handedOver).toUid, uid)
  assert.deepEqual(await ownersBelow(scene.pgDir), new Set([uid]))
  assert.deepEqual(await query(embedded, 'SELECT n FROM kept'), [{ n: 42 }])
  assert.doesNotMatch(await readFile(join(scene.pgDir, 'pg_hba.conf'), 'utf8'), /trust/)
})

rootTest('a hand-over that was cut short is finished by the next start', async (t) => {
  const scene = await setup(t)
  await makeOld(scene)
  const { uid, gid } = await ownUser()
  // The directory itself goes last.
  await promisify(execFile)('chown', [
    `${uid}:${gid}`,
    join(scene.pgDir, 'base'),
    join(scene.pgDir, 'PG_VERSION'),
  ])
  const embedded = await scene.open()
  assert.deepEqual(await ownersBelow(scene.pgDir), new Set([uid]))
  assert.deepEqual(await query(embedded, 'SELECT n FROM kept'), [{ n: 42 }])
})

rootTest('a hand-over gives away no file of others that the former owner linked', async (t) => {
  const scene = await setup(t)
  await makeOld(scene)
  const { uid, gid } = await nobodyUser()
  const roots = join(scene.dataDir, 'roots')
  const nobodys = join(scene.dataDir, 'nobodys')
  for (const file of [roots, nobodys]) await writeFile(file, '')
  await chown(nobodys, uid, gid)
  await link(roots, join(scene.pgDir, 'base', 'hard'))
  await link(nobodys, join(scene.pgDir, 'base', 'shared'))
  await symlink(roots, join(scene.pgDir, 'base', 'soft'))
  await symlink(scene.dataDir, join(scene.pgDir, 'base', 'way-out'))
  await scene.open()
  assert.equal((await stat(roots)).uid, 0)
  assert.equal((await stat(nobodys)).uid, uid)
  assert.equal((await stat(scene.dataDir)).uid, 0)
})

rootTest('a PostgreSQL that an earlier version left as nobody is replaced', async (t) => {
  const scene = await setup(t)
  await makeOld(scene)
  const { pgDir, dataDir } = scene
  const user = await nobodyUser()
  const { postgres } = await prepareBinaries(embeddedPackageName(), user, dataDir)
  await withDataAccess(pgDir, user, async ({ argument, descriptor }) => {
    const flags = ['-c', 'listen_addresses=', '-c', 'unix_socket_directories=.']
    const stdio = ['ignore', 'ignore', 'ignore', descriptor] as const
    spawn(postgres, ['-D', argument, ...flags], {
      ...user,
      cwd: '/',
      detached: true,
      stdio: [...stdio],
    }).unref()
  })
  let old: number | null = null
  while (old === null) {
    await realTimers.wait(20)
    old = await findPostmaster(pgDir)
  }
  const embedded = await scene.open()
  assert(!isAlive(old))
  assert.deepEqual(await ownersBelow(pgDir), new Set([(await ownUser()).uid]))
  assert.deepEqual(await query(embedded, 'SELECT n FROM kept'), [{ n: 42 }])
})

rootTest('where no user can be made, PostgreSQL runs under a free id, and says so', async (t) => {
  const { dataDir, pgDir, open } = await setup(t)
  const file = join(dataDir, 'passwd')
  const nobody = await nobodyUser()
  await writeFile(
    file,
    `root:x:0:0::/:/bin/sh\ntaken:x:61100:1::/:/bin/sh\nnobody:x:${nobody.uid}:1::/:/bin/sh\n`,
  )
  const told = postgresUserUnnamed.next()
  const user = await chooseUser(pgDir, { file, makers: [['no-such-command']] })
  assert.deepEqual(user, { uid: 61_101, gid: 61_101 })
  assert.equal((await told).reason, 'there is no no-such-command')
  const binaries = await prepareBinaries(embeddedPackageName(), user, dataDir)
  await ensureInitialised(pgDir, user, binaries)
  assert.deepEqual(await ownersBelow(pgDir), new Set([61_101]))
  // It stays so as long as no user can be made; once there is one, the data is handed over to it.
  assert.deepEqual(await chooseUser(pgDir, { file, makers: [] }), user)
  await open()
  assert.deepEqual(await ownersBelow(pgDir), new Set([(await ownUser()).uid]))
})

rootTest('data that a person has started before stays the data of that person', async (t) => {
  const { pgDir, open } = await setup(t)
  await (await open()).stop(5_000)
  await promisify(execFile)('chown', ['-R', '4242:4242', pgDir])
  await open()
  assert.deepEqual(await ownersBelow(pgDir), new Set([4242]))
})

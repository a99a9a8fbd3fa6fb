// Commands of a server that runs as root. As an ordinary user it has no other user to give them.
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { packTar } from '../../../test/bundle.ts'
import { cleanUp } from '../../../test/cleanup.ts'
import { callOf, createListener, setupCommands } from '../../../test/commands.ts'
import { sayNotRun } from '../../../test/root-test.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import { realTimers } from '../../lib/time/timers.ts'
import { createArtifactExecutor } from './artifact.ts'
import { BundleCache } from './bundle-cache.ts'
import { GroupWatch } from './group-watch.ts'
import { createShellExecutor } from './shell.ts'

const isRoot = process.getuid!() === 0
const self = { uid: process.getuid!(), gid: process.getgid!() }
/** Nobody's: no machine has an entry for it. */
const user = isRoot ? { uid: 54_321, gid: 54_321 } : self

async function setup(t: TestContext) {
  const { deps, base, script } = await setupCommands(t)
  await chmod(base, 0o711)
  const listener = createListener()
  const given = { ...deps, user: isRoot ? user : null }
  const run = async (text: string) => {
    const path = await script('job.sh', text)
    const execution = { type: 'shell', command: path, args: [], env: {}, timeout_seconds: 60 } as const
    return createShellExecutor(given, [{ path, env: [] }]).run(callOf(execution), listener.context)
  }
  return { deps: given, base, listener, run }
}

test('a command runs as its user, in its group alone, in a directory of its own', async (t) => {
  const { run } = await setup(t)
  const { preview, error } = await run('id -u; id -g; id -G; pwd > mine && stat -c %u:%a .')
  assert.equal(error, null)
  const groups = isRoot ? [String(user.gid)] : [process.getgroups!().join(' ')]
  const said = preview!.split('\n')
  assert.deepEqual([said[0], said[1], said[3]], [String(user.uid), String(user.gid), `${user.uid}:700`])
  if (isRoot) assert.equal(said[2], groups[0], 'root has groups, which its commands do not get')
})

test('a command of another user cannot get the rights of root back', async (t) => {
  const { run } = await setup(t)
  const { preview } = await run('grep -E "^(NoNewPrivs|CapEff):" /proc/self/status | tr -d "\\t "')
  // As an ordinary user nothing changes: a listed program may use sudo.
  const expected = isRoot
    ? ['CapEff:0000000000000000', 'NoNewPrivs:1']
    : ['CapEff:0000000000000000', 'NoNewPrivs:0']
  assert.deepEqual(preview!.split('\n').toSorted(), expected)
})

test('a command of root’s server reads neither the key nor reaches the socket of the database', async (t) => {
  const { run, base } = await setup(t)
  const dataDir = join(base, 'data')
  // The data directory can be passed through, as it is where bundles run; its files are closed themselves.
  await mkdir(join(dataDir, 'pg'), { recursive: true })
  await chmod(dataDir, 0o711)
  await writeFile(join(dataDir, 'api-key'), 'crl_secret\n', { mode: 0o600 })
  const socket = createServer((connection) => connection.end('reached\n')).listen(
    join(dataDir, 'pg', 'socket'),
  )
  await once(socket, 'listening')
  cleanUp(t, () => new Promise((resolve) => socket.close(resolve)))
  await chmod(join(dataDir, 'pg'), 0o700)
  const connect = `require('net').connect('${join(dataDir, 'pg', 'socket')}').on('data',(d)=>console.log(String(d).trim())).on('error',(e)=>console.log(e.code))`
  const { preview } = await run(
    `cat ${join(dataDir, 'api-key')} 2>/dev/null || echo closed; ls ${dataDir} 2>/dev/null || echo unlisted; ${process.execPath} -e "${connect}"`,
  )
  const reached = ['crl_secret', 'api-key', 'pg', 'reached']
  assert.deepEqual(preview!.split('\n'), isRoot ? ['closed', 'unlisted', 'EACCES'] : reached)
})

test('a bundle is read by its user, and not changed', async (t) => {
  const { deps, base, listener } = await setup(t)
  const content = gzipSync(
    packTar([
      {
        path: 'lib/main.mjs',
        content: `import { appendFileSync, chmodSync, writeFileSync } from 'node:fs'
          const tries = { append: () => appendFileSync(import.meta.filename, 'x'), open: () => chmodSync(import.meta.filename, 0o777),
            beside: () => writeFileSync(import.meta.dirname + '/new.mjs', 'x') }
          export const run = () => ({ uid: process.getuid(), refused: Object.keys(tries).filter((name) => {
            try { tries[name]() } catch (error) { return /EACCES|EPERM/.test(error.code) } }) })`,
      },
    ]),
  )
  const sha256 = hash('sha256', content)
  const stored = { artifactId: 'a', sha256, bytes: content.length, createdAt: epochMs(0), createdBy: 'a' }
  const dataDir = join(base, 'data')
  await mkdir(dataDir, { mode: 0o700 })
  const bundles = new BundleCache(
    { databaseNow: () => epochMs(Date.now()) },
    { directory: join(dataDir, 'artifacts'), isForOther: isRoot },
  )
  const artifacts = { get: async () => stored, read: async () => content }
  const executor = createArtifactExecutor(
    { ...deps, artifacts, artifactsDir: null, bundles, watch: new GroupWatch(realTimers) },
    { cpuSeconds: 60, memoryMb: 512 },
  )
  const execution = {
    type: 'artifact',
    artifact_id: 'a',
    entrypoint: 'lib/main:run',
    timeout_seconds: 60,
  } as const
  const run = () => executor.run(callOf(execution), listener.context)
  const { error, preview } = await run()
  assert.equal(error, null)
  const { uid, refused } = JSON.parse(preview!)
  assert.equal(uid, user.uid)
  if (!isRoot) return sayNotRun(t)
  assert.deepEqual(refused, ['append', 'open', 'beside'])
  await chmod(base, 0o700)
  const message = `It could not be started: the user of CARILLON_COMMANDS_USER may not open ${base}`
  assert.deepEqual((await run()).error, { type: 'EXIT_CODE', message })
})

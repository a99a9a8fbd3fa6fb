import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { packTar, type TarPart } from '../../../test/bundle.ts'
import { cleanUp } from '../../../test/cleanup.ts'
import { callOf, createListener, setupCommands, untilEnded } from '../../../test/commands.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import { realTimers } from '../../lib/time/timers.ts'
import type { LocalCall } from '../../ports/executor.ts'
import { type ArtifactLimits, createArtifactExecutor } from './artifact.ts'
import { BundleCache } from './bundle-cache.ts'
import { GroupWatch } from './group-watch.ts'

async function setup(t: TestContext, limits: Partial<ArtifactLimits> = {}) {
  const parts = await setupCommands(t)
  const stored = new Map<string, Buffer>()
  const artifactsDir = join(parts.base, 'operator')
  await mkdir(artifactsDir)
  const clock = { databaseNow: () => epochMs(Date.now()) }
  const deps = {
    ...parts.deps,
    artifacts: {
      async get(tenantId: string, artifactId: string) {
        const content = stored.get(`${tenantId} ${artifactId}`)
        if (content === undefined) return null
        const sha256 = hash('sha256', content)
        return { artifactId, sha256, bytes: content.length, createdAt: epochMs(0), createdBy: 'a' }
      },
      read: async (tenantId: string, id: string) => stored.get(`${tenantId} ${id}`) ?? null,
    },
    artifactsDir,
    bundles: new BundleCache(clock, { directory: join(parts.base, 'cache') }),
    watch: new GroupWatch(realTimers),
  }
  const executor = createArtifactExecutor(deps, { cpuSeconds: 60, memoryMb: 512, ...limits })
  const listener = createListener()
  const put = (files: readonly TarPart[], id = 'a') => {
    const content = gzipSync(packTar(files))
    stored.set(`${callOf({} as never).tenantId} ${id}`, content)
    return hash('sha256', content)
  }
  const run = (entrypoint: string, more: { id?: string; sha256?: string } & Partial<LocalCall> = {}) => {
    const { id = 'a', sha256, ...call } = more
    const checksum = sha256 === undefined ? {} : { sha256 }
    const execution = {
      type: 'artifact',
      artifact_id: id,
      entrypoint,
      timeout_seconds: 60,
      ...checksum,
    } as const
    return executor.run(callOf(execution, call), listener.context)
  }
  return { ...parts, stored, artifactsDir, listener, put, run }
}

const exitCode = (message: string) => ({ type: 'EXIT_CODE', message })

test('a function of a bundle gets its payload and its context, and its return value is the result', async (t) => {
  const { put, run, listener } = await setup(t)
  put([
    {
      path: 'main.mjs',
      content: `
        import { greet } from './lib/greet.ts'
        import { readdirSync } from 'node:fs'
        export async function run(payload, context) {
          const { progress, saveCheckpoint, heartbeat, log, ...facts } = context
          console.log('printed')
          log.warn('careful')
          log.info('begins', payload, 3, null, 'rows')
          log.debug(new Map([['a', { b: [1] }]]))
          progress(0.25, 'a quarter')
          saveCheckpoint({ row: 1 })
          return { said: greet(payload.name), facts, home: process.env.HOME === process.cwd(), files: readdirSync('.') }
        }`,
    },
    { path: 'lib/greet.ts', content: 'export const greet = (name: string): string => "hello " + name' },
  ])
  const parents = [
    { jobId: 'j', jobKey: null, executionId: 'e', status: 'SUCCEEDED', result: { rows: 3 } } as const,
  ]
  const given = { payload: '{"name":"ü"}', checkpoint: { row: 0 }, runId: 'r', parents }
  const word = await run('main:run', given)
  assert.equal(word.error, null)
  assert.deepEqual(JSON.parse(word.preview!), {
    said: 'hello ü',
    facts: {
      executionId: '00000000-0000-7000-8000-00000000000e',
      jobId: '00000000-0000-7000-8000-00000000000a',
      jobName: 'a job',
      attempt: 2,
      idempotencyKey: 'k'.repeat(32),
      scheduledTime: '2026-01-01T00:00:00Z',
      checkpoint: { row: 0 },
      graphRunId: 'r',
      parents,
    },
    home: true,
    files: [],
  })
  assert.deepEqual(listener.lines.toSorted(), [
    ['debug', "Map(1) { 'a' => { b: [ 1 ] } }"],
    ['info', "begins { name: 'ü' } 3 null rows"],
    ['info', 'printed'],
    ['warn', 'careful'],
  ])
  assert.deepEqual(listener.notes, [{ progress: 0.25, message: 'a quarter' }, { checkpoint: { row: 1 } }])
})

test('files are found with their ending or without, and the function where modules keep it', async (t) => {
  const { put, run } = await setup(t)
  put([
    { path: 'a.js', content: 'export const run = () => "esm"' },
    { path: 'b.cjs', content: 'exports.run = () => "cjs"' },
    { path: 'sub/c.ts', content: 'export default (a: number): string => "default"' },
    { path: 'nothing.js', content: 'export function run() {}' },
    { path: 'long.js', content: 'export const run = () => "ü".repeat(10_000)' },
  ])
  const preview = async (entrypoint: string) => (await run(entrypoint)).preview
  assert.equal(await preview('a:run'), '"esm"')
  assert.equal(await preview('b.cjs:run'), '"cjs"')
  assert.equal(await preview('sub/c:default'), '"default"')
  assert.equal(await preview('nothing:run'), null)
  assert.equal(Buffer.byteLength((await preview('long:run'))!), 4_095, 'cut between characters')
})

test('an executable of a bundle runs as a command does', async (t) => {
  const { put, run, listener } = await setup(t)
  put([
    { path: 'bin/go.sh', mode: 0o755, content: '#!/bin/sh\ncat; echo " $CARILLON_ATTEMPT"; exit 4\n' },
    { path: 'plain.sh', content: '#!/bin/sh\n' },
  ])
  assert.deepEqual(await run('bin/go.sh', { payload: '[1]' }), {
    error: exitCode('Exited with code 4'),
    preview: '[1] 2',
  })
  assert.deepEqual(listener.lines, [['info', '[1] 2']])
  const final = { preview: null, isFinal: true }
  const message = '/execution/entrypoint: plain.sh is not an executable.'
  assert.deepEqual(await run('plain.sh'), { error: exitCode(message), ...final })
})

test('nothing outside of the bundle is run', async (t) => {
  const { put, run } = await setup(t)
  put([{ path: 'a.js', content: 'export const run = () => 1' }])
  for (const entrypoint of ['../../../../bin/true', '/bin/true', 'missing:run', '../a:run', '.']) {
    const word = await run(entrypoint)
    assert.match(word.error!.message, /^\/execution\/entrypoint: there is no file /, entrypoint)
    assert.equal(word.isFinal, true)
  }
})

test('a function that fails says why, and whether another attempt is of use', async (t) => {
  const { put, run, listener } = await setup(t)
  put([
    {
      path: 'a.js',
      content: `
        export const fails = () => { throw new Error('no rows') }
        export const final = () => { throw Object.assign(new Error('never'), { name: 'NonRetriableError' }) }
        export const later = () => { throw Object.assign(new Error('busy'), { [Symbol.for('carillon.error.retryAfterMs')]: 5000 }) }
        export const text = () => Promise.reject('a text')
        export const leaves = () => process.exit(0)
        export const crashes = () => process.abort()
        export const hangs = () => { setInterval(() => {}, 1000); return 'done' }`,
    },
    { path: 'broken.js', content: 'export const run = (' },
  ])
  const handler = (message: string) => ({ type: 'HANDLER_ERROR', message })
  assert.deepEqual(await run('a:fails'), { error: handler('no rows'), preview: null })
  assert.match(listener.lines.at(-1)![1], /^Error: no rows\n.*a\.js/s)
  assert.deepEqual(await run('a:final'), { error: handler('never'), preview: null, isFinal: true })
  assert.deepEqual(await run('a:later'), { error: handler('busy'), preview: null, retryAfterMs: 5_000 })
  assert.deepEqual((await run('a:text')).error, handler('a text'))
  assert.deepEqual((await run('a:leaves')).error, exitCode('Exited before the function had returned'))
  assert.deepEqual((await run('a:crashes')).error, exitCode('Killed by SIGABRT'))
  assert.deepEqual(await run('a:hangs'), { error: null, preview: '"done"' }, 'a timer keeps nothing alive')
  assert.equal((await run('a:absent')).isFinal, true)
  assert.equal((await run('broken:run')).error?.type, 'HANDLER_ERROR')
})

test('the checksum of the job, if it has one, decides before anything is unpacked', async (t) => {
  const { put, run, base } = await setup(t)
  const sha256 = put([{ path: 'a.js', content: 'export const run = () => 1' }])
  const wrong = 'ab'.repeat(32)
  const message = `/execution/sha256: the artifact a has the checksum ${sha256}, and the job wants ${wrong}.`
  assert.deepEqual(await run('a:run', { sha256: wrong }), {
    error: exitCode(message),
    preview: null,
    isFinal: true,
  })
  assert(!(await readdir(base)).includes('cache'))
  assert.equal((await run('a:run', { sha256: sha256.toUpperCase() })).preview, '1')
})

test('a bundle that is no bundle is refused, and nothing of it stays', async (t) => {
  const { put, run, base } = await setup(t)
  put([{ path: '../evil', content: 'x' }])
  assert.deepEqual(await run('a:run'), {
    error: exitCode('The bundle has a file outside of it: "../evil".'),
    preview: null,
    isFinal: true,
  })
  assert.deepEqual(await readdir(join(base, 'cache')), [])
})

test('the bundle of the tenant comes before that of the operator, and is nobody else’s', async (t) => {
  const { put, run, artifactsDir } = await setup(t)
  const says = (word: string) => [{ path: 'a.js', content: `export const run = () => "${word}"` }]
  await writeFile(join(artifactsDir, 'a.tar.gz'), gzipSync(packTar(says('operator'))))
  const stranger = { tenantId: '00000000-0000-7000-8000-000000000002' }
  assert.equal((await run('a:run')).preview, '"operator"')
  const sha256 = put(says('tenant'))
  assert.equal((await run('a:run')).preview, '"tenant"')
  assert.equal((await run('a:run', stranger)).preview, '"operator"')
  // The bundle is in the cache, and its checksum is known: it stays the other tenant's.
  const word = await run('a:run', { ...stranger, id: 'b', sha256 })
  assert.deepEqual(word.error, exitCode('There is no artifact b.'))
})

test('an attempt that uses too much memory is stopped: in JavaScript, outside of it, or in all its processes together', async (t) => {
  const { put, run, all } = await setup(t, { memoryMb: 128 })
  put([
    {
      path: 'a.js',
      content: `
        export const objects = () => { const all = []; for (;;) all.push({ a: all.length }) }
        export async function buffers() {
          const all = []
          for (;;) { all.push(Buffer.alloc(20_000_000, 1)); await new Promise((done) => setTimeout(done, 50)) }
        }`,
    },
  ])
  const message = 'Used more than 128 MB of memory (CARILLON_ARTIFACT_MEMORY_MB)'
  assert.deepEqual((await run('a:objects')).error, exitCode(message))
  assert.deepEqual((await run('a:buffers')).error, exitCode(message))
  put([
    {
      path: 'many.sh',
      mode: 0o755,
      content: `#!/bin/sh\nfor i in 1 2 3; do sh -c 'a=$(head -c 60000000 /dev/zero | tr "\\0" x); sleep 1000' & done; sleep 1000`,
    },
  ])
  assert.deepEqual((await run('many.sh')).error, exitCode(message))
  await untilEnded(all)
})

test('an attempt that uses too much CPU time is stopped', async (t) => {
  const { put, run } = await setup(t, { cpuSeconds: 1 })
  put([
    { path: 'a.js', content: 'export const run = () => { for (;;); }' },
    {
      path: 'b.sh',
      mode: 0o755,
      // No single process reaches the limit, so only a check on their combined CPU time can stop the command.
      content: `#!/bin/sh
turn() { while :; do (i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done); done; }
turn & turn & wait`,
    },
  ])
  const message = 'Used more than 1 s of CPU time (CARILLON_ARTIFACT_CPU_SECONDS)'
  assert.deepEqual((await run('a:run')).error, exitCode(message))
  assert.deepEqual((await run('b.sh')).error, exitCode(message), 'its processes together')
})

test('an aborted attempt ends, together with every process it started', async (t) => {
  const { put, run, listener, all } = await setup(t)
  put([
    {
      path: 'a.js',
      content: `
        import { spawn } from 'node:child_process'
        export function run(_payload, { log }) {
          spawn('sleep', ['1000'])
          log.info('up')
          return new Promise(() => setInterval(() => {}, 1000))
        }`,
    },
  ])
  const ended = run('a:run')
  await listener.says(/^up$/)
  listener.stop()
  assert.deepEqual((await ended).error, exitCode('Killed by SIGTERM'))
  await untilEnded(all)
})

test('our secrets are not in its environment', async (t) => {
  const { put, run } = await setup(t)
  process.env['OUR_SECRET'] = 'x'
  cleanUp(t, () => delete process.env['OUR_SECRET'])
  put([
    {
      path: 'a.js',
      content: 'export const run = () => Object.keys(process.env).filter((n) => !n.startsWith("CARILLON_"))',
    },
  ])
  assert.deepEqual(JSON.parse((await run('a:run')).preview!).toSorted(), ['HOME', 'PATH'])
})

test('a store that cannot be asked now is no fault of the job: it may be tried again', async (t) => {
  const { run, stored } = await setup(t)
  stored.get = () => {
    throw new Error('the database is away')
  }
  assert.deepEqual(await run('a:run'), {
    error: exitCode('It could not be started: the database is away'),
    preview: null,
  })
})

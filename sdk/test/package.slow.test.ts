// Tests the package as a user installs it: built, packed, installed without a network in an empty folder, and used
// under the Node of the machine. Also follows the README to the letter.
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { cleanUp } from '../../server/test/cleanup.ts'
import { makeEmptyDataDir } from '../../server/test/data-dir.ts'
import { Program } from '../../server/test/e2e/program.ts'
import { Example } from './example.ts'
import { readSteps } from './readme.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')

/** The Node of the machine, in any version; ours when it has none. */
const node = machineNode()
const version = execFileSync(node, ['--version']).toString().trim()
const which = version === process.version ? `${version}, the only one of this machine` : version

function machineNode(): string {
  const dirs = process.env['PATH']!.split(delimiter).filter((dir) => !dir.includes('node_modules'))
  return dirs.map((dir) => join(dir, 'node')).find(existsSync) ?? process.execPath
}

async function makeFolder(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'carillon-sdk-'))
  cleanUp(t, () => rm(dir, { recursive: true, force: true }))
  return dir
}

async function install(t: TestContext): Promise<string> {
  const folder = await makeFolder(t)
  const out = join(await makeFolder(t), 'package')
  await run(process.execPath, [join(root, 'tools/build-sdk.ts'), '--out', out])
  await writeFile(join(folder, 'package.json'), '{ "type": "module", "private": true }')
  const flags = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await run('npm', ['install', ...flags, join(out, 'carillon-sdk.tgz')], { cwd: folder })
  return folder
}

async function startServer(t: TestContext) {
  const dataDir = await makeEmptyDataDir(t)
  const program = new Program(t, { dataDir })
  return { url: await program.ready(), key: program.key(), dataDir }
}

test('the package needs nothing else, and its types neither', async (t) => {
  const folder = await install(t)
  const installed = JSON.parse(await readFile(join(folder, 'node_modules/.package-lock.json'), 'utf8'))
  assert.deepEqual(Object.keys(installed.packages), ['node_modules/@carillon/sdk'])
  const manifest = JSON.parse(await readFile(join(folder, 'node_modules/@carillon/sdk/package.json'), 'utf8'))
  assert.deepEqual([manifest.dependencies, manifest.engines], [undefined, { node: '>=20' }])
  await cp(join(import.meta.dirname, 'typed-program.txt'), join(folder, 'program.ts'))
  const tsc = join(root, 'node_modules/.bin/tsc')
  const strict = ['--noEmit', '--strict', '--target', 'es2022', '--types', '']
  for (const module of [
    ['--module', 'nodenext'],
    ['--module', 'esnext', '--moduleResolution', 'bundler'],
  ]) {
    await run(process.execPath, [tsc, ...strict, ...module, 'program.ts'], { cwd: folder }).catch(
      ({ stdout }) => assert.fail(stdout),
    )
  }
})

test(`client, worker, test kit and verifySignature work under Node ${which}, and so do the examples`, async (t) => {
  const folder = await install(t)
  const server = await startServer(t)
  await cp(join(import.meta.dirname, 'package-program.txt'), join(folder, 'program.js'))
  const program = new Example(t, { node, cwd: folder, file: 'program.js', ...server })
  assert.equal(await program.exit, 0, program.said())
  assert.deepEqual(JSON.parse(program.stdout), {
    node: version,
    kit: ['2026-03-28T01:30:00.000Z', '2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z'],
    after: ['slot', 'nightly said SUCCEEDED'],
    worker: ['SUCCEEDED', '{"doubled":42}'],
    refused: 'JOB_NOT_FOUND',
    signature: ['msg_p5jXN8AQM9LWM0D4loKWxJek', 'SIGNATURE_MISMATCH'],
  })
  const examples = 'node_modules/@carillon/sdk/examples'
  const callbacks = new Example(t, { node, cwd: folder, file: `${examples}/signed-callbacks.js`, ...server })
  assert.equal(await callbacks.exit, 0, callbacks.said())
  assert.match(callbacks.stdout, /the callback SUCCEEDED/)
  const pipeline = new Example(t, { node, cwd: folder, file: `${examples}/pipeline.js`, ...server })
  assert.equal(await pipeline.exit, 0, pipeline.said())
  assert.match(pipeline.stdout, /the run SUCCEEDED/)
  const worker = new Example(t, { node, cwd: folder, file: `${examples}/scheduled-worker.js`, ...server })
  await worker.says(/report for support, 2x/)
  worker.child.kill('SIGINT')
  assert.equal(await worker.exit, 0, worker.said())
  const long = new Example(t, {
    node,
    cwd: folder,
    file: `${examples}/long-job.js`,
    args: ['start'],
    ...server,
  })
  await long.says(/row 2 of 30/)
})

test('the README can be followed from zero', async (t) => {
  const folder = await makeFolder(t)
  const { url, dataDir } = await startServer(t)
  const readme = await readFile(join(root, 'sdk/README.md'), 'utf8')
  // The values that a reader would fill in.
  const own = readme
    .replace('CARILLON=~/carillon', `CARILLON=${root}`)
    .replace('http://127.0.0.1:7420', url)
    .replace('$CARILLON/.carillon/api-key', `${dataDir}/api-key`)
  const script = readSteps(own).map((step, index) => {
    if (step.kind === 'commands') return step.text
    return `cat > ${step.name} <<'END-${index}'\n${step.text}END-${index}\n`
  })
  const env = { PATH: process.env['PATH'], HOME: folder, npm_config_offline: 'true' }
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script.join('\n')], {
    cwd: folder,
    env,
  }).catch((error) => assert.fail(`${error.stdout}\n${error.stderr}`))
  assert.match(stdout, /^\{"said":"hello Ada"\}$/m)
  assert.match(stdout, /^# pass 2$|^ℹ pass 2$/m)
  assert.match(stdout, /the callback SUCCEEDED/)
})

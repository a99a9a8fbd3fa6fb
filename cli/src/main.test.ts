// The command as people call it: through npx, from a sub-folder, by its path, under an older Node, through npm.
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import test from 'node:test'
import { promisify } from 'node:util'
import { makeDataDir } from '../../server/test/data-dir.ts'
import { kill, launcher, Program, untilGone } from '../../server/test/e2e/program.ts'

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)

async function carillon(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return run(process.execPath, [launcher, ...args]).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  )
}

/** The Node of the machine, in any version; ours when it has none. */
function machineNode(): string {
  const dirs = process.env['PATH']!.split(delimiter).filter((dir) => !dir.includes('node_modules'))
  return dirs.map((dir) => join(dir, 'node')).find(existsSync) ?? process.execPath
}

test('help lists the main commands and the docs', async () => {
  for (const args of [[], ['--help'], ['-h'], ['help']]) {
    const { code, stdout } = await carillon(...args)
    assert.equal(code, 0)
    for (const word of ['carillon start', 'carillon status', 'docs/config.md', 'docs/cli.md'])
      assert(stdout.includes(word), word)
  }
  const { stdout: startHelp } = await carillon('start', '--help')
  assert.match(startHelp, /--handlers FILE[\s\S]*Ctrl-C or SIGTERM stops everything/)
  assert.match((await carillon('status', '--help')).stdout, /--url URL/)
  assert.match((await carillon('jobs', '--help')).stdout, /carillon jobs create/)
})

test('the version is that of the package', async () => {
  const { stdout } = await carillon('--version')
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
})

test('an unknown command or argument is refused with where to look', async () => {
  const wrong = [
    ['strat'],
    ['start', '--prot'],
    ['start', 'now'],
    ['start', '--handlers'],
    ['status', '--prot'],
  ]
  for (const args of wrong) {
    const { code, stdout, stderr } = await carillon(...args)
    assert.equal(code, 2)
    assert.equal(stdout, '')
    assert.match(stderr, /carillon.*--help/)
  }
})

test('npx finds the command from any sub-folder', async () => {
  const { stdout } = await run('npx', ['--no-install', 'carillon', '--version'], {
    cwd: join(root, 'server/src/lib'),
  })
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
})

test('the command runs under the Node of the machine, by its path in node_modules/.bin', async () => {
  const { stdout } = await run(machineNode(), [join(root, 'node_modules/.bin/carillon'), '--version'], {
    cwd: '/',
  })
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
})

test('status reports readiness and the workers, and fails when no server answers', async (t) => {
  const nobody = await carillon('status', '--url', 'http://127.0.0.1:1')
  assert.equal(nobody.code, 7)
  assert.match(nobody.stderr, /No answer from http:\/\/127\.0\.0\.1:1: /)
  const program = new Program(t, { dataDir: await makeDataDir(t) })
  const url = await program.ready()
  const { code, stdout } = await carillon('status', '--url', url, '--key', program.key())
  assert.equal(code, 0)
  assert.match(stdout, new RegExp(`^ready {2}Carillon .* at ${url}`))
  assert.match(stdout, /^\S{36}\t\S+\tACTIVE\t0\t2000\thttp$/m)
  const wrongKey = await carillon('status', '--url', url, '--key', 'wrong')
  assert.equal(wrongKey.code, 5)
  assert.match(wrongKey.stderr, /The API key is not known/)
})

test('under an older Node the server stops with its launcher, also when that is killed', async (t) => {
  const command = [machineNode(), launcher, 'start']
  const dataDir = await makeDataDir(t)
  const first = new Program(t, { command, dataDir })
  await first.ready()
  const tree = first.tree()
  first.child.kill('SIGTERM')
  assert.equal(await first.exit, 0, first.said())
  await untilGone(tree)
  const second = new Program(t, { command, dataDir })
  await second.ready()
  const killed = second.tree()
  second.child.kill('SIGKILL')
  await untilGone(killed)
})

test('npm start stops with npm, on SIGTERM and on kill -9', async (t) => {
  const dataDir = await makeDataDir(t)
  const first = new Program(t, { command: ['npm', 'start'], dataDir })
  await first.ready()
  const tree = first.tree()
  first.child.kill('SIGTERM')
  await first.exit
  await untilGone(tree)
  const second = new Program(t, { command: ['npm', 'start'], dataDir })
  await second.ready()
  const killed = second.tree()
  kill(second.child.pid!, 'SIGKILL')
  await untilGone(killed)
})

test('every launcher file runs on Node 20 syntax', () => {
  for (const file of ['cli/bin/carillon.js', 'cli/bin/node-package.js', 'tools/link-node.js']) {
    execFileSync(machineNode(), ['--check', join(root, file)])
  }
})

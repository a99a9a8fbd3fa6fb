// npm run newcomer [-- NPM_MAJOR …]: the steps of a stranger with a clean clone, as root in a 0700 directory and as an
// ordinary user, under npm 10, 11 and 12: npm ci, npm start, and every way to end it. Needs root and Linux: it creates
// a user while it runs. Prints how long each start took; fails on the first deviation.
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const majors = process.argv.length > 2 ? process.argv.slice(2) : ['10', '11', '12']
const userName = 'carillon-newcomer'
const port = 17_431
const url = `http://127.0.0.1:${port}`
const root = fileURLToPath(new URL('..', import.meta.url))
// Without node_modules/.bin: the machine's own Node and npm, as a newcomer has them.
const path = process.env['PATH']!.split(':')
  .filter((dir) => !dir.includes('node_modules'))
  .join(':')

interface Person {
  name: string
  uid: number
  gid: number
  home: string
}

const base = mkdtempSync(join(tmpdir(), 'carillon-newcomer-'))
execFileSync('chmod', ['755', base])
try {
  execFileSync('useradd', ['--create-home', '--home-dir', join(base, 'home'), userName])
  for (const major of majors) {
    const npm = installNpm(major)
    for (const person of [
      findPerson('root', join(base, 'root-home')),
      findPerson(userName, join(base, 'home')),
    ]) {
      await visit(person, npm, major)
    }
  }
  console.log('all is as promised')
} finally {
  execFileSync('userdel', [userName])
  rmSync(base, { recursive: true, force: true, maxRetries: 10 })
}

async function visit(person: Person, npm: string, major: string): Promise<void> {
  const checkout = join(base, `${person.name}-${major}`)
  execFileSync('git', ['clone', '--quiet', root, checkout])
  execFileSync('chown', ['-R', `${person.uid}:${person.gid}`, checkout])
  execFileSync('chmod', ['700', checkout])
  const run = (...args: string[]) =>
    spawn('node', [npm, ...args], {
      cwd: checkout,
      uid: person.uid,
      gid: person.gid,
      env: { PATH: path, HOME: person.home, CARILLON_PORT: String(port), TERM: 'dumb' },
      // A process group of its own, as a terminal gives: Ctrl-C reaches all of it.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const say = (what: string, ms: number) =>
    console.log(
      `npm ${major.padEnd(3)}${person.name.padEnd(18)}  ${what.padEnd(48)}${ms.toFixed(0).padStart(6)} ms`,
    )

  const installedMs = performance.now()
  const install = run('ci')
  const said = listen(install)
  assert.equal((await once(install, 'exit'))[0], 0, said())
  say('npm ci', performance.now() - installedMs)

  const ends: [string, (start: ChildProcess, tree: number[]) => void][] = [
    ['Ctrl-C', (start) => process.kill(-start.pid!, 'SIGINT')],
    ['SIGTERM to npm', (start) => start.kill('SIGTERM')],
    ['kill -9 of our process alone', (_, tree) => process.kill(tree.find(isOurs)!, 'SIGKILL')],
    ['kill -9 of the whole tree', (_, tree) => killAll(tree)],
    ['a second start, then Ctrl-C', (start) => process.kill(-start.pid!, 'SIGINT')],
  ]
  for (const [what, end] of ends) {
    const startedMs = performance.now()
    const start = run('start')
    const output = listen(start)
    await until(isReady, 60_000, output)
    const readyMs = performance.now() - startedMs
    assert(readyMs < 5_000, `ready only after ${readyMs} ms`)
    say(`npm start, ready`, readyMs)
    if (what.startsWith('a second start')) await refuseSecond(run('start'), start)
    const tree = treeOf(start.pid!)
    const endedMs = performance.now()
    end(start, tree)
    await until(
      async () => !tree.some(isAlive),
      10_000,
      () => `left after ${what}: ${tree.filter(isAlive).map(commandOf)}`,
    )
    say(`${what}, nothing left`, performance.now() - endedMs)
  }
}

async function refuseSecond(second: ChildProcess, first: ChildProcess): Promise<void> {
  const output = listen(second)
  const [code] = await once(second, 'exit')
  assert.notEqual(code, 0)
  const ours = treeOf(first.pid!).find(isOurs)
  assert.match(output(), new RegExp(`already runs on .*: process ${ours} at ${url}`))
  assert(await isReady())
}

function installNpm(major: string): string {
  const prefix = join(base, `npm-${major}`)
  const env = { ...process.env, PATH: path }
  execFileSync('npm', ['install', '--silent', '--no-audit', '--prefix', prefix, `npm@${major}`], {
    env,
    stdio: 'inherit',
  })
  return join(prefix, 'node_modules/npm/bin/npm-cli.js')
}

function findPerson(name: string, home: string): Person {
  const id = (flag: string) => Number(execFileSync('id', [flag, name]).toString())
  return { name, uid: id('-u'), gid: id('-g'), home }
}

function listen(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk: Buffer) => (text += chunk))
  return () => text
}

async function isReady(): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  )
}

async function until(
  condition: () => Promise<boolean>,
  withinMs: number,
  describe: () => string,
): Promise<void> {
  const startedMs = performance.now()
  while (!(await condition())) {
    if (performance.now() - startedMs > withinMs) assert.fail(describe())
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

function treeOf(pid: number): number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), Number(/\) \S (\d+)/.exec(read(`/proc/${name}/stat`))?.[1])] as const)
  const tree = [pid]
  for (const one of tree) tree.push(...parents.filter(([, parent]) => parent === one).map(([child]) => child))
  return tree
}

function isOurs(pid: number): boolean {
  return commandOf(pid).includes('carillon.js') && !commandOf(pid).includes('npm')
}

function isAlive(pid: number): boolean {
  const state = /\) (\S)/.exec(read(`/proc/${pid}/stat`))?.[1]
  return state !== undefined && state !== 'Z'
}

function commandOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function killAll(pids: number[]): void {
  for (const pid of pids) kill(pid)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it ended meanwhile
  }
}

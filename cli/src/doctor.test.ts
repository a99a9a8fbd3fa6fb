// `carillon doctor` and `carillon completion`, the second in a real bash.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdir, symlink } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import test from 'node:test'
import { promisify } from 'node:util'
import { createClient } from '@carillon/sdk'
import { cleanUp } from '../../server/test/cleanup.ts'
import { launcher } from '../../server/test/e2e/program.ts'
import { cli, startServer } from '../test/cli.ts'
import { checkCommands, checkConnections, checkHistory, checkRowSecurity } from './doctor-checks.ts'

const run = promisify(execFile)
const words = (text: string) => text.trim().split(/\s+/)

interface Found {
  checks: { name: string; state: string; detail: string; advice: string | null }[]
  summary: { ok: number; warn: number; fail: number }
}

test('carillon doctor says that row-level security is off, and which SQL turns it on', () => {
  const off = { active: false, reason: 'carillon may not create roles', remedy: 'CREATE ROLE a;' }
  assert.deepEqual(checkRowSecurity(off), {
    name: 'row security',
    state: 'warn',
    detail: 'is off: carillon may not create roles',
    advice: 'as an administrator of the database run: CREATE ROLE a; Then restart the server',
  })
  assert.equal(checkRowSecurity({ active: true, reason: null, remedy: null }).state, 'ok')
})

test('carillon doctor says when schedulers fold history themselves, and when no process does', () => {
  assert.deepEqual(checkHistory(2, 3), {
    name: 'history',
    state: 'ok',
    detail: 'folded by 2 processes with the role history',
    advice: null,
  })
  const advice = 'start a server with the role history: CARILLON_ROLES'
  const detail = 'no process has the role history: the schedulers fold it themselves'
  assert.deepEqual(checkHistory(0, 1), { name: 'history', state: 'warn', detail, advice })
  const none = 'no process folds it: the numbers of dashboards are not updated'
  assert.deepEqual(checkHistory(0, 0), { name: 'history', state: 'fail', detail: none, advice })
})

test('carillon doctor says as which user a server of root runs commands, or why none runs', async () => {
  const jobs = { uid: 990, gid: 990 }
  const examine = async (env: Record<string, string>, found: typeof jobs | null, self = 0) => {
    const makeUser = async () => assert.fail('the doctor makes nothing')
    const deps = { self, findUser: async () => found, makeUser }
    const all = { CARILLON_ARTIFACTS: 'on', CARILLON_DATA: '/nowhere', ...env }
    const checks = []
    for await (const check of checkCommands(all, deps)) checks.push(check)
    return checks.map(({ state, detail }) => [state, detail])
  }
  assert.deepEqual(await examine({}, jobs), [['ok', 'run as the user with id 990']])
  const none = 'Commands and bundles do not run on this server'
  const missing = `${none}: there is no user of the name in CARILLON_COMMANDS_USER. Set CARILLON_COMMANDS_USER.`
  assert.deepEqual(await examine({ CARILLON_COMMANDS_USER: 'batch' }, null), [['fail', missing]])
  const [[state, detail]] = (await examine({ CARILLON_COMMANDS_USER: '0' }, jobs)) as [[string, string]]
  assert.deepEqual([state, detail], ['fail', 'CARILLON_COMMANDS_USER is root, as whom no command runs'])
  assert.deepEqual(await examine({}, jobs, 1_000), [], 'an ordinary user runs them itself')
  assert.deepEqual(await examine({ CARILLON_ARTIFACTS: 'off' }, jobs), [])
})

test('carillon doctor says when the database accepts fewer connections than the server may open', () => {
  const { state, detail, advice } = checkConnections({ most: 97, in_use: 40, wanted: 160 })
  assert.equal(state, 'warn')
  assert.equal(detail, 'the database accepts 97 connections and 40 are in use; this server may open 160')
  assert.match(advice!, /max_connections.*CARILLON_DATABASE_CONNECTIONS/)
  assert.equal(checkConnections({ most: 97, in_use: 90, wanted: 20 }).state, 'warn')
  assert.equal(checkConnections({ most: 97, in_use: 40, wanted: 97 }).state, 'ok')
})

test('carillon doctor and completion', async (t) => {
  const server = await startServer(t)
  const examine = async (...args: string[]) => {
    const { code, out } = await server.call(['doctor', '--json', ...args])
    const found = JSON.parse(out) as Found
    return { code, ...found, of: (name: string) => found.checks.find((check) => check.name === name) }
  }

  await t.test('a healthy server passes every check', async () => {
    const { code, summary, checks, of } = await examine()
    assert.deepEqual([code, summary.warn, summary.fail], [0, 0, 0], JSON.stringify(checks, null, 1))
    assert.match(of('key')!.detail, /read, write, operate, admin, operator$/)
    assert.match(of('schedulers')!.detail, /^64 of 64 partitions are held, by 1 scheduler$/)
    assert.equal(of('history')!.detail, 'folded by 1 process with the role history')
    assert.match(of('workers')!.detail, /^1 alive/)
    assert.match(
      of('connections')!.detail,
      /^the database accepts 97 connections and \d+ are in use; this server opens at most 24$/,
    )
    assert.match(of('clock')!.detail, /within a second/)
    assert.match(of('disk')!.detail, /GiB free/)
    const { out, err } = await server.call(['doctor'], { columns: 80 })
    assert.match(out, /^✓ ok {4}server +answers at/)
    assert.match(err, /\d+ ok, 0 to look at, 0 wrong/)
  })

  await t.test('each problem is reported with advice, and the doctor ends with exit code 9', async () => {
    const wrong = await examine('--key', 'crl_wrong')
    assert.equal(wrong.code, 9)
    assert.equal(wrong.of('key')!.state, 'fail')
    const away = await cli(words('doctor --json --url http://127.0.0.1:1'))
    assert.equal(away.code, 9)
    assert.match(JSON.parse(away.out).checks[0].advice, /carillon start/)
    const keyFile = join(server.dataDir, 'api-key')
    await chmod(keyFile, 0o644)
    assert.equal((await examine()).of('data')!.advice, `chmod 600 ${keyFile}`)
    await chmod(keyFile, 0o600)
  })

  await t.test('the doctor finds the scopes of a key without changing anything', async () => {
    const client = createClient({ url: server.url, key: server.key })
    const { key } = await client.apiKeys.create({ name: 'reader', scopes: ['read', 'operate'] })
    const { of, code } = await examine('--key', key!)
    assert.equal(code, 0)
    assert.match(of('key')!.detail, /: read, operate$/)
    assert.equal(of('schedulers'), undefined)
    assert.deepEqual((await client.jobs.list().page()).jobs, [])
    assert.deepEqual((await client.operations.list().page()).operations, [])
  })

  await t.test('dead letters are pointed out, with the way to them', async () => {
    const made = words(
      'jobs create --name dies --job-key dies --schedule now --retries 0 --wait --callback-url',
    )
    await server.call([...made, `${server.url}/echo?status=500`])
    const { of, code } = await examine()
    assert.deepEqual([code, of('dead letters')!.state], [0, 'warn'])
    assert.equal(of('dead letters')!.advice, 'carillon dead-letters list')
  })

  await t.test('a clock that is off is found', async () => {
    const late = createServer((_request, response) => {
      response.setHeader('date', new Date(Date.now() - 40_000).toUTCString())
      response.end(
        JSON.stringify({ status: 'ready', version: '9.9.9', roles: [], checks: { database: 'away' } }),
      )
    })
    late.listen(0, '127.0.0.1')
    cleanUp(t, () => late.close())
    await new Promise((resolve) => late.once('listening', resolve))
    const url = `http://127.0.0.1:${(late.address() as AddressInfo).port}`
    const { code, out } = await cli(['doctor', '--json', '--url', url], {
      env: { CARILLON_DATA: '/nowhere' },
    })
    assert.equal(code, 9)
    const states = new Map((JSON.parse(out) as Found).checks.map(({ name, state }) => [name, state]))
    assert.deepEqual(
      ['clock', 'version', 'ready: database', 'key'].map((name) => states.get(name)),
      ['fail', 'warn', 'fail', 'fail'],
    )
  })

  await t.test('bash completes commands, options, their values and the names of jobs', async () => {
    await server.call([
      ...words('jobs create --name x --job-key nightly --schedule @yearly --callback-url'),
      server.url,
    ])
    const bin = join(server.dataDir, 'bin')
    await mkdir(bin)
    await symlink(launcher, join(bin, 'carillon'))
    const { out: script } = await cli(['completion', 'bash'])
    const complete = async (line: string) => {
      const typed = line.split(' ')
      const code = `${script}
COMP_WORDS=(${typed.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${typed.length - 1}; _carillon; printf '%s\\n' "\${COMPREPLY[@]}"`
      const { stdout } = await run('bash', ['-c', code], {
        env: {
          PATH: [bin, process.env['PATH']].join(delimiter),
          CARILLON_URL: server.url,
          CARILLON_API_KEY: server.key,
        },
      })
      return stdout.trim().split('\n')
    }
    assert.deepEqual(await complete('carillon dea'), ['dead-letters'])
    assert.deepEqual(await complete('carillon jobs pa'), ['pause'])
    assert.deepEqual(await complete('carillon jobs list --sta'), ['--status'])
    assert.deepEqual(await complete('carillon jobs list --status PA'), ['PAUSED'])
    assert.deepEqual(await complete('carillon jobs pause nig'), ['nightly'])
    assert.deepEqual(await complete('carillon completion f'), ['fish'])
  })

  await t.test('the scripts of zsh and fish ask the same', async () => {
    for (const shell of ['zsh', 'fish']) {
      const { code, out } = await cli(['completion', shell])
      assert.equal(code, 0)
      assert.match(out, /carillon __complete -- /)
    }
  })
})

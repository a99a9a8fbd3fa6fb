import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { ConfigError, checkoutDir, commandVariables, processesFor, readConfig, runsCommands } from './read.ts'
import { SETTINGS } from './settings.ts'

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env)
  } catch (error) {
    assert(error instanceof ConfigError)
    return error.problems
  }
  return []
}

test('without any variable the laptop defaults hold', () => {
  const config = readConfig({})
  assert.equal(config.port, 7420)
  assert.equal(config.host, '127.0.0.1')
  assert.equal(config.dataDir, join(checkoutDir, '.carillon'))
  assert.deepEqual(config.roles, ['api', 'scheduler', 'worker', 'history'])
  assert.equal(config.drainMs, 8_000)
  assert.equal(config.misfireAfterMs, 60_000)
  assert.deepEqual(config.privateTargets, { kind: 'own_tenant' })
  assert(Object.isFrozen(config))
})

test('private targets are refused by default once others can reach the API', () => {
  assert.deepEqual(readConfig({ CARILLON_HOST: '0.0.0.0' }).privateTargets, { kind: 'refuse' })
  assert.deepEqual(readConfig({ CARILLON_HOST: '127.0.0.9' }).privateTargets, { kind: 'own_tenant' })
  const proxied = { CARILLON_PUBLIC_URL: 'https://jobs.example.com' }
  assert.deepEqual(readConfig(proxied).privateTargets, { kind: 'refuse' })
  const allowed = readConfig({ ...proxied, CARILLON_ALLOW_PRIVATE_TARGETS: 'true' })
  assert.deepEqual(allowed.privateTargets, { kind: 'allow' })
  assert.deepEqual(
    readConfig({ CARILLON_HOST: '0.0.0.0', CARILLON_ALLOW_PRIVATE_TARGETS: '10.0.0.0/8, fd00::/8' })
      .privateTargets,
    {
      kind: 'listed',
      cidrs: ['10.0.0.0/8', 'fd00::/8'],
    },
  )
})

test('an external database gets the longer drain of a fleet', () => {
  assert.equal(readConfig({ CARILLON_DATABASE_URL: 'postgres://u:p@db/carillon' }).drainMs, 30_000)
  assert.equal(
    readConfig({ CARILLON_DATABASE_URL: 'postgres://u:p@db/carillon', CARILLON_DRAIN_SECONDS: '0' }).drainMs,
    0,
  )
})

test('an empty variable counts as absent', () => {
  assert.equal(readConfig({ CARILLON_PORT: '', CARILLON_DATABASE_URL: '' }).port, 7420)
})

const malformed: [string, string][] = [
  ['CARILLON_PORT', '70000'],
  ['CARILLON_PORT', '74.2'],
  ['CARILLON_PORT', '0x10'],
  ['CARILLON_HOST', 'not a host'],
  ['CARILLON_DATABASE_URL', 'mysql://localhost/x'],
  ['CARILLON_DATABASE_URL', 'postgres://localhost'],
  ['CARILLON_API_KEY', 'short'],
  ['CARILLON_API_KEY', '0123456789abcdef0123456789abcde'],
  ['CARILLON_API_KEY', 'changeme'.repeat(5)],
  ['CARILLON_ROLES', 'api,schedular'],
  ['CARILLON_PROCESSES', '0'],
  ['CARILLON_DRAIN_SECONDS', '-1'],
  ['CARILLON_OUTAGE_SECONDS', 'soon'],
  ['CARILLON_OUTAGE_SECONDS', '9'],
  ['CARILLON_MISFIRE_AFTER_SECONDS', '0'],
  ['CARILLON_ALLOW_PRIVATE_TARGETS', '10.0.0.0/33'],
  ['CARILLON_ALLOW_PRIVATE_TARGETS', 'yes'],
  ['CARILLON_TRUSTED_PROXIES', '127.0.0.1'],
  ['CARILLON_PUBLIC_URL', 'jobs.example.com'],
  ['CARILLON_PUBLIC_URL', 'https://jobs.example.com/?a=1'],
  ['CARILLON_LABELS', 'eu west'],
  ['CARILLON_SHELL_COMMANDS', '/bin/true?env=A-B'],
  ['CARILLON_SHELL_COMMANDS', '/bin/true?vars=A'],
  ['CARILLON_SHELL_COMMANDS', '/bin/true,false'],
  ['CARILLON_ARTIFACTS', 'true'],
  ['CARILLON_ARTIFACT_CPU_SECONDS', '0'],
  ['CARILLON_ARTIFACT_MEMORY_MB', '63'],
  ['CARILLON_COMMANDS_MAX', '0'],
  ['CARILLON_LOG_LEVEL', 'loud'],
]
for (const [name, value] of malformed) {
  test(`${name}=${value} stops the start with a message that names the variable`, () => {
    const problems = problemsOf({ [name]: value })
    assert.equal(problems.length, 1)
    assert(problems[0]!.startsWith(`${name}: `))
  })
}

test('commands and bundles are off by default, and run where there is a worker', () => {
  const plain = readConfig({})
  assert.deepEqual([plain.shellCommands, plain.artifacts, runsCommands(plain)], [[], false, false])
  const allowed = { CARILLON_SHELL_COMMANDS: '/bin/true, /opt/my job.sh?env=TARGET&env=MODE' }
  const shell = readConfig(allowed)
  assert.deepEqual(shell.shellCommands, [
    { path: '/bin/true', env: [] },
    { path: '/opt/my job.sh', env: ['TARGET', 'MODE'] },
  ])
  assert(runsCommands(shell))
  assert(!runsCommands(readConfig({ ...allowed, CARILLON_ROLES: 'api,scheduler' })))
  assert(runsCommands(readConfig({ CARILLON_ARTIFACTS: 'on' })))
})

test('labels and the public address are taken in one form', () => {
  assert.deepEqual(readConfig({ CARILLON_LABELS: 'gpu, eu-west,gpu' }).labels, ['eu-west', 'gpu'])
  assert.equal(readConfig({ CARILLON_PUBLIC_URL: 'https://a.example/x/' }).publicUrl, 'https://a.example/x')
  assert.equal(readConfig({}).publicUrl, null)
})

test('a command gets the variables of our environment that it needs to run, and nothing else', () => {
  const env = { PATH: '/a', LANG: 'C.UTF-8', CARILLON_API_KEY: 'secret', HOME: '/root' }
  assert.deepEqual(commandVariables(env), { PATH: '/a', LANG: 'C.UTF-8' })
  assert.deepEqual(commandVariables({}), { PATH: '/usr/local/bin:/usr/bin:/bin' })
})

test('a misspelt variable is refused with the near name', () => {
  assert.deepEqual(problemsOf({ CARILLON_PROT: '1' }), [
    'CARILLON_PROT is not a setting. Did you mean CARILLON_PORT?',
  ])
  assert.deepEqual(problemsOf({ CARILLON_SOMETHING_ELSE: '1' }), [
    'CARILLON_SOMETHING_ELSE is not a setting.',
  ])
  // A variable for clients, set in the shell of a user that tries both.
  assert.doesNotThrow(() => readConfig({ CARILLON_URL: 'http://127.0.0.1:7420' }))
})

test('a weak operator key is refused with advice, and a random one is taken', () => {
  for (const weak of ['0123456789abcdef0123456789abcde', 'changeme'.repeat(5)]) {
    const [problem] = problemsOf({ CARILLON_API_KEY: weak })
    assert.match(
      problem!,
      /^CARILLON_API_KEY: the given value .*; make a random one with `openssl rand -hex 32`/,
    )
    assert(!problem!.includes(weak))
  }
  const good = '3f9a1c77be02d4586a1e9c0b7d5f2483'
  assert.equal(readConfig({ CARILLON_API_KEY: good }).apiKey, good)
})

test('all problems are reported at once and no secret is repeated', () => {
  const problems = problemsOf({
    CARILLON_PORT: 'x',
    CARILLON_API_KEY: 'hunter2',
    CARILLON_DATABASE_URL: 'x:pw@y',
  })
  assert.equal(problems.length, 3)
  assert(!problems.join().includes('hunter2') && !problems.join().includes('pw'))
})

test('child processes need something besides the api to do', () => {
  assert.match(problemsOf({ CARILLON_ROLES: 'api', CARILLON_PROCESSES: '2' })[0]!, /^CARILLON_PROCESSES: /)
})

test('without a number there is a process for every two cores, where there is work for it', () => {
  const all = ['api', 'scheduler', 'worker', 'history'] as const
  assert.deepEqual(
    [1, 2, 3, 4, 8, 64].map((cores) => processesFor(all, cores)),
    [1, 1, 1, 2, 4, 8],
  )
  assert.equal(processesFor(['worker'], 8), 4)
  assert.equal(processesFor(['api', 'scheduler'], 8), 4)
  assert.equal(processesFor(['api', 'history'], 8), 1)
})

test('a number of processes that is given holds, however many cores there are', () => {
  assert.equal(readConfig({}, 1).processes, 1)
  assert.equal(readConfig({}, 8).processes, 4)
  assert.equal(readConfig({ CARILLON_PROCESSES: '1' }, 8).processes, 1)
  assert.equal(readConfig({ CARILLON_PROCESSES: '3' }, 1).processes, 3)
  assert.equal(readConfig({ CARILLON_ROLES: 'api' }, 8).processes, 1)
})

test('docs/config.md matches the settings in the code', async () => {
  const doc = await readFile(join(checkoutDir, 'docs/config.md'), 'utf8')
  const rows = doc.split('\n').filter((line) => line.startsWith('| `CARILLON_'))
  const expected = Object.entries(SETTINGS).map(([name, { fallback, meaning }]) => {
    const shown = fallback.startsWith('(') ? fallback.slice(1, -1) : `\`${fallback}\``
    return `| \`${name}\` | ${shown} | ${meaning} |`
  })
  assert.deepEqual(rows, expected)
})

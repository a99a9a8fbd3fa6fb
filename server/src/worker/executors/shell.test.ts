import assert from 'node:assert/strict'
import { readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../../test/cleanup.ts'
import { callOf, createListener, membersOf, setupCommands, untilEnded } from '../../../test/commands.ts'
import { logBytesMax } from '../../domain/history/log.ts'
import type { LocalCall } from '../../ports/executor.ts'
import { createShellExecutor } from './shell.ts'

async function setup(t: TestContext) {
  const parts = await setupCommands(t)
  const { deps, script } = parts
  const listener = createListener()
  /** Runs a script, which the list allows. */
  const run = async (
    text: string,
    more: { args?: string[]; env?: Record<string, string> } & Partial<LocalCall> = {},
  ) => {
    const { args = [], env = {}, ...call } = more
    const command = await script('job.sh', text)
    const execution = { type: 'shell', command, args, env, timeout_seconds: 60 } as const
    const allowed = [{ path: command, env: Object.keys(env) }]
    return createShellExecutor(deps, allowed).run(callOf(execution, call), listener.context)
  }
  return { ...parts, listener, run }
}

const messages = (lines: readonly [string, string][], level: string) =>
  lines.filter(([one]) => one === level).map(([, message]) => message)

/** Each makes some program run other code. */
const dangerous = [
  ...['LD_PRELOAD', 'LD_LIBRARY_PATH', 'DYLD_INSERT_LIBRARIES', 'GCONV_PATH', 'LOCPATH', 'GLIBC_TUNABLES'],
  ...['PATH', 'HOME', 'IFS', 'ENV', 'BASH_ENV', 'SHELLOPTS', 'PS4', 'PROMPT_COMMAND', 'ZDOTDIR'],
  ...['TAR_OPTIONS', 'GIT_SSH_COMMAND', 'GIT_CONFIG_COUNT', 'RSYNC_RSH', 'PAGER', 'EDITOR', 'LESSOPEN'],
  ...['OPENSSL_CONF', 'CURL_HOME', 'WGETRC', 'PSQLRC', 'PGSERVICEFILE', 'XDG_CONFIG_HOME', 'MAKEFLAGS'],
  ...['PYTHONPATH', 'PYTHONSTARTUP', 'PERL5OPT', 'RUBYOPT', 'NODE_OPTIONS', 'NODE_REDIRECT_WARNINGS'],
  ...['LUA_INIT', 'CLASSPATH', 'JAVA_TOOL_OPTIONS', 'PHPRC', 'DOTNET_STARTUP_HOOKS'],
]

test('a command gets its arguments and its payload as they are; its output is its log and its result', async (t) => {
  const { run, listener } = await setup(t)
  const args = ['$HOME; rm -rf /', '', "it's", '*']
  const word = await run('for a in "$@"; do echo "[$a]"; done; cat; echo; echo oops >&2', {
    args,
    payload: '{"a":"ü"}',
  })
  const said = [...args.map((one) => `[${one}]`), '{"a":"ü"}']
  assert.deepEqual(word, { error: null, preview: said.join('\n') })
  assert.deepEqual(messages(listener.lines, 'info'), said)
  assert.deepEqual(messages(listener.lines, 'error'), ['oops'])
})

test('a command sees an environment of its own, and none of ours', async (t) => {
  const { run, listener, base } = await setup(t)
  process.env['OUR_SECRET'] = 'x'
  cleanUp(t, () => delete process.env['OUR_SECRET'])
  await run('/usr/bin/env; echo "at $(pwd)"; /bin/ls -a', {
    env: { GREETING: 'hello' },
    checkpoint: { row: 7 },
    runId: 'r',
  })
  const said = messages(listener.lines, 'info')
  const home = said.find((line) => line.startsWith('at '))!.slice(3)
  assert(home.startsWith(join(base, 'attempt-')), home)
  const expected = [
    'PATH=/usr/local/bin:/usr/bin:/bin',
    `HOME=${home}`,
    `CARILLON_DIRECTORY=${home}`,
    'GREETING=hello',
    'CARILLON_EXECUTION_ID=00000000-0000-7000-8000-00000000000e',
    'CARILLON_JOB_ID=00000000-0000-7000-8000-00000000000a',
    'CARILLON_ATTEMPT=2',
    `CARILLON_IDEMPOTENCY_KEY=${'k'.repeat(32)}`,
    'CARILLON_SCHEDULED_TIME=2026-01-01T00:00:00Z',
    'CARILLON_CHECKPOINT={"row":7}',
    'CARILLON_GRAPH_RUN_ID=r',
  ]
  // The script's own shell adds where it is.
  const env = said.filter((line) => /^\w+=/.test(line) && !/^(PWD|OLDPWD|SHLVL|_)=/.test(line))
  assert.deepEqual(env.toSorted(), expected.toSorted())
  assert.deepEqual(said.slice(said.indexOf(`at ${home}`) + 1), ['.', '..'], 'its directory is empty')
  assert.deepEqual(await readdir(base), ['job.sh'], 'and gone afterwards')
})

test('a checkpoint that is too large for the environment is left out', async (t) => {
  const { run } = await setup(t)
  const word = await run('/usr/bin/env | grep -c CARILLON_CHECKPOINT; true', {
    checkpoint: 'x'.repeat(65_536),
  })
  assert.equal(word.preview, '0')
})

test('only programs on the allowlist run, under any name that a job uses for them', async (t) => {
  const { deps, script, base, listener } = await setup(t)
  const good = await script('good.sh', 'echo good $0')
  const other = await script('other.sh', 'echo other')
  const alias = join(base, 'alias.sh')
  await symlink(good, alias)
  const sly = join(base, 'good.sh2')
  await symlink(other, sly)
  const run = (command: string, paths: string[], env = {}) => {
    const allowed = paths.map((path) => ({ path, env: ['TARGET'] }))
    const call = callOf({ type: 'shell', command, args: [], env, timeout_seconds: 60 })
    return createShellExecutor(deps, allowed).run(call, listener.context)
  }
  assert.equal((await run(good, [good])).preview, `good ${good}`)
  assert.equal((await run(good, [alias])).preview, `good ${alias}`, 'the name of the list is used')
  assert.equal((await run(alias, [good])).preview, `good ${good}`)
  const forbidden = (message: string) => ({ error: { type: 'TARGET_FORBIDDEN', message }, preview: null })
  const text = (path: string) => `/execution/command: CARILLON_SHELL_COMMANDS does not allow ${path}.`
  assert.deepEqual(await run(other, [good]), forbidden(text(other)))
  assert.deepEqual(await run(sly, [good]), forbidden(text(sly)))
  assert.deepEqual(await run(good, []), forbidden(text(good)))
  assert.deepEqual(await run('/nowhere', [good]), forbidden(text('/nowhere')))
  assert.equal((await run(good, [good], { TARGET: 's3' })).preview, `good ${good}`)
  for (const name of dangerous) {
    const { error } = await run(good, [good], { TARGET: 's3', [name]: 'x' })
    assert.equal(error?.type, 'TARGET_FORBIDDEN')
    const expected = `/execution/env: CARILLON_SHELL_COMMANDS does not allow ${name} for this program; ${good}?env=${name} would.`
    assert.equal(error!.message, expected)
  }
})

test('how a command ended is told as it was', async (t) => {
  const { run, deps, base, listener } = await setup(t)
  const error = (message: string) => ({ type: 'EXIT_CODE', message })
  assert.deepEqual(await run('echo partly; exit 3'), {
    error: error('Exited with code 3'),
    preview: 'partly',
  })
  assert.deepEqual((await run('kill -SEGV $$')).error, error('Killed by SIGSEGV'))
  const missing = join(base, 'missing')
  const shell = createShellExecutor(deps, [
    { path: missing, env: [] },
    { path: join(base, 'job.txt'), env: [] },
  ])
  const call = (command: string) => callOf({ type: 'shell', command, args: [], env: {}, timeout_seconds: 1 })
  assert.deepEqual(await shell.run(call(missing), listener.context), {
    error: error(`${missing} could not be started: ENOENT.`),
    preview: null,
    isFinal: true,
  })
})

test('a line that begins with ::carillon is a note', async (t) => {
  const { run, listener } = await setup(t)
  const word = await run(
    [
      `echo '::carillon {"progress":0.5,"message":"half","checkpoint":{"row":5}}'`,
      `echo '::carillon {"progress":7}'`,
      `echo '::carillon no json'`,
      `echo '::carillon {}'`,
      'echo done',
    ].join('\n'),
  )
  assert.deepEqual(listener.notes, [{ progress: 0.5, message: 'half', checkpoint: { row: 5 } }, {}, {}])
  assert.deepEqual(messages(listener.lines, 'info'), ['::carillon no json', 'done'])
  assert.deepEqual(messages(listener.lines, 'warn'), ['progress is a number from 0 to 1; it was left out'])
  assert.equal(word.preview, '::carillon no json\ndone')
})

test('output without end costs bounded memory: the head is kept, the rest is dropped', async (t) => {
  const { run, listener } = await setup(t)
  const word = await run(
    `printf '\\0ü'; head -c 300000 /dev/zero | tr '\\0' 'x'; echo; yes line | head -n 100000`,
  )
  assert.equal(word.error, null)
  assert(Buffer.byteLength(word.preview!) <= 4_096)
  assert(word.preview!.startsWith('\ufffdüxxx'))
  const bytes = listener.lines.reduce((sum, [, message]) => sum + Buffer.byteLength(message) + 32, 0)
  assert(bytes > logBytesMax && bytes < logBytesMax + 10_000, String(bytes))
  assert.equal(listener.lines[0]![1].length, 8_192)
})

test('an input that nobody reads does no harm', async (t) => {
  const { run } = await setup(t)
  assert.deepEqual(await run('exit 0', { payload: JSON.stringify('x'.repeat(1_000_000)) }), {
    error: null,
    preview: null,
  })
})

test('an aborted command is asked to stop, with everything it started', async (t) => {
  const { run, listener, all } = await setup(t)
  const ended = run(
    'sh -c \'trap "sleep 1; echo tidy; exit" TERM; echo up; while :; do sleep 0.05; done\' & wait',
  )
  await listener.says(/^up$/)
  assert.equal(membersOf(all[0]!).length > 1, true)
  listener.stop()
  await ended
  assert.deepEqual(messages(listener.lines, 'info'), ['up', 'tidy'], 'a grandchild had the time to tidy up')
  await untilEnded(all)
})

test('a command that does not stop is killed, with everything it started', async (t) => {
  const { run, listener, all, known } = await setup(t)
  const ended = run("trap '' TERM; (trap '' TERM; echo up; sleep 1000) & wait; wait; sleep 1000")
  await listener.says(/^up$/)
  listener.stop()
  const word = await ended
  assert.equal(word.error?.message, 'Killed by SIGKILL')
  await untilEnded(all)
  assert.equal(known.size, 0)
})

test('when we are on our way out nobody is asked first', async (t) => {
  const { run, listener, groups } = await setup(t)
  const ended = run("trap 'echo asked' TERM; echo up; while :; do sleep 0.05; done")
  await listener.says(/^up$/)
  groups.inHaste = true
  listener.stop()
  await ended
  assert.deepEqual(messages(listener.lines, 'info'), ['up'])
})

test('processes that a command leaves behind end with it', async (t) => {
  const { run, all } = await setup(t)
  // One holds our pipes, one does not.
  const word = await run('sleep 1000 & sleep 1000 >/dev/null 2>&1 </dev/null & echo done')
  assert.deepEqual(word, { error: null, preview: 'done' })
  await untilEnded(all)
})

test('a grandchild that left the group and holds the pipes is not waited for', async (t) => {
  const { run, all } = await setup(t)
  const word = await run("setsid sh -c 'echo $$ ; exec sleep 1000' & sleep 0.2; echo done")
  const away = Number(word.preview!.split('\n')[0])
  process.kill(away, 'SIGKILL')
  assert.deepEqual([word.error, word.preview], [null, `${away}\ndone`])
  await untilEnded(all)
})

test('nothing begins before its group is known, and nothing at all when nobody would kill it', async (t) => {
  const { run, groups, listener, all } = await setup(t)
  groups.started = async (group: number) => {
    all.push(group)
    throw new Error('the parent is gone')
  }
  const word = await run('echo began')
  assert.equal(word.error?.type, 'EXIT_CODE')
  assert.deepEqual(listener.lines, [])
})

test('a command that was aborted before it began does not begin', async (t) => {
  const { run, listener, all } = await setup(t)
  listener.stop()
  await run('echo began')
  assert.deepEqual([listener.lines, all], [[], []])
})

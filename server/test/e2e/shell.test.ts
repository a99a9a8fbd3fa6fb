// Shell commands in a real Carillon: the effects a command may have on other commands, on its worker, and on the
// machine.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { isAlive } from '../../src/embedded-postgres/leash.ts'
import { membersOf, untilEnded, untilGone } from '../commands.ts'
import { until, untilStatus } from './api.ts'
import { ended, pidsIn, start } from './shell-scene.ts'

test('a time-out and a cancel end a command with everything it started', async (t) => {
  const { api, run, dir } = await start(
    t,
    `trap '' TERM
     echo $$ >> "${'$'}{OUT}"
     (trap '' TERM; sleep 1000) & sleep 1000 & wait; sleep 1000`,
  )
  const OUT = join(dir, 'pids')
  const late = await run({ env: { OUT }, timeout_seconds: 1 })
  const { attempts } = await ended(api, late)
  assert.deepEqual([attempts[0]!.outcome, attempts[0]!.error?.type], ['timed_out', 'TIMEOUT'])
  const unwanted = await run({ env: { OUT } })
  await until(async () => ((await pidsIn(OUT)).length === 2 ? true : null), 'it runs')
  await api.post(`/executions/${unwanted}/cancel`, {}, 202)
  await untilStatus(api, unwanted, 'CANCELLED')
  await until(async () => ((await pidsIn(OUT)).flatMap(membersOf).length === 0 ? true : null), 'all are gone')
})

test('a command runs with its payload, a scrubbed environment, its checkpoint and a log', async (t) => {
  const { api, run } = await start(
    t,
    `echo "::carillon {\\"progress\\":0.5,\\"message\\":\\"half\\",\\"checkpoint\\":{\\"row\\":7}}"
     echo "got $(cat) at ${'$'}{CARILLON_CHECKPOINT:-nothing}"
     /usr/bin/env | grep -v '^PWD=' | cut -d= -f1 | sort | tr '\\n' ' '
     [ "$CARILLON_ATTEMPT" = 2 ] || exit 3`,
  )
  const retry_policy = { max_retries: 1, initial_delay_ms: 100 }
  const id = await run({ payload: { a: 1 }, env: { MINE: '1' } }, { retry_policy })
  const { status, attempts } = await ended(api, id)
  assert.equal(status, 'SUCCEEDED')
  const [first, second] = attempts.toSorted((a, b) => a.attempt_number - b.attempt_number)
  assert.deepEqual([first!.error?.type, first!.error?.message], ['EXIT_CODE', 'Exited with code 3'])
  assert.equal(second!.error, null)
  const { logs } = await api.get<{ logs: { attempt_number: number; level: string; message: string }[] }>(
    `/executions/${id}/logs`,
  )
  const lines = (attempt: number) =>
    logs.filter((one) => one.attempt_number === attempt).map(({ message }) => message.trim())
  const names = [
    'ATTEMPT',
    'CHECKPOINT',
    'DIRECTORY',
    'EXECUTION_ID',
    'IDEMPOTENCY_KEY',
    'JOB_ID',
    'SCHEDULED_TIME',
  ]
  const envOf = (all: string[]) =>
    [
      ...all.map((name) => `CARILLON_${name}`),
      'HOME',
      ...(process.env['LANG'] ? ['LANG'] : []),
      'MINE',
      'PATH',
    ].join(' ')
  assert.deepEqual(lines(1), ['got {"a":1} at nothing', envOf(names.filter((name) => name !== 'CHECKPOINT'))])
  assert.deepEqual(lines(2), ['got {"a":1} at {"row":7}', envOf(names)])
})

test('a command that is not on the list is refused with the name of the setting', async (t) => {
  const { api, createJob, trigger } = await start(t, 'true')
  const id = await trigger(await createJob({ type: 'shell', command: '/bin/true' }))
  const { status, attempts } = await ended(api, id)
  assert.equal(status, 'FAILED')
  const { type, message } = attempts[0]!.error!
  assert.equal(type, 'TARGET_FORBIDDEN')
  assert.equal(message, '/execution/command: CARILLON_SHELL_COMMANDS does not allow /bin/true.')
})

test('a server that stops lets a command end, and a command that takes too long is lost and runs again', async (t) => {
  const { program, api, run, dir, restart } = await start(
    t,
    `echo $$ >> "${'$'}{OUT}"; [ "$CARILLON_ATTEMPT-$1" = 1-long ] && [ ! -e "${'$'}{OUT}.again" ] && { touch "${'$'}{OUT}.again"; sleep 1000; }; sleep 1; echo done`,
  )
  const OUT = join(dir, 'pids')
  const short = await run({ env: { OUT } })
  const long = await run({ env: { OUT }, args: ['long'] })
  await until(async () => ((await pidsIn(OUT)).length === 2 ? true : null), 'both run')
  process.kill(program.child.pid!, 'SIGTERM')
  assert.equal(await program.exit, 0, program.said())
  await untilEnded(await pidsIn(OUT))
  const again = await restart()
  for (const [id, outcomes] of [
    [short, ['succeeded']],
    [long, ['lost', 'succeeded']],
  ] as const) {
    const { status, attempts } = await ended(again, id)
    assert.equal(status, 'SUCCEEDED')
    assert.deepEqual(
      attempts.map(({ outcome }) => outcome),
      outcomes,
      JSON.stringify(attempts),
    )
  }
  assert.equal((await pidsIn(OUT)).length, 3, 'only the long one began anew')
  assert(api !== again)
})

const ends = [
  ['SIGTERM', 'the server'],
  ['SIGKILL', 'the server'],
  ['SIGKILL', 'the process that runs commands'],
] as const
for (const [signal, killed] of ends) {
  test(`a process that leaves its group and its session is gone after its attempt, and after ${signal} to ${killed}`, async (t) => {
    const { program, api, run, dir } = await start(
      t,
      `setsid sh -c 'setsid sleep 1000 >/dev/null 2>&1 & echo $! >> "${'$'}{OUT}"' & wait
       echo $PPID > "${'$'}{OUT}.parent"; [ "$1" != stay ] || sleep 1000`,
    )
    const OUT = join(dir, 'pids')
    const { status } = await ended(api, await run({ env: { OUT } }))
    assert.equal(status, 'SUCCEEDED')
    const [worker] = await pidsIn(`${OUT}.parent`)
    await run({ env: { OUT }, args: ['stay'] })
    const both = await until(async () => {
      const pids = await pidsIn(OUT)
      return pids.length === 2 ? pids : null
    }, 'both run')
    await untilGone(both[0]!)
    assert.equal(isAlive(both[1]!), true)
    process.kill(killed === 'the server' ? program.child.pid! : worker!, signal)
    await untilGone(both[1]!)
  })
}

test('a command runs as another user than a server of root, and its use is recorded', async (t) => {
  const { api, run, dir, program } = await start(
    t,
    `id -u; cat "${'$'}{OUT}/data/api-key" 2>/dev/null; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done`,
  )
  const { attempts } = await ended(api, await run({ env: { OUT: dir } }))
  const { usage, response_preview: said } = attempts[0]!
  const self = process.getuid!()
  const [uid, key] = said!.split('\n')
  assert.deepEqual([Number(uid) === self, key], self === 0 ? [false, undefined] : [true, program.key()])
  assert(usage.cpu_ms! >= 10, JSON.stringify(usage))
  assert.deepEqual([usage.bytes_sent, usage.bytes_received], [null, null])
})

test('when the server is killed, its commands end, and their directories are gone', async (t) => {
  const { program, run, dir } = await start(
    t,
    `pwd > "${'$'}{OUT}.home"; echo $$ >> "${'$'}{OUT}"; sleep 1000`,
  )
  const OUT = join(dir, 'pids')
  await run({ env: { OUT } })
  await until(async () => ((await pidsIn(OUT)).length === 1 ? true : null), 'it runs')
  const home = (await readFile(`${OUT}.home`, 'utf8')).trim()
  process.kill(program.child.pid!, 'SIGKILL')
  await until(async () => ((await pidsIn(OUT)).flatMap(membersOf).length === 0 ? true : null), 'it is gone')
  await until(
    () =>
      readFile(home).then(
        () => null,
        (error) => (error.code === 'ENOENT' ? true : null),
      ),
    'and its home',
  )
})

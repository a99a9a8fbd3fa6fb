// Shell commands in a real Carillon: the effects a command may have on other commands, on its worker, and on the
// machine.
import assert from 'node:assert/strict'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { membersOf } from '../commands.ts'
import { makeDataDir } from '../data-dir.ts'
import { type Api, callApi, type ExecutionItem, until, untilStatus } from './api.ts'
import { Program } from './program.ts'
import { startReceiver } from './receiver.ts'

interface Attempted extends ExecutionItem {
  dead_letter: boolean
  attempts: {
    attempt_number: number
    outcome: string
    error: { type: string; message: string } | null
    response_preview?: string | null
  }[]
}

async function start(t: TestContext, script: string) {
  const dataDir = await makeDataDir(t)
  const dir = dirname(dataDir)
  const command = join(dir, 'job.sh')
  await writeFile(command, `#!/bin/sh\n${script}\n`)
  await chmod(command, 0o755)
  const launch = async () => {
    const program = new Program(t, {
      dataDir,
      env: {
        CARILLON_SHELL_COMMANDS: command,
        CARILLON_LOG_LEVEL: 'warn',
        CARILLON_DRAIN_SECONDS: '5',
        SECRET_OF_THE_SERVER: 'x',
      },
    })
    const url = await program.ready()
    return { program, api: callApi(url, program.key()) }
  }
  const { program, api } = await launch()
  const restart = async () => (await launch()).api
  const createJob = async (execution: object, more: object = {}) => {
    const job = {
      name: 'by hand',
      schedule: '0 0 1 1 *',
      execution,
      retry_policy: { max_retries: 0 },
      ...more,
    }
    return (await api.post<{ job_id: string }>('/jobs', job)).job_id
  }
  const trigger = async (jobId: string) =>
    (await api.post<{ execution_id: string }>(`/jobs/${jobId}/trigger`, {})).execution_id
  const run = async (execution: object, more: object = {}) =>
    trigger(await createJob({ type: 'shell', command, ...execution }, more))
  return { program, api, dir, command, createJob, trigger, run, restart }
}

const pidsIn = async (file: string) =>
  (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean).map(Number)

async function ended(api: Api, id: string): Promise<Attempted> {
  return until(async () => {
    const item = await api.get<Attempted>(`/executions/${id}`)
    return ['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED'].includes(item.status) ? item : null
  }, `${id} is over`)
}

test('a command that kills its worker dies alone: its neighbours succeed, and nothing of it is left', async (t) => {
  const s = await start(
    t,
    `echo $$ >> "${'$'}{OUT}.groups"
     if [ "$1" = kill ]; then sleep 1000 & kill -9 $PPID; sleep 1000; fi
     sleep 1; echo fine`,
  )
  const receiver = await startReceiver(t)
  const OUT = join(s.dir, 'out')
  // One batch of ten: jobs that fire at one instant.
  const at = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 3_000).toISOString()
  const schedule = { type: 'ONE_TIME', scheduled_time: at.replace('.000Z', 'Z') }
  const jobs: string[] = []
  for (let i = 0; i < 10; i++) {
    const args = i === 3 ? ['kill'] : []
    jobs.push(await s.createJob({ type: 'shell', command: s.command, args, env: { OUT } }, { schedule }))
  }
  // HTTP calls all the while.
  const neighbour = await s.createJob({ callback_url: receiver.url }, { schedule: 'R/PT1S' })
  const executionOf = (jobId: string) =>
    until(async () => {
      const { executions } = await s.api.get<{ executions: ExecutionItem[] }>(`/jobs/${jobId}/executions`)
      return executions[0]?.execution_id ?? null
    }, 'it fires')
  const ids = await Promise.all(jobs.map(executionOf))
  const [killer, ...others] = [ids[3]!, ...ids.filter((_, i) => i !== 3)]
  for (const id of others) {
    const { status, attempts } = await ended(s.api, id)
    assert.equal(status, 'SUCCEEDED')
    assert(attempts.filter(({ outcome }) => outcome === 'lost').length <= 2, JSON.stringify(attempts))
  }
  const { status, dead_letter: isDead, attempts } = await ended(s.api, killer!)
  assert.deepEqual([status, isDead], ['FAILED', true])
  assert.deepEqual(
    attempts.map(({ outcome, error }) => [outcome, error?.type]).toSorted(),
    Array(5).fill(['lost', 'WORKER_LOST']),
  )
  const letter = await s.api.get<{ dlq_reason: string }>(`/dead-letters/${killer}`)
  assert.equal(letter.dlq_reason, 'WORKER_LOST')
  const { executions } = await s.api.get<{ executions: ExecutionItem[] }>(`/jobs/${neighbour}/executions`)
  const over = executions.filter((one) => one.status !== 'PENDING' && one.status !== 'RUNNING')
  assert(over.length > 5)
  assert(
    over.every((one) => one.status === 'SUCCEEDED' && one.attempt_number === 1),
    JSON.stringify(over),
  )
  const groups = await pidsIn(`${OUT}.groups`)
  assert(groups.length >= 14, String(groups))
  assert.deepEqual(groups.flatMap(membersOf), [])
})

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
  const names = ['ATTEMPT', 'CHECKPOINT', 'EXECUTION_ID', 'IDEMPOTENCY_KEY', 'JOB_ID', 'SCHEDULED_TIME']
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
  assert.deepEqual((await pidsIn(OUT)).flatMap(membersOf), [])
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

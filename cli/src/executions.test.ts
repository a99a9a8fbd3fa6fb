// `carillon executions …`, `carillon dead-letters …` and `carillon top` against a real server.
import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import type { DeadLetter } from '@carillon/contract/dead-letter.ts'
import type { Execution, ExecutionItem } from '@carillon/contract/execution.ts'
import type { Operation } from '@carillon/contract/operation.ts'
import { cleanUp } from '../../server/test/cleanup.ts'
import { startServer } from '../test/cli.ts'

const words = (text: string) => text.trim().split(/\s+/)

test('carillon executions and dead-letters', async (t) => {
  const server = await startServer(t, { CARILLON_SHELL_COMMANDS: '/bin/sh' })
  const create = (args: string, ...more: string[]) =>
    server.call([...words(`jobs create --json ${args}`), ...more])
  const list = async (args: string) =>
    (
      await server.json<{ executions: (ExecutionItem & { job_name: string })[] }>(
        words(`executions list ${args}`),
      )
    ).executions
  const script = 'echo one; while [ ! -e "$0" ]; do sleep 0.05; done; echo two >&2'
  // Seen by the user that commands of a server of root run as.
  const open = await mkdtemp(join(tmpdir(), 'carillon-flag-'))
  cleanUp(t, () => rm(open, { recursive: true }))
  await chmod(open, 0o755)
  const flag = join(open, 'go')

  await t.test('logs -f shows lines as they come and ends with the execution', async () => {
    const made = await create(
      '--name talks --schedule now --command /bin/sh --arg=-c',
      '--arg',
      script,
      '--arg',
      flag,
    )
    const id = JSON.parse(made.out).job.execution_id
    let isFree = false
    const onOut = (all: string) => {
      // Only a followed log shows that the first line came before the end.
      if (!all.includes('one') || isFree) return
      isFree = true
      void writeFile(flag, '')
    }
    const { code, out } = await server.call(['executions', 'logs', '-f', id], { onOut })
    assert.equal(code, 0)
    assert.match(out, /^\S+Z\t1\tinfo\tone\n\S+Z\t1\terror\ttwo\n$/)
    const lines = await server.call(['executions', 'logs', id, '--json'])
    assert.deepEqual(
      lines.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).message),
      ['one', 'two'],
    )
    assert.match((await server.call(['executions', 'logs', id], { columns: 80 })).out, /1 {2}info {3}one/)
  })

  await t.test('a list is filtered, and one execution is shown with its attempts', async () => {
    await create(
      '--name fails --job-key fails --schedule now --retries 0 --wait',
      '--callback-url',
      `${server.url}/echo?status=503`,
    )
    const failed = await list('--status failed --error http-error --since 1h --dead --kind slot')
    assert.deepEqual(
      failed.map(({ job_name: name }) => name),
      ['fails'],
    )
    assert.deepEqual(await list('--job fails --status succeeded'), [])
    const id = failed[0]!.execution_id
    const { out } = await server.call(['executions', 'get', id], { columns: 80 })
    assert.match(
      out,
      /status +✗ failed[\s\S]*error +HTTP_ERROR: [\s\S]*TRY {2}OUTCOME[\s\S]*1 {2}✗ failed .* 503/,
    )
    const { attempts } = await server.json<Execution>(['executions', 'get', id])
    const { cpu_ms: cpuMs, bytes_sent: sent, bytes_received: received } = attempts[0]!.usage!
    assert(
      attempts.length === 1 && cpuMs === null && sent! > 300 && received! > 100,
      JSON.stringify(attempts),
    )
    const wide = await server.call(['executions', 'get', id, '--wide'], { columns: 200 })
    assert.match(wide.out, new RegExp(`USED[^]* ${sent}\\+${received} B `))
    assert.equal((await server.call(words('executions get 01941f29-7c00-7000-8000-000000000000'))).code, 3)
    assert.equal((await server.call(words('executions get nonsense'))).code, 3)
  })

  await t.test('skipped slots of a job are listed with the reason', async () => {
    await create(
      '--name often --job-key often --schedule PT1S',
      '--callback-url',
      `${server.url}/echo?delay_ms=2500`,
    )
    type Skipped = { executions: { status: string; reason: string }[] }
    let skipped: Skipped['executions'] = []
    while (skipped.length === 0)
      skipped = (await server.json<Skipped>(words('executions list --job often --status skipped'))).executions
    assert.deepEqual([skipped[0]!.status, skipped[0]!.reason], ['SKIPPED', 'overlap'])
    const { out } = await server.call(words('executions list --job often --status skipped'), { columns: 80 })
    assert.match(out, /^\S+Z {2}– skipped {2}overlap$/m)
    assert.equal((await server.call(words('executions list --status skipped'))).code, 2)
    await server.json(words('jobs delete often --yes --cancel-running'))
  })

  await t.test('an execution is retried, and waited for', async () => {
    const [failed] = await list('--job fails')
    const { code, err } = await server.call(['executions', 'retry', failed!.execution_id, '--wait'], {
      columns: 100,
    })
    assert.equal(code, 9)
    assert.match(err, /✗ failed .*HTTP_ERROR/)
    assert.equal((await list('--job fails --kind retry')).length, 1)
  })

  await t.test('a running execution is cancelled by id, and waiting ones by a filter', async () => {
    await create(
      '--name slow --job-key slow --schedule @yearly',
      '--callback-url',
      `${server.url}/echo?delay_ms=30000`,
    )
    const [first] = (await server.json<{ jobs: { execution_id: string }[] }>(words('jobs trigger slow'))).jobs
    await server.json(words('jobs trigger slow'))
    await server.json(words('jobs trigger slow'))
    const many = await server.call(words('executions cancel --filter job=slow --filter status=pending --yes'))
    assert.match(many.out, /Done: 2 of 2/)
    const one = await server.call(['executions', 'cancel', first!.execution_id])
    assert.match(one.out, /is (cancelling|cancelled)\./)
    const failed = (await list('--job fails'))[0]!.execution_id
    const late = await server.call(['executions', 'cancel', failed])
    assert.equal(late.code, 6)
    assert.equal((await server.call(words('executions cancel'))).code, 2)
  })

  await t.test('dead letters are listed and redriven, by id and by filter', async () => {
    type Letters = { dead_letters: DeadLetter[]; oldest_at: string | null }
    const letters = await server.json<Letters>(words('dead-letters list --job fails'))
    assert.equal(letters.dead_letters.length, 1)
    assert(letters.oldest_at !== null)
    const [letter] = letters.dead_letters
    const again = await server.call(['dead-letters', 'redrive', letter!.execution_id])
    assert.match(again.out, /runs again: execution \S{36}\n/)
    const gone = await server.call(['dead-letters', 'redrive', letter!.execution_id])
    assert.equal(gone.code, 3)
    // The redriven one fails again, so that there is one to redrive by a filter.
    for (let count = 0; count === 0; )
      count = (await server.json<Letters>(words('dead-letters list'))).dead_letters.length
    assert.match((await server.call(words('dead-letters list'), { columns: 80 })).out, /HTTP 503/)
    const dry = await server.call(words('dead-letters redrive --all --dry-run'))
    assert.match(dry.out, /Would redrive 1 dead letter\./)
    assert.equal((await server.call(words('dead-letters redrive --all'))).code, 2)
    const { operation } = await server.json<{ operation: Operation }>(
      words('dead-letters redrive --filter job=fails --filter error=http_error --rate 100 --yes'),
    )
    assert.deepEqual([operation.status, operation.progress.done], ['COMPLETED', 1])
  })

  await t.test(
    'top tells a line for each second in JSON, and takes the screen only of a terminal',
    async () => {
      const stop = new AbortController()
      const onOut = (all: string) => {
        if (all.split('\n').length > 1) stop.abort()
      }
      const { code, out } = await server.call(words('top --json'), { signal: stop.signal, onOut })
      assert.equal(code, 130)
      const line = JSON.parse(out.split('\n')[0]!)
      for (const field of ['as_of', 'running', 'waiting', 'started_per_second', 'failed_per_second'])
        assert(field in line, field)
      assert.equal((await server.call(words('top'))).code, 2)
    },
  )

  await t.test('top redraws a terminal and gives it back when it is left with q', async () => {
    let press: (key: string) => void = () => {}
    const raw: boolean[] = []
    const keys = {
      isTTY: true,
      setRawMode: (on: boolean) => raw.push(on),
      on: (_event: string, listener: (key: string) => void) => {
        press = listener
      },
      off: () => {},
    }
    const onOut = (all: string) => {
      if (/dead letters \d/.test(all) && /✗ failed +fails/.test(all)) press('q')
    }
    const { code, out } = await server.call(words('top'), { columns: 80, keys, onOut })
    assert.equal(code, 0)
    assert.deepEqual(raw, [true, false])
    assert(out.startsWith('\u001b[?1049h\u001b[?25l'))
    assert(out.endsWith('\u001b[?25h\u001b[?1049l'))
    assert.match(out, /running \d+ {3}waiting \d+ {3}workers \d/)
  })
})
